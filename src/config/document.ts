import {
  type Alias,
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

export type Environment = Readonly<Record<string, string | undefined>>;

export type Path = readonly PropertyKey[];

interface DocumentProblem {
  readonly path: Path;
  /** Number of the line, from 1; 0 if unknown. */
  readonly line: number;
  readonly message: string;
}

interface Place {
  /** The longest part of the path, from its beginning, that the file contains. */
  readonly path: Path;
  readonly line: number;
  /** What messages call the value, such as `"10 minutes"` or `a list`; `null` if the key is missing or empty. */
  readonly found: string | null;
}

export interface ConfigDocument {
  /** The values. Numbers are text as in the file; a key without a value is `undefined`. */
  readonly value: unknown;
  readonly problems: readonly DocumentProblem[];
  /** Returns where a value is. If it is missing, this is the position of its nearest parent. */
  locate(path: Path): Place;
}

/** Reads a file and expands variables. Numbers stay text, because floats are imprecise: `0.0000001` would become `1e-7`. */
export function readDocument(text: string, environment: Environment, refuse: RefuseVariable = allow): ConfigDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    // The visitor finds duplicate keys itself, because it reports the line of the first one.
    uniqueKeys: false,
  });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  const syntaxProblems = readSyntaxErrors(document, text, lineAt);
  if (syntaxProblems.length > 0) return { value: undefined, problems: syntaxProblems, locate: nowhere };

  const visitor = new Visitor(document, environment, refuse, lineAt);
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

/** Returns why a variable may not be used at a path; `null` if it may. */
export type RefuseVariable = (path: Path, name: string) => string | null;

const allow: RefuseVariable = () => null;

const nowhere = (): Place => ({ path: [], line: 0, found: null });

function readSyntaxErrors(document: Document, text: string, lineAt: (offset: number) => number): DocumentProblem[] {
  const problems: DocumentProblem[] = [];
  // An unknown tag is only a warning for YAML, but its author expects an effect.
  for (const error of [...document.errors, ...document.warnings]) {
    const offset = error.pos[0];
    const keys = keysBefore(offset, document.contents);
    // A quote that is not closed is reported at the end of the file.
    const isUnclosedQuote = error.message.startsWith('Missing closing');
    const line = lineAt((isUnclosedQuote ? keys.at(-1)?.range?.[0] : undefined) ?? offset);
    // Further errors on a line are mostly consequences of the first one.
    if (problems.some((problem) => problem.line === line)) continue;

    const bareVariable = text.slice(offset - 1, offset + 1) === '${' ? variableAt(text, offset - 1) : null;
    const message =
      bareVariable === null ? syntaxMessage(error) : `Inside { } and [ ], put variables in quotes: "${bareVariable}".`;
    problems.push({ path: error.code === 'MULTIPLE_DOCS' ? [] : keys.map(keyText), line, message });
    // If a variable has no quotes, its braces cause errors in everything after it.
    if (bareVariable !== null) break;
  }
  return problems;
}

function variableAt(text: string, offset: number): string {
  return /^\$\{[^}\n]*\}?/.exec(text.slice(offset))![0];
}

function syntaxMessage(error: YAMLError): string {
  if (error.message.startsWith('Missing closing')) return 'Not valid YAML: unclosed quote.';
  if (error.message.startsWith('Flow ')) {
    const [open, close] = error.message.startsWith('Flow map') ? '{}' : '[]';
    return `Not valid YAML: an earlier ${open} has no ${close}, or its content is not indented.`;
  }
  switch (error.code) {
    case 'MULTIPLE_DOCS':
      return 'The file contains more than one YAML document. Remove the line "---" between them.';
    case 'TAB_AS_INDENT':
      return 'Not valid YAML: tabs are not allowed as indentation. Use spaces.';
    case 'BLOCK_AS_IMPLICIT_KEY':
      return 'Not valid YAML: a key cannot have both a value and nested keys. Check the indentation; put text with ": " in quotes.';
    case 'MULTILINE_IMPLICIT_KEY':
      return 'Not valid YAML: a key needs a colon and a space after it. Check this line and the next.';
    case 'TAG_RESOLVE_FAILED':
      return 'Not valid YAML: unknown tag. Put text that begins with ! in quotes.';
    case 'BAD_SCALAR_START':
      return `Not valid YAML: ${error.message}. Put the value in quotes.`;
    default:
      // The message of the parser may quote the file, and so a credential.
      return `Not valid YAML: ${error.message.split(/: |"/)[0]!.trim()}.`;
  }
}

/** Returns the keys that contain the place of a syntax error. */
function keysBefore(offset: number, node: unknown): Scalar[] {
  const pairs = isMap(node) ? node.items : [];
  const pair = pairs.findLast(({ key }) => isScalar(key) && key.range != null && key.range[1] <= offset);
  return pair === undefined ? [] : [pair.key as Scalar, ...keysBefore(offset, pair.value)];
}

