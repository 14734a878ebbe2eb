import { globSync, readFileSync } from 'node:fs';
import { HOMES, type Home, type Table } from '../src/db/homes.ts';
import { MARKS, tablesIn } from './sql-tables.ts';
import { SourceTexts } from './sql-texts.ts';
import { connectionsIn } from './taken-connections.ts';

/**
 * Checks that no SQL statement in `src` uses tables of both homes (`src/db/homes.ts`), or mixes known tables with a table name that is
 * only known at run time; and that the types of connections state the home of their statements (`src/db/home-pools.ts`). Exit code 1
 * for violations.
 *
 *   node scripts/check-homes.ts [FILE…]
 */

/**
 * Files that may take connections of any home: the database layer, code that opens databases, and code that fills the directory and
 * the first partition of a demo database in one transaction.
 */
const MAY_BE_BOTH =
  /^src\/(?:db\/|cli\/(?:own-database|serve\/serve-gateway|doctor\/doctor-database)\.ts$|app\/gateway-options\.ts$|accounting\/history\/history-store\.ts$)/;
const known = new Set<string>(Object.keys(HOMES));
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] }).sort();
const violations = new Map<string, string>();
/** The homes of the statements of each file. */
const homesOf = new Map<string, Set<Home>>();
const seen = new Set<string>();
let statements = 0;
for (const { place, text } of new SourceTexts().of(files)) {
  const tables = tablesIn(text, known);
  if (tables.size === 0) continue;
  statements++;
  for (const table of tables) seen.add(table);
  const homes = new Set([...tables].map((table) => HOMES[table as Table] ?? 'an unknown home'));
  const file = place.slice(0, place.indexOf(':'));
  homesOf.set(
    file,
    new Set([...(homesOf.get(file) ?? []), ...[...tables].flatMap((table) => HOMES[table as Table] ?? [])]),
  );
  if (homes.size > 1) {
    const list = [...tables].map((table) => (table === MARKS.unknown ? '?' : `${table} (${HOMES[table as Table]})`));
    violations.set(place, list.join(', '));
  }
}
for (const [place, tables] of violations) console.error(`${place} uses ${tables}`);
if (violations.size > 0) {
  console.error(
    '  Split it into two statements, and pass the result of one to the other. A table name that is only known at run time ("?") must\n' +
      '  be the only one.',
  );
  process.exitCode = 1;
}
const strange = files.flatMap((file) => {
  const homes = homesOf.get(file) ?? new Set<Home>();
  const taken = connectionsIn(readFileSync(file, 'utf8'), file);
  return taken.filter(({ home }) => (home === null ? !MAY_BE_BOTH.test(file) : homes.size > 0 && !homes.has(home)));
});
for (const { place, type } of strange) console.error(`${place} takes a ${type}`);
if (strange.length > 0) {
  console.error(
    '  Use a type of src/db/home-pools.ts for the home of the statements, such as DirectoryPool or PartitionQueryable, or HomeDatabases ' +
      'for both homes.',
  );
  process.exitCode = 1;
}
if (process.exitCode === undefined) console.log(`${statements} SQL texts use tables of one home each.`);
// If the reader stopped following constants, it would find few tables and no violations.
const unseen = [...known].filter((table) => !seen.has(table));
if (named.length === 0 && unseen.length > 0) throw new Error(`found no statement that uses ${unseen.join(', ')}`);
