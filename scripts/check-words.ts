import { globSync, readFileSync } from 'node:fs';
import { proseAndNames } from './source-words.ts';

/**
 * Checks that no private word comes back: words that this project once used for things that have a common name. It looks in names,
 * comments and sentences of the code, and in documents. Exit code 1 if one is found.
 *
 *   node scripts/check-words.ts
 *
 * SQL, fixtures, earlier decisions and the changelog are exempt.
 */
const SOURCES = ['src/**/*.ts', 'console/src/**/*.{ts,tsx}', 'scripts/**/*.ts', 'bench/**/*.ts', 'test/**/*.ts'];
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'console/*.md', 'deploy/**/*.md'];
const EXEMPT =
  /^(CHANGELOG\.md|scripts\/check-words\.ts|docs\/(contract|conformance)\.md|docs\/decisions\/|test\/fixtures\/|src\/db\/migrations\/)/;

/** Lines with the label `lane` of metrics, which keeps its spelling. */
const METRIC_LABELS = /faregate_database_|metricsOf\(/;

/** What is found, and the standard term. Words with a common meaning, such as "rest" or "part", are not here. */
const PRIVATE_WORDS: readonly (readonly [pattern: RegExp, term: string])[] = [
  [/\blanes?\b/i, 'connection pool'],
  [/(?<!account |lock )\bholders?\b(?! of a lock)/i, 'tenant or caller'],
  [/\bloose\b(?! object)/i, 'orphaned'],
  [/\bunder way\b/i, 'pending, or in flight'],
  [/\bwritten down\b/i, 'recorded'],
  [/\bbrakes?\b/i, 'throttle'],
  [/\bchange log\b/i, 'audit log'],
  [/\b(is|are|be|was|were) told of\b/i, 'notified'],
  [/\b(are|be|were|stays?|books(?: are)?|audit is) (?:not )?sound\b/, 'consistent'],
  [/\bstanding\b/i, 'status'],
  [/\b(as|so) (many|much|long|far) as there (is|are|may be)\b/i, 'all, or up to the limit'],
  [/\bhear[sd]? (of|that)\b/i, 'receives'],
  [/\bdesks?\b/i, 'console'],
  [/\bslices? of\b/i, 'page or batch'],
  [/\bmarks? of the audit\b/i, 'checkpoint'],
];

let found = 0;
for (const file of [...globSync(SOURCES), ...globSync(DOCUMENTS)].sort()) {
  if (EXEMPT.test(file)) continue;
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  for (const [index, line] of (file.endsWith('.md') ? withoutCode(text) : proseAndNames(text)).entries()) {
    for (const [pattern, term] of PRIVATE_WORDS) {
      const [word] = pattern.exec(line) ?? [];
      if (word === undefined || METRIC_LABELS.test(lines[index]!)) continue;
      console.error(`${file}:${index + 1}: "${word}" has a common name: ${term}.`);
      found++;
    }
  }
}
if (found > 0) process.exitCode = 1;
else console.log(`None of ${PRIVATE_WORDS.length} private words is used.`);

/** The lines of a document, without what stands between backticks, in fences, or in addresses of links. */
function withoutCode(text: string): string[] {
  let isFenced = false;
  return text.split('\n').map((line) => {
    if (line.startsWith('```')) isFenced = !isFenced;
    return isFenced ? '' : line.replace(/`[^`]*`|\]\([^)]*\)|<!--.*?-->/g, ' ');
  });
}
