import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLError,
  type YAMLMap,
} from 'yaml';

/** The environment variables for `${NAME}`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Keys and indexes that lead to a place in the file. */
export type Path = readonly PropertyKey[];

/** A problem at a place. */
interface DocumentProblem {
  readonly path: Path;
  /** 1-based; 0 if the place is not known. */
  readonly line: number;
  readonly message: string;
}

/** A place in the file. */
interface Place {
  /** The path, as far as the file goes. */
  readonly path: Path;
  readonly line: number;
  /** What stands there, in words for a message: `"10 minutes"`, `a list`; `null` if the key is missing or empty. */
  readonly found: string | null;
}

/** A YAML file as plain values, with the place of each in the file. */
export interface ConfigDocument {
  /** The values; every number is the text that stands in the file, and a key without a value is `undefined`. */
  readonly value: unknown;
  readonly problems: readonly DocumentProblem[];
  /** The place of a key or value; of the nearest parent if it is missing. */
  locate(path: Path): Place;
}

/**
 * Reads YAML and fills in the variables. A number is kept as it is written: `0.1` would survive being a float and
 * printed again, but `0.0000001` would become `1e-7`, and the twentieth decimal would vanish unseen.
 */
export function readDocument(text: string, environment: Environment): ConfigDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    // Checked below instead, where the key and the line of the first one are known.
    uniqueKeys: false,
  });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const syntaxProblems = readSyntaxErrors(document, text, lineAt);
  if (syntaxProblems.length > 0) return { value: undefined, problems: syntaxProblems, locate: nowhere };

  const visitor = new Visitor(document, environment, lineAt);
  visitor.visit(document.contents, [], 1);
  let value: unknown;
  if (visitor.problems.every((problem) => !problem.isFatal)) {
    try {
      value = document.toJS();
    } catch (error) {
      visitor.problems.push({
        path: [],
        line: 0,
        message: `Not usable YAML: ${(error as Error).message}.`,
        isFatal: true,
      });
    }
  }
  return { value, problems: visitor.problems, locate: (path) => locate(path, document, visitor, lineAt) };
}

const nowhere = (): Place => ({ path: [], line: 0, found: null });

function readSyntaxErrors(document: Document, text: string, lineAt: (offset: number) => number): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  // An unknown tag is only a warning to YAML, but the author expects it to have an effect, so it is refused.
  for (const error of [...document.errors, ...document.warnings]) {
    const offset = error.pos[0];
    const keys = keysBefore(offset, document.contents);
    // A quote that is never closed is noticed at the end of the file, far from where it opens.
    const isUnclosedQuote = error.message.startsWith('Missing closing');
    const line = lineAt((isUnclosedQuote ? keys.at(-1)?.range?.[0] : undefined) ?? offset);
    // What follows on the same line is mostly an echo of the first error.
    if (problems.some((problem) => problem.line === line)) continue;

    const bareVariable = text.slice(offset - 1, offset + 1) === '${' ? variableAt(text, offset - 1) : null;
    const message = bareVariable === null ? syntaxMessage(error) : `Inside { } and [ ] put quotes: "${bareVariable}".`;
    problems.push({ path: error.code === 'MULTIPLE_DOCS' ? [] : keys.map(keyText), line, message });
    // Unintended braces make everything after them wrong.
    if (bareVariable !== null) break;
  }
  return problems;
}

function variableAt(text: string, offset: number): string {
  return /^\$\{[^}\n]*\}?/.exec(text.slice(offset))![0];
}

