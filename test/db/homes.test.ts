import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { tablesIn } from '../../scripts/sql-tables.ts';
import type { Database } from '../../src/db/database.ts';
import { HOMES, type Table } from '../../src/db/homes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sql } from '../support/sql.ts';

const KNOWN: ReadonlySet<string> = new Set(Object.keys(HOMES));

const listTables = `select relname::text as name from pg_class
where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'v', 'm') and not relispartition`;

const listForeignKeys = `select k.conname::text as name, c.relname::text as table, o.relname::text as other
from pg_constraint k join pg_class c on c.oid = k.conrelid join pg_class o on o.oid = k.confrelid
where k.contype = 'f' and k.connamespace = current_schema()::regnamespace`;

/** Includes the tables of triggers. */
const listFunctions = `select p.proname::text as name, p.prosrc as body, coalesce((
  select json_agg(distinct c.relname) from pg_trigger t join pg_class c on c.oid = t.tgrelid
  where t.tgfoid = p.oid and not c.relispartition
), '[]') as tables
from pg_proc p where p.pronamespace = current_schema()::regnamespace`;

const homesOf = (tables: Iterable<string>): number => new Set([...tables].map((table) => HOMES[table as Table])).size;

async function crossingKeys(database: Database): Promise<string[]> {
  const keys = await sql<{ name: string; table: string; other: string }>(database, listForeignKeys);
  assert.ok(keys.length > 0);
  return keys.filter(({ table, other }) => homesOf([table, other]) > 1).map(({ name }) => name);
}

async function crossingFunctions(database: Database): Promise<string[]> {
  const functions = await sql<{ name: string; body: string; tables: string[] }>(database, listFunctions);
  assert.ok(functions.some(({ body }) => tablesIn(body, KNOWN).size > 0));
  return functions
    .filter(({ body, tables }) => homesOf([...tablesIn(body, KNOWN), ...tables]) > 1)
    .map(({ name }) => name);
}

describe(`the homes of tables`, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored?.remove());

  it('are defined for exactly the tables of the schema', async () => {
    const tables = await sql<{ name: string }>(stored.database, listTables);
    assert.deepEqual(tables.map(({ name }) => name).sort(), [...KNOWN].sort());
  });

  it('share no foreign key, trigger or function', async () => {
    assert.deepEqual(await crossingKeys(stored.database), []);
    assert.deepEqual(await crossingFunctions(stored.database), []);
    await stored.database.script(`alter table balances add constraint to_directory foreign key (account_id) references accounts (id);
create function count_directory() returns trigger language plpgsql as $$ begin
  update accounts set name = name where id = new.account_id; return new;
end $$;
create trigger balances_count before update on balances for each row execute function count_directory();
create function read_both() returns bigint language sql as 'select count(*) from users, calls'`);
    assert.deepEqual(await crossingKeys(stored.database), ['to_directory']);
    assert.deepEqual((await crossingFunctions(stored.database)).sort(), ['count_directory', 'read_both']);
  });
});