function keyText(key: Scalar): string {
  return String(key.value);
}

interface VisitedProblem extends DocumentProblem {
  /** Whether the document cannot be converted to values. */
  readonly isFatal: boolean;
}

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g;
const VARIABLE_FORM = `Write a variable as \${NAME} or \${NAME:-default}.`;

/** Whether a value contains a variable. An anchor precedes its aliases, so variables in it were found before. */
function hasVariable(node: unknown, written: ReadonlyMap<Scalar, string>): boolean {
  if (isScalar(node)) return written.has(node);
  if (isMap(node)) return node.items.some(({ value }) => hasVariable(value, written));
  return isSeq(node) && node.items.some((item) => hasVariable(item, written));
}

/**
 * Checks keys and expands variables. It refuses duplicate keys. `${NAME}` and `${NAME:-default}` are expanded in parsed values, so a
 * variable cannot add YAML.
 */
class Visitor {
  readonly problems: VisitedProblem[] = [];
  /** Values as written, by their node. Messages show these, because the value of a variable may be secret. */
  readonly written = new Map<Scalar, string>();
  readonly #document: Document;
  readonly #environment: Environment;
  readonly #refuse: RefuseVariable;
  readonly #lineAt: (offset: number) => number;

  constructor(
    document: Document,
    environment: Environment,
    refuse: RefuseVariable,
    lineAt: (offset: number) => number,
  ) {
    this.#document = document;
    this.#environment = environment;
    this.#refuse = refuse;
    this.#lineAt = lineAt;
  }

  visit(node: unknown, path: Path, parentLine: number): void {
    if (isMap(node)) this.#visitMap(node, path, parentLine);
    else if (isSeq(node))
      for (const [index, item] of node.items.entries()) this.visit(item, [...path, index], parentLine);
    else if (isScalar(node)) this.#visitScalar(node, path);
    else if (isAlias(node)) this.#visitAlias(node, path, parentLine);
  }

  #visitMap(map: YAMLMap, path: Path, parentLine: number): void {
    const firstLines = new Map<string, number>();
    for (const pair of map.items) {
      const key: unknown = pair.key;
      if (!isScalar(key) || key.value === null || key.value === '') {
        this.#report(path, parentLine, 'A key must be non-empty text.', true);
        continue;
      }
      if (typeof key.value === 'number' && key.source !== undefined) key.value = key.source;
      const name = keyText(key);
      const line = key.range ? this.#lineAt(key.range[0]) : parentLine;
      const firstLine = firstLines.get(name);
      if (name.includes('${')) {
        this.#report([...path, name], line, 'Variables are allowed in values, not in keys.');
      } else if (name === '__proto__') {
        this.#report([...path, name], line, 'This name cannot be used.', true);
      } else if (firstLine !== undefined) {
        this.#report([...path, name], line, `Duplicate key; first used on line ${firstLine}.`);
      }
      firstLines.set(name, firstLine ?? line);
      this.visit(pair.value, [...path, name], line);
    }
  }

  #visitAlias(node: Alias, path: Path, parentLine: number): void {
    const line = node.range ? this.#lineAt(node.range[0]) : parentLine;
    const target = node.resolve(this.#document);
    if (target === undefined) {
      this.#report(path, line, 'Unknown anchor. Put text that begins with * in quotes.', true);
    } else if (this.#refuse !== allow && hasVariable(target, this.written)) {
      this.#report(path, line, 'An alias cannot repeat a value with a variable. Write it again.', true);
    }
  }

  #visitScalar(node: Scalar, path: Path): void {
    // A key without a value counts as absent. An example is a section whose lines are all comments.
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
        if (fallback?.includes('${')) return fail(`A default cannot contain a variable. ${VARIABLE_FORM}`);
        const refused = this.#refuse(path, name);
        if (refused !== null) return fail(refused);
        // A variable named "constructor" would find an inherited member, which is not a string.
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
      // The schema accepts a single value in place of a list, so this is the place of that value.
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

/** Fields whose text may be a credential, wherever they are. */
const SECRET_FIELDS: ReadonlySet<unknown> = new Set([
  'apiKey',
  'apiKeys',
  'clientSecret',
  'headers',
  'password',
  'proxy',
  'run',
]);
/** Sections with secret fields. A text in place of a section or an entry may be a credential that was put there by mistake. */
const SECTIONS_WITH_SECRETS: ReadonlySet<unknown> = new Set(['providers', 'oidc', 'mail']);

function mayBeSecret(path: Path): boolean {
  return path.some((part) => SECRET_FIELDS.has(part)) || (path.length <= 2 && SECTIONS_WITH_SECRETS.has(path[0]));
}

/** Describes a text for a message. A long text is cut, and one that may be a credential is hidden. */
export function describeText(text: string, path: Path): string {
  if (mayBeSecret(path) || text.includes('@') || text.includes('password=') || text.includes('-----BEGIN'))
    return 'a value that is not shown here';
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