function syntaxMessage(error: YAMLError): string {
  if (error.message.startsWith('Missing closing')) return 'Not valid YAML: the quote that opens here is never closed.';
  if (error.message.startsWith('Flow ')) {
    const [open, close] = error.message.startsWith('Flow map') ? '{}' : '[]';
    return `Not valid YAML: the ${open} before this has no ${close}, or what stands between them is not indented.`;
  }
  switch (error.code) {
    case 'MULTIPLE_DOCS':
      return 'The file holds more than one YAML document. Remove the line "---" between them.';
    case 'TAB_AS_INDENT':
      return 'Not valid YAML: a tab as indentation. Use spaces.';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'Not valid YAML: a value and keys cannot stand together. Check the indentation; put text with ": " in quotes.';
    case 'MULTILINE_IMPLICIT_KEY':
      return 'Not valid YAML: a key needs a colon and a space after it. Check this line and the next.';
    case 'TAG_RESOLVE_FAILED':
      return 'Not valid YAML: a tag that is not known. Put text that begins with ! in quotes.';
    case 'BAD_SCALAR_START':
      return `Not valid YAML: ${error.message}. Put the value in quotes.`;
    default:
      // What stands behind a colon, or in quotes, is of the file, and may be a credential.
      return `Not valid YAML: ${error.message.split(/: |"/)[0]!.trim()}.`;
  }
}

/** The keys around the place at which a broken file could not be read. */
function keysBefore(offset: number, node: unknown): Scalar[] {
  const pairs = isMap(node) ? node.items : [];
  const pair = pairs.findLast(({ key }) => isScalar(key) && key.range != null && key.range[1] <= offset);
  return pair === undefined ? [] : [pair.key as Scalar, ...keysBefore(offset, pair.value)];
}

function keyText(key: Scalar): string {
  return String(key.value);
}

interface VisitedProblem extends DocumentProblem {
  /** The values cannot be taken from the document at all. */
  readonly isFatal: boolean;
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
const VARIABLE_FORM = `Write a variable as \${NAME} or \${NAME:-default}.`;

/**
 * Goes through the document once: refuses keys that stand twice, and replaces `${NAME}` and `${NAME:-default}` in the
 * values. It works on values that are already parsed, so the value of a variable can never become YAML.
 */
class Visitor {
  readonly problems: VisitedProblem[] = [];
  /** The original text if a variable was filled in. Messages show it instead of the value, which may be a secret. */
  readonly written = new Map<Scalar, string>();
  readonly #document: Document;
  readonly #environment: Environment;
  readonly #lineAt: (offset: number) => number;

  constructor(document: Document, environment: Environment, lineAt: (offset: number) => number) {
    this.#document = document;
    this.#environment = environment;
    this.#lineAt = lineAt;
  }

  visit(node: unknown, path: Path, parentLine: number): void {
    if (isMap(node)) this.#visitMap(node, path, parentLine);
    else if (isSeq(node))
      for (const [index, item] of node.items.entries()) this.visit(item, [...path, index], parentLine);
    else if (isScalar(node)) this.#visitScalar(node, path);
    else if (isAlias(node) && node.resolve(this.#document) === undefined) {
      const line = node.range ? this.#lineAt(node.range[0]) : parentLine;
      const message = 'There is no anchor of this name before this. Put text that begins with * in quotes.';
      this.#report(path, line, message, true);
    }
  }

  #visitMap(map: YAMLMap, path: Path, parentLine: number): void {
    const firstLines = new Map<string, number>();
    for (const pair of map.items) {
      const key: unknown = pair.key;
      if (!isScalar(key) || key.value === null || key.value === '') {
        this.#report(path, parentLine, 'A key must be a word, and must not be empty.', true);
        continue;
      }
      if (typeof key.value === 'number' && key.source !== undefined) key.value = key.source;
      const name = keyText(key);
      const line = key.range ? this.#lineAt(key.range[0]) : parentLine;
      const firstLine = firstLines.get(name);
      if (name.includes('${')) {
        this.#report([...path, name], line, 'A variable can stand in a value, but not in a key.');
      } else if (name === '__proto__') {
        this.#report([...path, name], line, 'This name cannot be used.', true);
      } else if (firstLine !== undefined) {
        this.#report([...path, name], line, `This key stands here twice; the first one is on line ${firstLine}.`);
      }
      firstLines.set(name, firstLine ?? line);
      this.visit(pair.value, [...path, name], line);
    }
  }

