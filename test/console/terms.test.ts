import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { parseSync } from 'vite';
import { children, type Node } from '../../scripts/syntax-tree.ts';

/** Checks that texts of the console and the documents use one term per concept (`console/terms.md`), and Chinese punctuation. */

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

const [chineseTerms = '', englishTerms = ''] = readFileSync('console/terms.md', 'utf8').split('The same for English');

const terms = chineseTerms.split('\n').flatMap((line) => {
  const [, term, chinese, not] = line.split('|').map((cell) => cell.trim());
  if (term === undefined || chinese === undefined || term === 'term' || term.startsWith('-')) return [];
  return [{ term, chinese, unused: (not ?? '').split(',').flatMap((word) => word.trim() || []) }];
});

/** Words that English texts do not use, with the one that they do. */
const english = englishTerms
  .split('\n')
  .slice(3)
  .flatMap((line) => {
    const [, unused = '', used = ''] = line.split('|').map((cell) => cell.trim());
    return unused.startsWith('-') || used === '' ? [] : unused.split(', ').map((word) => ({ word, used }));
  });

/** Both languages of the texts of a file: the members of two objects, in the same order. */
function bothIn(node: Node): (readonly [english: string, chinese: string])[] {
  const isTexts = node.type === 'CallExpression' && /^(?:page|define)Texts$/.test(String((node.callee as Node).name));
  if (!isTexts) return children(node).flatMap(bothIn);
  const [en, zh] = (node.arguments as Node[]).map(leavesOf) as [string[], string[]];
  return en.map((text, index) => [text, zh[index]!] as const);
}

function leavesOf(node: Node): string[] {
  if (node.type === 'ObjectExpression')
    return (node.properties as Node[]).flatMap(({ value }) => leavesOf(value as Node));
  // A function of values is its body; what is not a text has no words.
  if (node.type === 'ArrowFunctionExpression') return leavesOf(node.body as Node);
  if (node.type === 'TemplateLiteral')
    return [
      (node.quasis as { readonly value: { readonly cooked: string } }[]).map(({ value }) => value.cooked).join('{}'),
    ];
  return [node.type === 'Literal' ? String(node.value) : ''];
}

/** Locations of texts that match a forbidden pattern. */
const found = (pattern: RegExp): string[] =>
  [...texts, ...pages].flatMap(({ where, text }) => (pattern.test(text) ? [`${where}: ${text.trim()}`] : []));

const inBoth = globSync('console/src/**/*.{ts,tsx}').flatMap((file) =>
  bothIn(parseSync(file, readFileSync(file, 'utf8')).program as unknown as Node),
);

describe('the English of the console', () => {
  it('uses one term per concept', () => {
    assert.ok(english.length > 5);
    assert.deepEqual(
      inBoth.flatMap(([text]) =>
        english
          .filter(({ word }) => new RegExp(`\\b${word}\\b`).test(text) || text.toLowerCase() === word.toLowerCase())
          .map(({ word, used }) => `"${word}" is "${used}" here: ${text}`),
      ),
      [],
    );
  });
});

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

  it('uses the word "token" like the English that it stands for, in lower case', () => {
    assert.ok(inBoth.length > 1_000, String(inBoth.length));
    // Texts without a Chinese character are not in the lists above.
    assert.deepEqual(
      inBoth.filter(([, chinese]) => /\bTokens?\b/.test(chinese)),
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
