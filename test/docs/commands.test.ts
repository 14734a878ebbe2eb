import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { describe, it } from 'node:test';
import { blocksOf, DEMO_PAGES } from './pages.ts';

/** A test runs every block of commands of a page, or a comment before the block gives the reason why not. */
const RUN: readonly string[] = [
  // test/docs/readme.test.ts
  ...DEMO_PAGES,
  // test/docs/moving.test.ts
  'docs/moving.md',
  // test/docs/operations.test.ts, which fails if it leaves one out
  ...globSync('docs/operations/*.md'),
  // test/docs/languages.test.ts: the commands are those of the English page
  ...globSync('docs/zh/*.md'),
];
const PAGES = globSync(['*.md', '{bench,console,deploy,docs,src,test}/**/*.md'], {
  exclude: (name) => name === 'node_modules',
});

describe('the commands of pages', () => {
  it('are run, or give a reason', () => {
    const found: string[] = [];
    for (const page of PAGES) {
      for (const { language, text, notRun } of blocksOf(page)) {
        if (/^(?:bash|console|shell|zsh)$/.test(language)) found.push(`${page}: "${language}" is "sh" here`);
        if (language === 'sh' && notRun === null && !RUN.includes(page)) found.push(`${page}: ${text.split('\n')[0]}`);
      }
    }
    assert.deepEqual(found, []);
  });

  it('have no placeholders that a reader would have to know', () => {
    const cut = RUN.flatMap((page) =>
      blocksOf(page).flatMap(({ language, text, notRun }) =>
        language === 'sh' && notRun === null && text.includes('…') ? [`${page}: ${text}`] : [],
      ),
    );
    assert.deepEqual(cut, []);
  });
});
