import { globSync, readFileSync } from 'node:fs';
import { HOMES, type Home, type Table } from '../src/db/homes.ts';
import { MARKS, tablesIn } from './sql-tables.ts';
import { SourceTexts } from './sql-texts.ts';
import { connectionsIn } from './taken-connections.ts';

/**
 * Checks that no statement of `src` names tables of both homes (`src/db/homes.ts`), nor one beside others that is only known when the
 * statement runs; and that what takes connections says of which home they are (`src/db/home-lanes.ts`), which is that of its statements.
 * Exit code 1 if one does not.
 *
 *   node scripts/check-homes.ts [FILE…]
 */
/**
 * What may take connections of any home: the database layer itself, what opens databases, and what fills a new database of the demo,
 * directory and first partition in one transaction.
 */
const MAY_BE_BOTH =
  /^src\/(?:db\/|cli\/(?:own-database|serve\/serve-gateway|doctor\/doctor-database)\.ts$|app\/gateway-options\.ts$|accounting\/history\/history-store\.ts$)/;
const known = new Set<string>(Object.keys(HOMES));
const named = process.argv.slice(2);
const files = named.length > 0 ? named : globSync('src/**/*.ts', { exclude: ['**/*.test.ts'] }).sort();
const violations = new Map<string, string>();
/** Of the statements of a file. */
const homesOf = new Map<string, Set<Home>>();
const seen = new Set<string>();
let statements = 0;
for (const { place, text } of new SourceTexts().of(files)) {
  const tables = tablesIn(text, known);
  if (tables.size === 0) continue;
  statements++;
  for (const table of tables) seen.add(table);
  const homes = new Set([...tables].map((table) => HOMES[table as Table] ?? 'a home that is not known'));
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
for (const [place, tables] of violations) console.error(`${place} names ${tables}`);
if (violations.size > 0) {
  console.error(
    '  Make two statements of it: what one has found is a parameter of the other. A table that is only known when the statement runs\n' +
      '  ("?") stands alone.',
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
    '  Take what src/db/home-lanes.ts has for the home of the statements, such as a DirectoryLane or a PartitionQueryable, or HomeDatabases if ' +
      'they are of both.',
  );
  process.exitCode = 1;
}
if (process.exitCode === undefined) console.log(`${statements} texts of SQL name tables of one home each.`);
// A reader that follows no constants would find few tables, and all of them in order.
const unseen = [...known].filter((table) => !seen.has(table));
if (named.length === 0 && unseen.length > 0) throw new Error(`no statement was found that names ${unseen.join(', ')}`);
