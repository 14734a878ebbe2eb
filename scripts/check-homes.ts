import { globSync } from 'node:fs';
import { HOMES, type Table } from '../src/db/homes.ts';
import { MARKS, tablesIn } from './sql-tables.ts';
import { SourceTexts } from './sql-texts.ts';

/**
 * Checks that no statement of `src` names tables of both homes (`src/db/homes.ts`), nor one beside others that is only known when the
 * statement runs. Exit code 1 if one does.
 *
 *   node scripts/check-homes.ts [FILE…]
 */
const known = new Set<string>(Object.keys(HOMES));
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] }).sort();
const violations = new Map<string, string>();
const seen = new Set<string>();
let statements = 0;
for (const { place, text } of new SourceTexts().of(files)) {
  const tables = tablesIn(text, known);
  if (tables.size === 0) continue;
  statements++;
  for (const table of tables) seen.add(table);
  const homes = new Set([...tables].map((table) => HOMES[table as Table] ?? 'a home that is not known'));
  if (homes.size > 1) {
    const list = [...tables].map((table) => (table === MARKS.unknown ? '?' : `${table} (${HOMES[table as Table]})`));
    violations.set(place, list.join(', '));
  }
}
for (const [place, tables] of violations) console.error(`${place} names ${tables}`);
if (violations.size > 0) {
  console.error(
    '  Make two statements of it: what one has found is a parameter of the other. A table that is only known when the statement runs\n' +
      '  ("?") stands alone.',
  );
  process.exitCode = 1;
} else console.log(`${statements} texts of SQL name tables of one home each.`);
// A reader that follows no constants would find few tables, and all of them in order.
const unseen = [...known].filter((table) => !seen.has(table));
if (named.length === 0 && unseen.length > 0) throw new Error(`no statement was found that names ${unseen.join(', ')}`);
