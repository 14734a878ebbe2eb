import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { readMigrations } from '../../src/db/migrations.ts';
import { UPGRADE_FIRST } from '../../src/lib/earliest.ts';
import { runCommand } from '../support/command.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { temporaryDirectory } from '../support/process.ts';
import { sql } from '../support/sql.ts';

/** Commands select the right database, and neither create nor change one as a side effect. */

const READING = [
  ['account', 'list'],
  ['account', 'show', 'acct_1'],
  ['key', 'list', 'acct_1'],
  ['plan', 'show', 'acct_1'],
  ['calls'],
  ['usage'],
  ['statement', '--account', 'acct_1', '--month', '2026-10'],
  ['audit'],
];
const CHANGING = [
  ['account', 'create', 'eve'],
  ['account', 'verify', 'acct_1'],
  ['account', 'top-up', 'acct_1', '1'],
  ['key', 'create', 'acct_1'],
  ['key', 'limit', 'key_1'],
  ['key', 'revoke', 'key_1'],
  ['plan', 'grant', 'acct_1', 'demo-coding'],
  ['plan', 'renew', 'sub_1'],
  ['plan', 'cancel', 'sub_1'],
];

/** A reading and a changing command. */
const COMMANDS = [
  ['account', 'list'],
  ['account', 'create', 'eve'],
];

