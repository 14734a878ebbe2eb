import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

/**
 * A Chinese page corresponds to the English one of the same name: the same commands and outputs, and equal numbers of headings, rows and
 * images.
 */

/** The English page of a Chinese one. */
const englishOf = (page: string): string =>
  page === 'docs/zh/README.md' ? 'README.md' : page.replace('docs/zh/', 'docs/');

/** The blocks of a page in order, without comments, which are translated. */
const blocksOf = (page: string): string[] =>
  [...page.matchAll(/^```.*\n[\s\S]*?^```$/gm)].map(([block]) => block.replaceAll(/[ \t]*(?<=^|\s)# .*$/gm, ''));

const withoutBlocks = (page: string): string => page.replaceAll(/^```.*\n[\s\S]*?^```$/gm, '');
const levelsOf = (page: string): string[] => withoutBlocks(page).match(/^#{1,6}(?= )/gm) ?? [];
const countOf = (page: string, pattern: RegExp): number => withoutBlocks(page).match(pattern)?.length ?? 0;

/** Names of settings, headers, codes and addresses. */
const codeOf = (page: string): string[] =>
  [...new Set([...withoutBlocks(page).matchAll(/`([^`\n]+)`/g)].map(([, name]) => name!))].sort();

const pages = globSync('docs/zh/*.md').sort();

describe('the Chinese pages', () => {
  it('are listed in the README of either language', () => {
    assert.deepEqual(pages, [
      'docs/zh/README.md',
      'docs/zh/coding-plan.md',
      'docs/zh/console.md',
      'docs/zh/getting-started.md',
    ]);
    const head = readFileSync('README.md', 'utf8').split('\n').slice(0, 4).join('\n');
    assert.ok(head.includes('[简体中文](docs/zh/README.md)'), head);
  });

  for (const page of pages) {
    const [chinese, english] = [page, englishOf(page)].map((file) => readFileSync(file, 'utf8')) as [string, string];

    it(`${page} has the commands, files and outputs of ${englishOf(page)}`, () => {
      assert.deepEqual(blocksOf(chinese), blocksOf(english));
    });

    it(`${page} has the headings, rows, pictures and names of ${englishOf(page)}`, () => {
      assert.deepEqual(levelsOf(chinese), levelsOf(english));
      for (const pattern of [/^\|/gm, /^- /gm, /!\[/g])
        assert.equal(countOf(chinese, pattern), countOf(english, pattern));
      assert.deepEqual(codeOf(chinese), codeOf(english));
    });
  }
});