  #visitScalar(node: Scalar, path: Path): void {
    // "key:" with nothing after it, such as a section of which every line is commented out, counts as absent.
    if (node.value === null) node.value = undefined;
    if (typeof node.value === 'number' && node.source !== undefined) node.value = node.source;
    if (typeof node.value !== 'string' || !node.value.includes('${')) return;

    const line = node.range ? this.#lineAt(node.range[0]) : 0;
    const written = node.value;
    let isFilled = true;
    const fail = (message: string): string => {
      this.#report(path, line, message);
      isFilled = false;
      return '';
    };
    if (written.replaceAll(VARIABLE, '').includes('${')) fail(VARIABLE_FORM);
    else {
      node.value = written.replaceAll(VARIABLE, (_match, name: string, fallback: string | undefined) => {
        if (fallback?.includes('${')) return fail(`A default cannot hold another variable. ${VARIABLE_FORM}`);
        // Members of every object, such as "constructor", are no text and so no variables.
        const value: unknown = this.#environment[name];
        if (typeof value === 'string' && (value !== '' || fallback === undefined)) return value;
        return (
          fallback ??
          fail(`The environment variable ${name} is not set. Set it, or give a default: \${${name}:-value}.`)
        );
      });
    }
    this.written.set(node, written);
    if (!isFilled) node.value = undefined;
  }

  #report(path: Path, line: number, message: string, isFatal = false): void {
    this.problems.push({ path, line, message, isFatal });
  }
}

function locate(path: Path, document: Document, visitor: Visitor, lineAt: (offset: number) => number): Place {
  let node = resolve(document.contents, document);
  let line = 1;
  for (const [depth, part] of path.entries()) {
    let next: unknown;
    if (isMap(node)) {
      const pair: Pair | undefined = node.items.find(({ key }) => isScalar(key) && keyText(key) === String(part));
      if (pair === undefined) return { path, line, found: null };
      const range = (pair.key as Scalar).range;
      if (range) line = lineAt(range[0]);
      next = pair.value;
    } else if (isSeq(node)) {
      next = node.items[Number(part)];
      const range = (next as Partial<Scalar> | undefined)?.range;
      if (range) line = lineAt(range[0]);
    } else {
      // One value stands where it was read as a list of one.
      return { path: path.slice(0, depth), line, found: describe(node, path.slice(0, depth), visitor) };
    }
    node = resolve(next, document);
  }
  return { path, line, found: describe(node, path, visitor) };
}

function resolve(node: unknown, document: Document): unknown {
  return isAlias(node) ? node.resolve(document) : node;
}

function describe(node: unknown, path: Path, visitor: Visitor): string | null {
  if (isMap(node)) return node.items.length === 0 ? 'an empty section' : 'a section';
  if (isSeq(node)) return node.items.length === 0 ? 'an empty list' : 'a list';
  if (!isScalar(node) || node.value === undefined || node.value === null) return null;
  if (typeof node.value !== 'string') return String(node.value);
  const written = visitor.written.get(node);
  if (written !== undefined) return `${node.value === '' ? 'the empty value' : 'the value'} of ${written}`;
  return describeText(node.value, path);
}

/** Fields whose text may be a credential, with all that stands below them. */
const SECRET_FIELDS: ReadonlySet<unknown> = new Set([
  'apiKey',
  'apiKeys',
  'clientSecret',
  'headers',
  'password',
  'proxy',
]);
/** Sections with such fields: a text in their place, or in that of an entry, is likely a credential that was put there. */
const SECTIONS_WITH_SECRETS: ReadonlySet<unknown> = new Set(['providers', 'oidc', 'mail']);

function mayBeSecret(path: Path): boolean {
  return path.some((part) => SECRET_FIELDS.has(part)) || (path.length <= 2 && SECTIONS_WITH_SECRETS.has(path[0]));
}

/** A text for a message: not too long, and without anything that may be a credential. */
export function describeText(text: string, path: Path): string {
  if (mayBeSecret(path) || text.includes('@') || text.includes('password=') || text.includes('-----BEGIN'))
    return 'a value that is not shown here';
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
