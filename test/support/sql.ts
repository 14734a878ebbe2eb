import type { Parameter, Queryable, StoredRow } from '../../src/db/database.ts';

/** By text: a name identifies one statement, which the driver prepares once. */
const names = new Map<string, string>();

/** The rows of a test's own statement. */
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