interface Result {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** The options and environment that select a database. */
interface Where {
  readonly url: string;
  readonly dataDir?: string;
}

async function cli({ url, dataDir = '' }: Where, ...given: string[]): Promise<Result> {
  const { code, stdout, stderr } = await runCommand(given, { DATABASE_URL: url, FAREGATE_DATA_DIR: dataDir });
  return { code, out: stdout, error: stderr };
}

/** Every table, index and sequence, with row counts. */
async function contentOf(database: Database): Promise<string[]> {
  const relations = await sql<{ name: string; rows: string }>(
    database,
    `select relname as name, case when relkind = 'r' then
  (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %I', relname), false, true, '')))[1]::text
  else '-' end as rows
from pg_class where relnamespace = 'public'::regnamespace order by relname`,
  );
  return relations.map(({ name, rows }) => `${name} ${rows}`);
}

/** Prepares a database, runs commands on it, and returns its contents before and after. */
async function around(
  stored: TestDatabase,
  prepare: (database: Database) => Promise<void>,
  work: (where: Where) => Promise<void>,
): Promise<{ before: string[]; after: string[] }> {
  try {
    await prepare(stored.database);
    const before = await contentOf(stored.database);
    await work({ url: stored.url });
    return { before, after: await contentOf(stored.database) };
  } finally {
    await stored.remove();
  }
}

async function expectRefusals(
  where: Where,
  sentence: RegExp,
  commands: readonly string[][],
  exitCode = 1,
): Promise<void> {
  for (const given of commands) {
    const { code, out, error } = await cli(where, ...given);
    assert.deepEqual([code, out], [exitCode, ''], given.join(' '));
    assert.match(error, sentence);
    assert.equal(error.split('\n').length, 2, error);
  }
}

describe('a command without a local database', () => {
  for (const isDirectoryThere of [false, true]) {
    it(`says what to run, and creates nothing in a directory that ${isDirectoryThere ? 'exists' : 'does not exist'}`, async () => {
      const directory = temporaryDirectory();
      try {
        const dataDir = join(directory.path, 'data');
        if (isDirectoryThere) mkdirSync(dataDir);
        for (const given of [...READING, ...CHANGING, ['db', 'status']]) {
          const message = `There is no database in ${dataDir}. Create one with "faregate db migrate", or start the gateway, which creates it: faregate serve`;
          const location = { url: '', dataDir };
          assert.deepEqual(await cli(location, ...given), { code: 5, out: '', error: `${message}\n` });
          const { code, out, error } = await cli(location, ...given, '--json');
          assert.deepEqual([code, JSON.parse(out), error], [5, { error: { message } }, '']);
        }
        assert.deepEqual(isDirectoryThere ? readdirSync(dataDir) : existsSync(dataDir), isDirectoryThere ? [] : false);
      } finally {
        directory.remove();
      }
    });
  }

  it('works after db migrate, which creates the database', { timeout: 120_000 }, async () => {
    const directory = temporaryDirectory();
    try {
      const location = { url: '', dataDir: join(directory.path, 'data') };
      const migrated = await cli(location, 'db', 'migrate', '--json');
      assert.deepEqual([migrated.code, migrated.error], [0, `database: local, in ${location.dataDir}\n`]);
      assert.equal(JSON.parse(migrated.out).length, readMigrations().length);
      assert.equal((await cli(location, 'account', 'create', 'eve')).code, 0);
    } finally {
      directory.remove();
    }
  });
});

describe('a command whose server has no such database', () => {
  it('reports that, and what to run', async () => {
    const stored = await createBareDatabase();
    await stored.remove();
    await expectRefusals(
      stored,
      /^The server has no such database\. Check DATABASE_URL, or create it with createdb: database "test_\w+" does not exist\n$/,
      [
        ['account', 'list'],
        ['account', 'create', 'eve'],
        ['db', 'status'],
        ['db', 'migrate'],
      ],
      5,
    );
  });
});

describe(`a command`, { timeout: 300_000 }, () => {
  const name = /^database: PostgreSQL, test_\w+ at \S+\n$/;
  it('refuses a database without tables, and says what to run', async () => {
    const { before, after } = await around(
      await createBareDatabase(),
      async () => undefined,
      async (stored) => {
        await expectRefusals(
          stored,
          /^The database has no Faregate tables yet; create them: faregate db migrate\n$/,
          COMMANDS,
        );
        const status = await cli(stored, 'db', 'status');
        assert.equal(status.code, 0);
        assert.match(status.out, /^ +44 {2}baseline +not yet$/m);
        assert.match(status.error, name);
      },
    );
    assert.deepEqual(after, before);
  });

  it('that reads prints on standard error which database it reads, and changes nothing in it', async () => {
    const { before, after } = await around(
      await createTestDatabase(),
      async (database) => {
        await createAccountIn(database, {
          id: 'acct_1',
          name: '李小龙',
          email: null,
          verified: true,
          dailyCapNano: null,
          at: new Date(0),
        });
      },
      async (stored) => {
        for (const given of READING) {
          const { code, out, error } = await cli(stored, ...given, '--json');
          assert.equal(code, 0, error);
          assert.match(error, name);
          JSON.parse(out);
        }
        const changed = await cli(stored, 'account', 'verify', 'acct_1', '--revoke');
        assert.deepEqual([changed.code, changed.error], [0, '']);
      },
    );
    // The last command is recorded in the audit log.
    assert.deepEqual(
      after,
      before.map((line) => (line === 'changes 0' ? 'changes 1' : line)),
    );
    assert.ok(before.includes('accounts 1'));
  });
});

describe('a command', { timeout: 300_000 }, () => {
  it('refuses a schema that is too old, and says what to do first', async () => {
    const { before, after } = await around(
      await createTestDatabase(),
      (database) =>
        database.script(
          `delete from schema_migrations; insert into schema_migrations (version, name) values (41, 'older')`,
        ),
      (stored) =>
        expectRefusals(
          stored,
          new RegExp(
            `^The database is at schema version 41, but this program reads only version 44 and later\\. ${UPGRADE_FIRST}\n$`,
          ),
          [...COMMANDS, ['db', 'status'], ['db', 'migrate']],
        ),
    );
    assert.deepEqual(after, before);
  });

  it('refuses a schema without the newest migration, and says what to run; db status shows it as missing', async () => {
    const [before, newest] = readMigrations().slice(-2);
    const content = await around(
      await createTestDatabase(),
      (database) => database.script(`delete from schema_migrations where version = ${newest!.version}`),
      async (stored) => {
        const sentence = new RegExp(
          `^The database is at schema version ${before!.version}, but this program needs ${newest!.version}; migrate it: faregate db migrate\n$`,
        );
        await expectRefusals(stored, sentence, COMMANDS);
        assert.match((await cli(stored, 'db', 'status')).out, new RegExp(` ${newest!.name} +not yet$`, 'm'));
      },
    );
    assert.deepEqual(content.after, content.before);
  });

  it('refuses a newer schema, and says which program to use', async () => {
    const { before, after } = await around(
      await createTestDatabase(),
      (database) => database.script(`insert into schema_migrations (version, name) values (9999, 'from_the_future')`),
      (stored) =>
        expectRefusals(
          stored,
          /^The database is at schema version 9999, but this program supports only \d+\. Use a newer version of Faregate\.\n$/,
          [...COMMANDS, ['db', 'status'], ['db', 'migrate']],
        ),
    );
    assert.deepEqual(after, before);
  });
});
