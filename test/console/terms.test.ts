import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

/** Checks that Chinese texts of the console and the documents use one term per concept (`console/terms.md`) and Chinese punctuation. */

interface Text {
  readonly where: string;
  readonly text: string;
}

const HAN = /\p{Script=Han}/u;

/** Lines of a file that contain Chinese. */
const linesOf = (file: string): Text[] =>
  (file.endsWith('.md') ? withoutMarks(readFileSync(file, 'utf8')) : readFileSync(file, 'utf8'))
    .split('\n')
    .flatMap((text, index) => (HAN.test(text) ? [{ where: `${file}:${index + 1}`, text }] : []));

/** A page without fenced code and the addresses of links and pictures. */
function withoutMarks(page: string): string {
  return page
    .replaceAll(/^```[\s\S]*?^```$/gm, (code) => code.replaceAll(/.+/g, ''))
    .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
}

const texts: readonly Text[] = [
  ...globSync('console/src/**/*.{ts,tsx}'),
  'src/changes/change-facts.ts',
  'src/changes/change-sentences.ts',
].flatMap(linesOf);
const pages: readonly Text[] = globSync('docs/zh/*.md').flatMap(linesOf);

const terms = readFileSync('console/terms.md', 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, term, chinese, not] = line.split('|').map((cell) => cell.trim());
    if (term === undefined || chinese === undefined || term === 'term' || term.startsWith('-')) return [];
    return [{ term, chinese, unused: (not ?? '').split(',').flatMap((word) => word.trim() || []) }];
  });

/** Locations of texts that match a forbidden pattern. */
const found = (pattern: RegExp): string[] =>
  [...texts, ...pages].flatMap(({ where, text }) => (pattern.test(text) ? [`${where}: ${text.trim()}`] : []));

describe('the Chinese of the console', () => {
  it('uses one term per concept', () => {
    assert.ok(terms.length > 40 && texts.length > 500);
    const wrong = terms.flatMap(({ chinese, unused }) =>
      unused.flatMap((word) => {
        // A Latin word within an identifier is a different word.
        const pattern = HAN.test(word) ? new RegExp(word, 'u') : new RegExp(`(?<![A-Za-z])${word}(?![A-Za-z])`, 'u');
        return found(pattern).map((where) => `"${word}" is "${chinese}" here: ${where}`);
      }),
    );
    assert.deepEqual(wrong, []);
  });

  it('uses every term in its table', () => {
    assert.deepEqual(
      terms.filter(({ chinese }) => !texts.some(({ text }) => text.includes(chinese))),
      [],
    );
  });

  it('uses full-width punctuation, Chinese quotation marks, and spaces only next to Latin words', () => {
    assert.deepEqual(found(/\p{Script=Han}\s*[,.:;?!()]/u), []);
    assert.deepEqual(found(/(?<!['`}])[,:;?!()]\s*\p{Script=Han}/u), []);
    assert.deepEqual(found(/\p{Script=Han} +\p{Script=Han}/u), []);
    assert.deepEqual(found(/\p{Script=Han}"|"\p{Script=Han}|[「」『』]/u), []);
    assert.deepEqual(found(/[\w%]\p{Script=Han}|\p{Script=Han}[\w%]/u), []);
  });
});
