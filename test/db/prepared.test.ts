import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../src/db/database.ts';
import { checkDemoMark, setDemoMark } from '../../src/db/demo-mark.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { readDatabaseIdentity } from '../../src/db/identity.ts';
import { migrate, migrationState, SchemaError } from '../../src/db/migrate.ts';
import { readMigrations } from '../../src/db/migrations.ts';
import { PREPARED_FILE, pack, preparedKey, unpack } from '../../src/db/prepared/prepared-files.ts';
import { catalogOf } from '../support/catalog.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeFastDirectory } from '../support/fast-directory.ts';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));
const served = { isDemo: false, demoAccountId: null };
const readSystem = {
  name: 'test.read-system',
  text: 'select system_identifier::text as id from pg_control_system()',
};

describe('a prepared embedded database', { timeout: 180_000 }, () => {
  let directory: string;
  let prepared: string;
  let made = 0;
  before(() => {
    directory = makeFastDirectory('faregate-prepared-');
    prepared = join(directory, 'database.zst');
    // What an installation has made, unless that was for another schema.
    if (existsSync(PREPARED_FILE)) cpSync(PREPARED_FILE, prepared);
    runNode('scripts/prepare-database.ts', prepared);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  function runNode(program: string, ...args: string[]): void {
    execFileSync(process.execPath, [join(PROJECT, program), ...args]);
  }

  /** What a first start makes from a file, if it is interrupted before it opens it. */
  function initialise(file: string): string {
    const dataDir = join(directory, `data-${++made}`);
    mkdirSync(dataDir);
    runNode('src/db/initialise-embedded.ts', join(dataDir, 'db'), file);
    return dataDir;
  }

  async function opened<Result>(dataDir: string, work: (database: Database) => Promise<Result>): Promise<Result> {
    const database = await openEmbedded({ dataDir });
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  }

  const applied = async (database: Database): Promise<number[]> =>
    (await migrationState(database)).filter(({ appliedAt }) => appliedAt !== null).map(({ version }) => version);

  test('has no schema until it is migrated, and then that of every other database', async () => {
    const stored = await createTestDatabase('embedded');
    const schema = await catalogOf(stored.database).finally(() => stored.remove());
    const dataDir = initialise(prepared);
    const begunAt = new Date();
    await opened(dataDir, async (database) => {
      assert.deepEqual(await applied(database), []);
      await checkDemoMark(database, served);
    });
    // A start that was interrupted is repeated.
    await opened(dataDir, async (database) => {
      await checkDemoMark(database, served);
      const steps = await migrate(database);
      assert.deepEqual(
        steps.map(({ version }) => version),
        readMigrations().map(({ version }) => version),
      );
      await setDemoMark(database, served);
      assert.deepEqual(await catalogOf(database), schema);
      for (const { appliedAt } of await migrationState(database)) assert.ok(appliedAt! >= begunAt);
      assert.deepEqual(await migrate(database), []);
    });
  });

  test('has identities of its own, which last', async () => {
    const identities: string[][] = [];
    for (const dataDir of [initialise(prepared), initialise(prepared)]) {
      const [first, second] = [await identify(dataDir), await identify(dataDir)];
      assert.deepEqual(second, first);
      identities.push(first);
    }
    const [one, other] = identities;
    assert.notEqual(one![0], other![0]);
    assert.notEqual(one![1], other![1]);
  });

  function identify(dataDir: string): Promise<string[]> {
    return opened(dataDir, async (database) => {
      await migrate(database);
      const [system] = await database.query<{ id: string }>(readSystem);
      return [await readDatabaseIdentity(database), system!.id];
    });
  }

  test('takes steps of the schema that came after it', async () => {
    const next = readMigrations().at(-1)!.version + 1;
    const migrations = [
      ...readMigrations(),
      { version: next, name: 'next', sql: 'create table of_the_next (id text)' },
    ];
    await opened(initialise(prepared), async (database) => {
      assert.equal((await migrate(database, { migrations })).at(-1)!.version, next);
      await database.query({ name: 'test.of-the-next', text: 'select id from of_the_next' });
      assert.match(await readDatabaseIdentity(database), /^[0-9a-f-]{36}$/);
    });
  });

  test('is left as it is by a program that does not know its schema', async () => {
    await opened(initialise(prepared), async (database) => {
      const [baseline] = readMigrations();
      await assert.rejects(migrate(database, { migrations: [baseline!] }), SchemaError);
      assert.equal((await migrate(database)).length, readMigrations().length);
    });
  });

  test('is not used if its file is damaged: the engine makes a database itself', async () => {
    const file = join(directory, 'damaged.zst');
    const bytes = readFileSync(prepared);
    writeFileSync(file, bytes.fill(0x55, bytes.length - 4_000));
    await opened(initialise(file), async (database) => {
      const [found] = await database.query<{ is_there: boolean }>({
        name: 'test.find-prepared',
        text: `select to_regclass('prepared_schema') is not null as is_there`,
      });
      assert.equal(found!.is_there, false);
      assert.equal((await migrate(database)).length, readMigrations().length);
    });
  });

  test('is not unpacked from a part of its file', () => {
    const bytes = readFileSync(prepared);
    const key = preparedKey(readMigrations());
    for (const part of [bytes.subarray(0, 3), bytes.subarray(0, 300), bytes.subarray(0, -1_000)]) {
      assert.throws(() => unpack(part, key, join(directory, 'part')));
    }
    assert.equal(existsSync(join(directory, 'part')), false);
  });

  test('is packed and unpacked byte for byte, and only by its key', () => {
    const from = join(directory, 'from');
    mkdirSync(join(from, 'deep', 'empty'), { recursive: true });
    writeFileSync(join(from, 'deep', 'bytes'), randomBytes(100_000));
    writeFileSync(join(from, 'none'), '');
    const key = preparedKey(readMigrations());
    const packed = pack(from, key);
    assert.equal(unpack(packed, 'other', join(directory, 'none')), false);
    assert.equal(existsSync(join(directory, 'none')), false);
    assert.equal(unpack(packed, key, join(directory, 'copy')), true);
    assert.deepEqual(contentOf(join(directory, 'copy')), contentOf(from));
  });

  /** Every directory and file, and what is in it. */
  function contentOf(folder: string): [path: string, content: Buffer | null][] {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length), entry.isFile() ? readFileSync(path) : null];
    });
  }

  test('is made again for another schema', () => {
    const [first, ...others] = readMigrations();
    const key = preparedKey(readMigrations());
    assert.notEqual(preparedKey([{ ...first!, sql: `${first!.sql} ` }, ...others]), key);
    assert.notEqual(preparedKey([first!]), key);
  });
});
