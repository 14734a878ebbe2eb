import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type ClusterPorts, createCitusDatabase } from '../citus/databases.ts';
import { divide } from './divided-template.ts';
import { createKept } from './kept-databases.ts';
import { spreadDatabase } from './spread-database.ts';
import { requireVariable } from './variables.ts';

/** A database of a test. `await using` removes it at the end of the block. */
export interface TestDatabase extends AsyncDisposable {
  readonly database: Database;
  readonly url: string;
  /** Opens another connection pool to the same database, as a second node or a restarted gateway does. */
  openAnother(): Database;
  /** Closes the database if it is open, and removes it. */
  remove(): Promise<void>;
}

/**
 * An empty, migrated database: a copy of the template that the test run prepared, or one that an earlier test returned and that was
 * emptied.
 */
export async function createTestDatabase(partitions: 1 | 4 = 1): Promise<TestDatabase> {
  if (partitions === 1) return createKept('of 1', () => createPostgres('faregate_template'));
  const citus = citusPorts();
  if (citus !== null) return createKept('Citus of 4', () => createOnCitus(citus), false);
  return createKept('of 4', () => createPostgres('faregate_template_4', 4));
}

/** The cluster of `npm run test:citus`, whose workers hold all partitions except the first; otherwise `null`. */
function citusPorts(): ClusterPorts | null {
  const given = process.env.FAREGATE_TEST_CITUS_PORTS;
  return given === undefined ? null : JSON.parse(given);
}

/** A database before the first start of a gateway: without tables. */
export function createBareDatabase(): Promise<TestDatabase> {
  return createPostgres('template1');
}

/** A copy of another database. Ends all connections to the original. */
export async function copyDatabase({ url }: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  const name = new URL(url).pathname.slice(1);
  const server = requireVariable('FAREGATE_TEST_POSTGRES_LOCAL_URL');
  // A gateway may connect again between the two statements.
  for (let attempt = 1; ; attempt++) {
    await administer(server, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
    try {
      return await createPostgres(name);
    } catch (error) {
      if ((error as pg.DatabaseError).code !== OBJECT_IN_USE || attempt === COPY_ATTEMPTS_MAX) throw error;
    }
  }
}

const OBJECT_IN_USE = '55006';
const COPY_ATTEMPTS_MAX = 20;

async function createPostgres(template: string, partitions = 1): Promise<TestDatabase> {
  const server = requireVariable('FAREGATE_TEST_POSTGRES_URL');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copies files. The default strategy, through the write-ahead log, takes twice as long.
  const local = requireVariable('FAREGATE_TEST_POSTGRES_LOCAL_URL');
  await administer(local, `create database ${name} template ${template} strategy file_copy`);
  const remove = (): Promise<void> => administer(local, `drop database ${name} with (force)`);
  return storedAt(`${server}/${name}`, { url: `${local}/${name}`, partitions, isOnCitus: false }, remove);
}

async function createOnCitus(ports: ClusterPorts): Promise<TestDatabase> {
  const { url, remove } = await createCitusDatabase(ports);
  await divide(url);
  return storedAt(url, { url, partitions: 4, isOnCitus: true }, remove);
}

interface Opened {
  readonly url: string;
  readonly partitions: number;
  readonly isOnCitus: boolean;
}

function storedAt(
  url: string,
  { url: local, partitions, isOnCitus }: Opened,
  removeDatabase: () => Promise<void>,
): TestDatabase {
  const openOne = (schema?: string): Database =>
    openPostgres({
      url: local,
      logger: silentLogger,
      schema,
      directorySchema: schema && 'public',
      isOnCitus: isOnCitus && schema !== undefined,
    });
  function open(): Database {
    const directory = openOne();
    if (partitions === 1) return directory;
    // Statements of tests may name tables of both homes.
    const further = Array.from({ length: partitions - 1 }, (_, i) => openOne(`faregate_0${i + 1},public`));
    return spreadDatabase({ directory, partitions: [directory, ...further] });
  }
  const database = open();
  return {
    database,
    url,
    openAnother: open,
    async remove() {
      await database.close().catch(() => undefined);
      await removeDatabase();
    },
    [Symbol.asyncDispose]() {
      return this.remove();
    },
  };
}

/** A few connections for all databases of a process. They do not keep the process alive. */
let administrators: pg.Pool | null = null;

async function administer(server: string, sql: string): Promise<void> {
  if (administrators === null) {
    administrators = new pg.Pool({
      connectionString: `${server}/postgres`,
      max: 2,
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
    // `scripts/month.ts` stops the server in this process, which ends these idle connections.
    administrators.on('error', () => undefined);
  }
  await administrators.query(sql);
}
