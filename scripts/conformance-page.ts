import { posix, relative, sep } from 'node:path';

/**
 * The page `test/conformance/REPORT.md`, made of what tests say of themselves. Every test under `test/conformance` is a rule of
 * the contract, whose name begins with the number of its section: `4.3 a prompt_cache_key of 65 characters is 400`. The
 * page is the same for every run with the same outcome: it has no times in it, and its order is that of the names.
 */

/** What a page needs of the events `test:pass` and `test:fail` of node:test. */
export interface TestEvent {
  readonly type: 'test:pass' | 'test:fail';
  readonly name: string;
  /** How many suites are around it. */
  readonly nesting: number;
  /** Where it was defined; for a rule that cannot be tested that is the helper's file, not the one that calls it. */
  readonly file: string | undefined;
  readonly isSuite: boolean;
  readonly skip: string | boolean | undefined;
  readonly todo: string | boolean | undefined;
}

interface Rule {
  readonly section: readonly number[];
  readonly text: string;
  readonly file: string;
  readonly result: string;
}

interface NumberedName {
  readonly section: readonly number[];
  readonly text: string;
}

/** The tests of the rules, and the page itself, whose links are relative to it. */
const FOLDER = 'test/conformance/';
const TEST_FILE = /\.test\.ts$/;

/** Gathers the events of a run and returns the page. */
export class ConformanceResults {
  readonly #root: string;
  readonly #rules: Rule[] = [];
  /** The first title of each section, by its number. */
  readonly #titles = new Map<string, { readonly file: string; readonly text: string }>();
  readonly #problems: string[] = [];
  /** Tests whose outermost suite has not ended yet: only then is it known which file they stand in. */
  #open: TestEvent[] = [];

  /** @param root the project's folder, to which files are relative on the page. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Events come file by file, and a suite's own event after those of its tests. */
  add(event: TestEvent): void {
    if (event.nesting > 0) {
      if (!event.isSuite) this.#open.push(event);
      return;
    }
    const file = this.#fileOf(event);
    if (file.startsWith(FOLDER)) {
      if (event.isSuite) this.#addTitle(event.name, file);
      for (const test of event.isSuite ? this.#open : [event]) this.#addRule(test, file);
    }
    this.#open = [];
  }

  /** What keeps the page from being right, as a message of the run. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  page(): string {
    const rules = this.#rules.toSorted(
      // Sorting is stable: rules of one file stay in the order in which they stand there.
      (a, b) => compareSections(a.section, b.section) || compareTexts(a.file, b.file),
    );
    const sections = Map.groupBy(rules, ({ section }) => section.join('.'));
    return [HEAD, summary(rules), ...[...sections].map(([number, rows]) => this.#section(number, rows))].join('\n');
  }

  #section(number: string, rules: readonly Rule[]): string {
    const title = this.#titles.get(number)?.text;
    const rows = rules.map(
      ({ text, file, result }) =>
        `| ${cell(text)} | [${posix.basename(file, '.test.ts')}](${posix.relative(FOLDER, file)}) | ${cell(result)} |`,
    );
    const heading = `## ${number}${title === undefined ? '' : ` ${title}`}`;
    return `${heading}\n\n| rule | test file | result |\n|---|---|---|\n${rows.join('\n')}\n`;
  }

  #fileOf({ file }: TestEvent): string {
    return file === undefined ? '' : relative(this.#root, file).replaceAll(sep, '/');
  }

  #addTitle(name: string, file: string): void {
    const numbered = readName(name);
    if (numbered === null) return;
    const key = numbered.section.join('.');
    const known = this.#titles.get(key);
    if (known === undefined || compareTexts(file, known.file) < 0) {
      this.#titles.set(key, { file, text: numbered.text });
    }
  }

  #addRule(test: TestEvent, file: string): void {
    const numbered = readName(test.name);
    if (numbered === null) {
      this.#problems.push(
        `${file}: "${test.name}" has no section of the contract at its beginning, such as "4.3 ${test.name}".`,
      );
    } else if (!TEST_FILE.test(file)) {
      this.#problems.push(`${file}: "${test.name}" stands outside of every describe, so that its file is not known.`);
    } else {
      this.#rules.push({ ...numbered, file, result: resultOf(test) });
    }
  }
}

const HEAD = `# Conformance

Every rule of the contract, and the test that shows it. A rule that no test can show says why.
`;

function summary(rules: readonly Rule[]): string {
  const counts = Map.groupBy(rules, ({ result }) => result.split(':')[0]!);
  const told = ['passes', 'cannot be tested', 'todo', 'fails']
    .filter((result) => counts.has(result))
    .map((result) => `${counts.get(result)!.length} ${result === 'passes' ? 'pass' : result}`);
  return `${rules.length} rules: ${told.join(', ')}. This page is generated by \`npm run conformance\`.\n`;
}

function readName(name: string): NumberedName | null {
  const [, section, text] = /^(\d+(?:\.\d+)*) (\S.*)$/s.exec(name) ?? [];
  return section === undefined || text === undefined ? null : { section: section.split('.').map(Number), text };
}

/** A test that is expected to fail is no failure of the run, and is listed as what is still to be done. */
function resultOf({ type, skip, todo }: TestEvent): string {
  if (isSet(todo)) return withReason('todo', todo);
  if (isSet(skip)) return withReason('cannot be tested', skip);
  return type === 'test:pass' ? 'passes' : 'fails';
}

function isSet(directive: string | boolean | undefined): directive is string | true {
  return directive !== undefined && directive !== false;
}

function withReason(result: string, reason: string | true): string {
  return reason === true || reason === '' ? result : `${result}: ${reason}`;
}

function compareSections(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? -1) - (b[at] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** By code unit, so that the order is the same wherever the tests run. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Text as a cell of a Markdown table. */
function cell(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
