import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { acquireDataDir } from './data-dir.ts';
import { type Database, type Parameter, type Queryable, type Statement, toWire } from './database.ts';

export interface EmbeddedOptions {
  /** The directory that holds everything; created where it does not exist. Empty: in memory, for tests. */
  readonly dataDir: string;
}

/** The parts of PGlite that a query and a transaction share. */
interface Session {
  query<Row>(text: string, parameters?: unknown[]): Promise<{ rows: Row[] }>;
}

const BIGINT_OID = 20;
const DATE_OID = 1082;

/**
 * Type codes of the parameters that the statements use. They are sent as text exactly as written (`toWire`), so PGlite's
 * own conversions are switched off for them.
 */
const TEXT_PARAMETERS = [
  16, 17, 20, 21, 23, 25, 701, 1000, 1005, 1007, 1009, 1016, 1082, 1114, 1184, 1185, 114, 3802, 3807, 1700,
];

/** Less than the default 128 MB of shared buffers: the working set of a ledger is small, and memory is the user's. */
const START_PARAMETERS = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];

/**
 * Opens PostgreSQL inside this process.
 *
 * @throws DataDirInUseError where another process has the directory open.
 */
export async function openEmbedded(options: EmbeddedOptions): Promise<Database> {
  const isInMemory = options.dataDir === '';
  if (!isInMemory) mkdirSync(options.dataDir, { recursive: true, mode: 0o700 });
  const lock = isInMemory ? null : acquireDataDir(options.dataDir);
  let engine: PGlite;
  try {
    engine = await PGlite.create({
      dataDir: isInMemory ? 'memory://' : join(options.dataDir, 'db'),
      startParams: START_PARAMETERS,
      parsers: { [BIGINT_OID]: BigInt, [DATE_OID]: String },
      serializers: Object.fromEntries(TEXT_PARAMETERS.map((oid) => [oid, String])),
    });
  } catch (error) {
    lock?.release();
    throw error;
  }

  return {
    engine: 'embedded',
    query: (statement, parameters) => run(engine, statement, parameters),
    transaction: (work) =>
      engine.transaction((transaction) => {
        const queryable: Queryable = {
          query: (statement, parameters) => run(transaction, statement, parameters),
        };
        return work(queryable);
      }),
    async script(sql) {
      await engine.exec(sql);
    },
    async subscribe(channel, onPayload) {
      const unlisten = await engine.listen(channel, onPayload);
      return { isConnected: true, close: () => unlisten() };
    },
    async close() {
      await engine.close();
      lock?.release();
    },
  };
}

async function run<Row>(session: Session, statement: Statement, parameters: readonly Parameter[] = []): Promise<Row[]> {
  const result = await session.query<Row>(statement.text, parameters.map(toWire));
  return result.rows;
}
