import type { Parameter, Queryable, StoredRow } from '../../src/db/database.ts';

/** By their texts: a name stands for one statement, which the driver prepares once. */
const names = new Map<string, string>();

/** The rows of a statement that only a test has. */
export function sql<Row = StoredRow>(
  database: Queryable,
  text: string,
  parameters?: readonly Parameter[],
): Promise<Row[]> {
  let name = names.get(text);
  if (name === undefined) {
    name = `test.${names.size}`;
    names.set(text, name);
  }
  return database.query<Row>({ name, text }, parameters);
}
