import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import type { Database } from '../../src/db/database.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { type ClusterPorts, createCitusDatabase } from '../citus/databases.ts';
import { keepEngineCompiled } from './compiled-engine.ts';
import { divide } from './divided-template.ts';
import { makeFastDirectory } from './fast-directory.ts';
import { createKept } from './kept-databases.ts';
import { isQuickRun } from './scope.ts';
import { spreadDatabase } from './spread-database.ts';

export type Engine = Database['engine'];

/** Every test of a store, of what races for money, and of the engines themselves runs on both. */
export const engines: readonly Engine[] = citusPorts() === null ? ['embedded', 'postgresql'] : ['postgresql'];

/**
 * Tests of the money and the records of a whole gateway, over stores that have tests of their own on both engines, and of what
 * reads or moves many rows: both in a full run. A quick run has PostgreSQL, which works beside the test and not in its process.
 */
export const gatewayEngines: readonly Engine[] = isQuickRun ? ['postgresql'] : engines;

/**
 * Tests of what a gateway does where statements fail, come late, or the disk is full: above the engines, on one of them. What
 * of this differs with the engine is tested on both: away, restarts, flaky statements (`test/settlement`), and chaos.
 */
export const outageEngines: readonly Engine[] = ['postgresql'];

/**
 * Tests of the wire, and of limits that are decided above the engines, need a database, but test nothing of it. They have
 * PostgreSQL, which works beside the test and not in its process, and so takes a third of the time;
 * `FAREGATE_TEST_WIRE=both` runs them on both engines.
 */
export const wireEngines: readonly Engine[] = process.env.FAREGATE_TEST_WIRE === 'both' ? engines : ['postgresql'];

/** Of tests that name no engine. */
export const usualEngine: Engine = 'postgresql';

/** A block that has it with `await using` removes it at its end. */
export interface TestDatabase extends AsyncDisposable {
  readonly database: Database;
  /** Where it is: an address on PostgreSQL, a directory on the embedded engine; the other one is empty. */
  readonly url: string;
  readonly dataDir: string;
  /** Opens another connection pool to the same database, as a second node would. PostgreSQL only. */
  openAnother(): Database;
  /** Opens it for the next start of a gateway, after the one before has closed it. */
  reopen(): Promise<Database>;
  /** Closes the database, unless that was done already, and removes it. */
  remove(): Promise<void>;
}

/**
 * An empty, migrated database of its own, which has one partition on the embedded engine: a copy of the one that the test run prepared, or one that an earlier test has given
 * back and that is as that copy again.
 */
export async function createTestDatabase(engine: Engine, partitions: 1 | 4 = 1): Promise<TestDatabase> {
  if (engine === 'embedded') return createKept(engine, createEmbedded);
  if (partitions === 1) return createKept(engine, () => createPostgres('faregate_template'));
  const citus = citusPorts();
  if (citus !== null) return createKept('Citus of 4', () => createOnCitus(citus), false);
  return createKept(`${engine} of 4`, () => createPostgres('faregate_template_4', 4));
}

/** Where `npm run test:citus` has a cluster, whose workers have the partitions behind the first one; otherwise `null`. */
function citusPorts(): ClusterPorts | null {
  const given = process.env.FAREGATE_TEST_CITUS_PORTS;
  return given === undefined ? null : JSON.parse(given);
}

/** A database as it is before the first start: without a table. */
export async function createBareDatabase(engine: Engine): Promise<TestDatabase> {
  if (engine === 'postgresql') return createPostgres('template1');
  const stored = await createEmbedded();
  await stored.database.script('drop schema public cascade; create schema public');
  return stored;
}

/**
 * Puts an empty, migrated embedded database into a data directory that has none, so that a program that starts there need
 * not make one, which takes it some seconds.
 */
export function placeEmbedded(dataDir: string): void {
  keepEngineCompiled();
  if (existsSync(join(dataDir, 'db'))) return;
  cpSync(embeddedTemplate(), dataDir, { recursive: true });
}

/** The data directory that `placeEmbedded` copies. Nothing changes it. */
export function embeddedTemplate(): string {
  return requireVariable('FAREGATE_TEST_EMBEDDED_TEMPLATE');
}

async function createEmbedded(): Promise<TestDatabase> {
  const dataDir = makeFastDirectory('faregate-db-');
  placeEmbedded(dataDir);
  return storedIn(dataDir, await openEmbedded({ dataDir }), () => rmSync(dataDir, { recursive: true, force: true }));
}

/** An open embedded database; `remove` closes it, and does what else there is to do. */
export function storedIn(dataDir: string, database: Database, afterwards?: () => void): TestDatabase {
  return {
    database,
    url: '',
    dataDir,
    openAnother: () => {
      throw new Error('the embedded database has one owner');
    },
    reopen: () => openEmbedded({ dataDir }),
    async remove() {
      await database.close().catch(() => undefined);
      afterwards?.();
    },
    [Symbol.asyncDispose]() {
      return this.remove();
    },
  };
}

async function createPostgres(template: string, partitions = 1): Promise<TestDatabase> {
  const server = requireVariable('FAREGATE_TEST_POSTGRES_URL');
  const name = `test_${randomBytes(6).toString('hex')}`;
  // Copied as files: the default, by way of the log, takes the server twice as long.
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
    openPostgres({ url: local, logger: silentLogger, schema, isOnCitus: isOnCitus && schema !== undefined });
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
    dataDir: '',
    openAnother: open,
    reopen: async () => open(),
    async remove() {
      await database.close().catch(() => undefined);
      await removeDatabase();
    },
    [Symbol.asyncDispose]() {
      return this.remove();
    },
  };
}

/** A few connections for all databases of a process; they do not keep it alive. */
let administrators: pg.Pool | null = null;

async function administer(server: string, sql: string): Promise<void> {
  if (administrators === null) {
    administrators = new pg.Pool({
      connectionString: `${server}/postgres`,
      max: 2,
      idleTimeoutMillis: 0,
      allowExitOnIdle: true,
    });
    // A server that stops ends these connections, which are idle then: `scripts/month.ts` stops it in this process.
    administrators.on('error', () => undefined);
  }
  await administrators.query(sql);
}

function requireVariable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run tests with "npm test -- <files>"`);
  return value;
}
