import { rmSync } from 'node:fs';
import pg from 'pg';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { divide } from './divided-template.ts';
import { makeFastDirectory, sweepFastDirectories } from './fast-directory.ts';
import { makeLocalTemplate } from './local-database.ts';
import { type PostgresServer, startPostgresServer } from './postgres-server.ts';
import { isQuickRun } from './scope.ts';

/** Runs once before all tests: starts PostgreSQL and prepares an empty migrated database, which each test file copies. */
let server: PostgresServer | null = null;
let directory = '';

/** Durability is off, because the files are removed after the run. Autovacuum is off, so that no test waits for it. */
const NOT_KEPT = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off' };

export async function globalSetup(): Promise<void> {
  // A nested test run uses the databases of the outer one.
  if (process.env.FAREGATE_TEST_POSTGRES_URL !== undefined) return;
  sweepFastDirectories('faregate-');
  directory = makeFastDirectory('faregate-test-');

  const [started] = await Promise.all([
    startPostgresServer(directory, NOT_KEPT),
    makeLocalTemplate(directory, prepare),
  ]);
  server = started;
  await createTemplate(server.url);
  process.env.FAREGATE_TEST_POSTGRES_URL = server.url;
  process.env.FAREGATE_TEST_POSTGRES_LOCAL_URL = server.localUrl;
}

export async function globalTeardown(): Promise<void> {
  if (server === null) return;
  await server.stop();
  rmSync(directory, { recursive: true, force: true });
}

/** As a starting gateway does, so that it finds nothing to create. */
async function prepare(database: Database): Promise<void> {
  await migrate(database);
  await createCallsStore(database).prepareMonths(new Date());
}

async function createTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}/postgres` });
  await client.connect();
  await client.query('create database faregate_template');
  const database = openPostgres({ url: `${url}/faregate_template`, logger: silentLogger });
  await prepare(database);
  await database.close();
  if (!isQuickRun) {
    await client.query('create database faregate_template_4 template faregate_template strategy file_copy');
    await divide(`${url}/faregate_template_4`);
  }
  await client.end();
}
