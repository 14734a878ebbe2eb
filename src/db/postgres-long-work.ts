import type pg from 'pg';
import {
  type Parameter,
  PLANNER_OPTIONS,
  type Queryable,
  SLICE_PLANS,
  type SnapshotReader,
  type Statement,
  toSqlText,
} from './database.ts';
import { asStatement } from './errors.ts';
import { Connection } from './postgres-connections.ts';

/** Exports and imports on a server: connections of their own, without limits of time. */

const on = (client: pg.Client): Queryable => ({
  async query<Row>({ name, text }: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
    const values = parameters.map(toSqlText);
    return (await asStatement(name, () => client.query({ name, text, values }))).rows as Row[];
  },
});

/** `readers`: connections that the end of the database cuts off. */
export async function openSnapshots(connection: pg.ClientConfig, readers: Set<pg.Client>): Promise<SnapshotReader> {
  const client = new Connection({
    ...connection,
    options: [...PLANNER_OPTIONS, ...SLICE_PLANS.flatMap((setting) => ['-c', setting])].join(' '),
  });
  // The statement under way fails with the same error.
  client.on('error', () => undefined);
  readers.add(client);
  const close = async (): Promise<void> => {
    readers.delete(client);
    await client.end();
  };
  try {
    await asStatement('database.connect', () => client.connect());
    await asStatement('database.begin', () => client.query('begin isolation level repeatable read, read only'));
  } catch (error) {
    await close();
    throw error;
  }
  const { query } = on(client);
  return {
    async read(queries) {
      const rows: unknown[][] = [];
      for (const { statement, parameters } of queries) rows.push(await query(statement, parameters));
      return rows;
    },
    close,
  };
}

export async function longTransaction<Result>(
  connection: pg.ClientConfig,
  work: (transaction: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = new Connection({ ...connection, options: PLANNER_OPTIONS.join(' ') });
  client.on('error', () => undefined);
  await asStatement('database.connect', () => client.connect());
  try {
    await asStatement('database.begin', () => client.query('begin'));
    const result = await work(on(client));
    await asStatement('database.commit', () => client.query('commit'));
    return result;
  } finally {
    // The server rolls back what was not committed.
    await client.end();
  }
}
