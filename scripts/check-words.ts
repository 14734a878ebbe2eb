import { globSync, readFileSync } from 'node:fs';
import { proseAndNames } from './source-words.ts';

/**
 * Checks that no word of the glossary's last column is used: in names, comments and sentences of the code, and in documents. A word
 * that is marked with an asterisk there has another meaning too, and is not looked for. Exit code 1 if one is found.
 *
 *   node scripts/check-words.ts
 *
 * Exempt are the wire, SQL, earlier decisions, the changelog, and what vendors or libraries call so.
 */
const GLOSSARY = 'docs/glossary.md';
const SOURCES = ['src/**/*.ts', 'console/src/**/*.{ts,tsx}', 'scripts/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'];
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'console/*.md', 'deploy/**/*.md'];
/** Names of the configuration, which keep their spelling. */
const SETTINGS = /answer ?Limit/g;
const EXEMPT =
  /^(CHANGELOG\.md|scripts\/check-words\.ts|docs\/(glossary|contract|conformance)\.md|docs\/decisions\/|test\/fixtures\/|src\/db\/migrations\/)/;

interface Unused {
  readonly word: string;
  readonly instead: string;
  readonly pattern: RegExp;
}

const unused = readFileSync(GLOSSARY, 'utf8').split('\n').flatMap(wordsOfRow);
let found = 0;
for (const file of [...globSync(SOURCES), ...globSync(DOCUMENTS)].sort()) {
  if (EXEMPT.test(file)) continue;
  const text = readFileSync(file, 'utf8');
  for (const [index, line] of (file.endsWith('.md') ? withoutCode(text) : proseAndNames(text)).entries()) {
    for (const { word, instead, pattern } of unused) {
      if (!pattern.test(line.replace(SETTINGS, ''))) continue;
      console.error(`${file}:${index + 1}: "${word}" is "${instead}" here.`);
      found++;
    }
  }
}
if (found > 0) {
  console.error(`${GLOSSARY} has the words; mark one there with an asterisk if it has another meaning too.`);
  process.exitCode = 1;
} else console.log(`${unused.length} words of the glossary that are not used are not used.`);

/** Of a row `| term | meaning | not |`: what stands in its last column. */
function wordsOfRow(row: string): Unused[] {
  const [, term, , not] = row.split('|').map((cell) => cell.trim());
  if (term === undefined || not === undefined || term === 'term' || term.startsWith('-')) return [];
  return not
    .replace(/\([^)]*\)/g, '')
    .split(',')
    .map((word) => word.replace('\\*', '*').trim())
    .filter((word) => word !== '' && !word.endsWith('*'))
    .map((word) => ({ word, instead: term, pattern: new RegExp(`\\b${word.replaceAll(' ', '\\s+')}s?\\b`, 'i') }));
}

/** The lines of a document, without what stands between backticks, in fences, or in addresses of links. */
function withoutCode(text: string): string[] {
  let isFenced = false;
  return text.split('\n').map((line) => {
    if (line.startsWith('```')) isFenced = !isFenced;
    return isFenced ? '' : line.replace(/`[^`]*`|\]\([^)]*\)|<!--.*?-->/g, ' ');
  });
}
