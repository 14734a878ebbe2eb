import { createTestDatabase, type TestDatabase } from './database.ts';

/** Statements for tests of connections and locks, on a table `items` with one row. */

export const one = { name: 'test.one', text: 'select 1 as one' };
export const readItems = { name: 'test.read-items', text: 'select id from items' };

export async function createItems(): Promise<TestDatabase> {
  const stored = await createTestDatabase();
  await stored.database.script('create table items (id int primary key); insert into items values (1)');
  return stored;
}
