import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXPORTED_TABLES, TABLES_LEFT_OUT } from '../../src/transfer/tables.ts';
import { createTestDatabase } from '../support/database.ts';
import { sql } from '../support/sql.ts';

describe('the tables of an export', () => {
  it('are those of the schema, except for the ones listed with a reason', async () => {
    await using stored = await createTestDatabase();
    const { database } = stored;
    const tables = await sql<{ name: string }>(
      database,
      `select relname as name from pg_class
where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p') and not relispartition order by relname`,
    );
    const known = [...EXPORTED_TABLES, ...Object.keys(TABLES_LEFT_OUT)];
    assert.deepEqual(
      tables.map(({ name }) => name),
      known.sort(),
    );
  });
});
