import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Comments, tests and pages refer only to documents in the repository. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const filesOf = (...patterns: string[]): string[] => globSync(patterns, { cwd: ROOT }).sort();

const REPORT = 'test/conformance/REPORT.md';
const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', REPORT, ...filesOf('docs/**/*.md')];
const NUMBER = /\d+(?:\.\d+)?/;
/** Such as "contract 2.1, 4.3", "contract, section 5" and "contract, sections 5 and 7". */
const CITATION = new RegExp(
  `\\bcontract,?(?: sections?)? (${NUMBER.source}(?:(?:, | and | to )${NUMBER.source})*)(?![\\d.]*\\d)`,
  'gi',
);

/** Citations of documents outside the repository: a section of a design, or a fact about wire formats. */
const ABSENT_DOCUMENTS = /\bdesign,? (?:sections? )?\d+(?:\.\d+)?|\bwire[- ]facts?(?: \d+(?:\.\d+)?)?/gi;

/** Joins lines, because a citation may span lines of a comment. */
function joinLines(text: string): string {
  return text.replaceAll(/\s*\n\s*(?:\*|\/\/|--)?\s*/g, ' ');
}

/** The sections of the contract that a text cites. */
function citedSections(text: string): string[] {
  return [...joinLines(text).matchAll(CITATION)].flatMap(([, numbers]) => numbers!.match(new RegExp(NUMBER, 'g'))!);
}

/** Citations in a text of documents outside the repository. */
function absentDocuments(text: string): string[] {
  return joinLines(text).match(ABSENT_DOCUMENTS) ?? [];
}

/** A page without its code spans, which can have brackets. */
function withoutCode(page: string): string {
  return page.replaceAll(/`[^`\n]*`/g, '');
}

function headingsOf(page: string): string[] {
  return [...page.matchAll(/^#{1,6} (.*)$/gm)].map((match) => match[1]!);
}

/** The anchor of a heading on the usual hosts. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');
}

describe('docs/contract.md', () => {
  const headings = headingsOf(read('docs/contract.md'));
  const sections = new Set(headings.map((heading) => /^\d+(?:\.\d+)?(?= )/.exec(heading)?.[0]));

  it('has every section that code and tests cite', () => {
    assert.deepEqual(citedSections('the rule (contract 2.1,\n * 4.3; wire 9.9), contract, sections 5 and 7'), [
      '2.1',
      '4.3',
      '5',
      '7',
    ]);
    let cited = 0;
    const absent: string[] = [];
    for (const file of filesOf('src/**/*.{ts,sql,md}', 'test/**/*.{ts,md}', 'bench/*.ts', 'scripts/*.ts')) {
      for (const section of citedSections(read(file))) {
        cited++;
        if (!sections.has(section)) absent.push(`${file}: contract ${section}`);
      }
    }
    assert.deepEqual(absent, []);
    assert.ok(cited > 50, `only ${cited} citations were found`);
  });

  it('has every section of the page of conformance exactly once', () => {
    const tested = headingsOf(read(REPORT)).map((heading) => /^\d+(?:\.\d+)?(?= )/.exec(heading)?.[0]);
    const absent = tested.filter((section) => section !== undefined && !sections.has(section));
    assert.deepEqual(absent, []);
    const numbered = headings.filter((heading) => /^\d/.test(heading));
    assert.equal(new Set(numbered.map((heading) => heading.split(' ')[0])).size, numbered.length);
  });

  it('has the section of every file of conformance tests', () => {
    for (const file of filesOf('test/conformance/*.test.ts')) {
      const section = basename(file).split('-')[0]!;
      assert.ok(sections.has(section), `${file}: there is no section ${section}`);
    }
  });
});

describe('comments and pages', () => {
  it('cite only documents in the repository', () => {
    const [design, facts] = [['design,', 'section', '5.2'].join(' '), ['wire', 'facts', '3'].join(' ')];
    assert.deepEqual(absentDocuments(`as said (${design};\n * ${facts.replace(' ', '\n * ')}), by design`), [
      design,
      facts,
    ]);
    const files = [...filesOf('{src,test}/**/*.{ts,sql,md}', '{bench,scripts}/**/*.ts'), ...PAGES];
    const offenders = files.flatMap((file) => {
      const cited = absentDocuments(read(file));
      return cited.length === 0 ? [] : [`${file}: ${cited.join(', ')}`];
    });
    assert.deepEqual(offenders, []);
  });
});

describe('the pages', () => {
  for (const page of PAGES) {
    it(`${page} links to existing files and headings`, () => {
      const broken: string[] = [];
      for (const [, target] of withoutCode(read(page)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
        const [path, anchor] = target!.split('#') as [string, string | undefined];
        const file = path === '' ? page : join(dirname(page), path);
        const isThere = existsSync(join(ROOT, file));
        if (!isThere || (anchor !== undefined && !headingsOf(read(file)).map(anchorOf).includes(anchor))) {
          broken.push(target!);
        }
      }
      assert.deepEqual(broken, []);
    });
  }

  it('have the headings that test/vendor-suites/expected.yaml names for refusals', () => {
    const cited = [...read('test/vendor-suites/expected.yaml').matchAll(/^ +documented: (.+)#(.+)$/gm)];
    assert.ok(cited.length > 0);
    const absent = cited.filter(([, page, anchor]) => !headingsOf(read(page!)).map(anchorOf).includes(anchor!));
    assert.deepEqual(absent, []);
  });

  it('list every decision', () => {
    const index = read('docs/decisions/README.md');
    for (const file of readdirSync(join(ROOT, 'docs/decisions')).filter((name) => /^\d/.test(name))) {
      assert.ok(index.includes(`](${file})`), `${file} is not in docs/decisions/README.md`);
    }
  });
});
