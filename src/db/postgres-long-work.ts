import type pg from 'pg';
import {
  type Cursor,
  type LongTransaction,
  type Parameter,
  PLANNER_OPTIONS,
  SLICE_PLANS,
  type SnapshotReader,
  type Statement,
  toSqlText,
} from './database.ts';
import { Connection } from './postgres-connections.ts';
import { type OptionedConfig, withOptions } from './postgres-options.ts';

/** This file runs exports and imports on separate connections without time limits. */

/** Opens a connection and runs `begin` on it. `readers`: connections to destroy when the database is closed. */
export async function openReader(
  config: pg.ClientConfig,
  readers: Set<pg.Client>,
  begin: (reader: Connection) => Promise<unknown>,
): Promise<{ readonly reader: Connection; readonly close: () => Promise<void> }> {
  const reader = new Connection(config);
  readers.add(reader);
  const close = async (): Promise<void> => {
    readers.delete(reader);
    await reader.end();
  };
  try {
    await begin(reader);
  } catch (error) {
    await close();
    throw error;
  }
  return { reader, close };
}

/** Returns a function that sets the schema for the next statement of a transaction; `null`: the connection's own. */
function schemaSwitch(client: Connection): (schema: string | null) => Promise<void> {
  let current: string | null = null;
  return async (schema) => {
    if (schema === current) return;
    await client.ask('database.use-schema', `set local search_path to ${schema ?? 'default'}`);
    current = schema;
  };
}

export async function openSnapshots(connection: OptionedConfig, readers: Set<pg.Client>): Promise<SnapshotReader> {
  const plans = SLICE_PLANS.flatMap((setting) => ['-c', setting]);
  const config = withOptions(connection, [...PLANNER_OPTIONS, ...plans]);
  const { reader: client, close } = await openReader(config, readers, async (opened) => {
    await opened.open();
    await opened.ask('database.begin', 'begin isolation level repeatable read, read only');
  });
  const useSchema = schemaSwitch(client);
  let cursors = 0;
  const inSchema: SnapshotReader['inSchema'] = (schema) => ({
    async query(statement, parameters) {
      await useSchema(schema);
      return client.run(statement, parameters);
    },
    cursor<Row>({ name, text }: Statement, parameters: readonly Parameter[] = []): Cursor<Row> {
      const cursor = `cursor_${++cursors}`;
      let isOpen = false;
      return {
        async fetch(rowsMax) {
          const values = parameters.map(toSqlText);
          if (!isOpen) {
            await useSchema(schema);
            await client.ask(name, { text: `declare ${cursor} no scroll cursor for ${text}`, values });
          }
          isOpen = true;
          const [rows] = await client.ask(name, `fetch forward ${rowsMax} from ${cursor}`);
          return rows as readonly Row[];
        },
      };
    },
  });
  return { ...inSchema(null), inSchema, close };
}

export async function longTransaction<Result>(
  connection: OptionedConfig,
  work: (transaction: LongTransaction) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const client = new Connection(withOptions(connection, PLANNER_OPTIONS));
  await client.open();
  signal?.addEventListener('abort', client);
  try {
    await client.ask('database.begin', 'begin');
    const useSchema = schemaSwitch(client);
    const inSchema: LongTransaction['inSchema'] = (schema) => ({
      async query(statement, parameters) {
        await useSchema(schema);
        return client.run(statement, parameters);
      },
    });
    const result = await work({ ...inSchema(null), inSchema });
    await client.ask('database.commit', 'commit');
    return result;
  } finally {
    signal?.removeEventListener('abort', client);
    // Ends the connection. The server then rolls back what was not committed.
    await client.end();
  }
}
