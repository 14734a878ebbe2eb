import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createGateway } from '../../src/app/gateway.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate, migrationState } from '../../src/db/migrate.ts';
import { type Migration, readMigrations } from '../../src/db/migrations.ts';
import { UPGRADE_FIRST } from '../../src/lib/earliest.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { catalogOf } from '../support/catalog.ts';
import { createBareDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { testConfigText } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';
import { servedOf } from '../support/spread-database.ts';
import { sql } from '../support/sql.ts';

const versions = readMigrations().map(({ version }) => version);

async function appliedVersions(database: Database): Promise<number[]> {
  const states = await migrationState(database);
  return states.filter(({ appliedAt }) => appliedAt !== null).map(({ version }) => version);
}

const [baseline] = readMigrations();
const NEXT = versions.at(-1)! + 1;

/** The migrations of this program and a later one. */
const withNext = (sql: string): Migration[] => [...readMigrations(), { version: NEXT, name: 'next', sql }];

/** The result of migrations before the baseline. */
async function recordOlder(database: Database, older: readonly number[]): Promise<void> {
  const rows = older.map((version) => `(${version}, 'older')`).join(', ');
  await database.script(`insert into schema_migrations (version, name) values ${rows}`);
}

function startOn(database: Database): Promise<unknown> {
  return createGateway({
    config: parseConfig(testConfigText('http://127.0.0.1:9'), 'test.yaml', {}),
    databases: servedOf(database),
    logger: silentLogger,
    adminTokens: [],
  });
}

const readCalls = { name: 'test.read-calls', text: 'select id from calls' };

/** The state before a gateway starts for the first time. */
async function dropPartitions(database: Database): Promise<void> {
  await database.script(`do $$ declare partition text; begin
    for partition in select inhrelid::regclass::text from pg_inherits where inhparent = 'calls'::regclass loop
      if partition <> 'calls_default' then execute 'drop table ' || partition; end if;
    end loop;
  end $$`);
}

const insertCall = (id: string, at: string): string =>
  `insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider,
  provider_model, is_stream, status, request_id, input_tokens, cached_input_tokens, cache_write_tokens,
  cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule, prices)
values ('acct_1', '${id}', '${at}', '${at}', 'k', 'balance', 'chat', 'm', 'p', 'pm', false, 'failed', 'r',
  0, 0, 0, 0, 0, 0, 'base', '{}')`;

async function withDatabase(stored: TestDatabase, work: (stored: TestDatabase) => Promise<void>): Promise<void> {
  try {
    await work(stored);
  } finally {
    await stored.remove();
  }
}

describe(`migrate`, { timeout: 300_000 }, () => {
  test('migrates an empty database to the newest version, and finds nothing to do the second time', async () =>
    withDatabase(await createBareDatabase(), async ({ database }) => {
      assert.deepEqual(await appliedVersions(database), []);
      const applied = await migrate(database);
      assert.deepEqual(
        applied.map(({ version }) => version),
        versions,
      );
      assert.deepEqual(await appliedVersions(database), versions);
      const schema = await catalogOf(database);
      assert.ok(schema.length > 500);

      assert.deepEqual(await migrate(database), []);
      assert.deepEqual(await appliedVersions(database), versions);
      assert.deepEqual(await catalogOf(database), schema);
    }));

  test('waits for nodes of the previous version to stop, and otherwise fails with their names', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      const migrations = withNext('-- exclusive: for this test.\ncreate table of_the_next (id text)');
      await database.script(`insert into nodes (id, started_at, seen_at) values
            ('node_dead', now(), now() - interval '1 minute'), ('node_old', '2026-11-22T08:00:00Z', now());`);
      const progress: string[] = [];
      const options = {
        migrations,
        onWaiting: (message: string) => void progress.push(message),
        patienceMs: 20,
        pollMs: 5,
      };
      await assert.rejects(
        migrate(database, options),
        /nodes of an earlier version are running: node_old \(started 2026-11-22 08:00:00 UTC\)\. Stop them first/,
      );
      assert.equal(progress.length, 1);
      assert.deepEqual(await appliedVersions(database), versions);

      // The nodes stop while it waits; then it continues.
      const applied = await migrate(database, {
        migrations,
        patienceMs: 60_000,
        pollMs: 5,
        onWaiting: () => void database.script(`delete from nodes where id = 'node_old'`),
      });
      assert.deepEqual(
        applied.map(({ version }) => version),
        [NEXT],
      );
    }));

  test('leaves an empty database empty if a migration fails, and completes it once the obstacle is gone', async () =>
    withDatabase(await createBareDatabase(), async ({ database }) => {
      await database.script('create table balances (in_the_way text)');
      await assert.rejects(migrate(database), /balances/);
      assert.deepEqual(await appliedVersions(database), []);
      await database.script('drop table balances');
      await migrate(database);
      assert.deepEqual(await appliedVersions(database), versions);
    }));

  for (const isOld of [true, false]) {
    test(`continues at the baseline of a database created by ${isOld ? 'earlier migrations' : 'it'}`, async () =>
      withDatabase(await createTestDatabase(), async ({ database }) => {
        if (isOld) await recordOlder(database, [1, 41]);
        assert.deepEqual(await migrate(database), []);
        const catalog = await catalogOf(database);
        const applied = await migrate(database, { migrations: withNext('create table of_the_next (id text)') });
        assert.deepEqual(
          applied.map(({ version }) => version),
          [NEXT],
        );
        assert.deepEqual(
          (await catalogOf(database)).filter((line) => !line.includes('of_the_next')),
          catalog,
        );
        await assert.rejects(migrate(database), new RegExp(`schema version ${NEXT}, but this program supports only`));
      }));
  }

  test('refuses a database older than the baseline, names the commit to start with, and changes nothing', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      await database.script('delete from schema_migrations');
      await recordOlder(database, [1, 41]);
      const before = await catalogOf(database);
      const refusal = new RegExp(
        `The database is at schema version 41, but this program reads only version ${baseline!.version} and later\\. ${UPGRADE_FIRST}$`,
      );
      await assert.rejects(migrate(database), refusal);
      await assert.rejects(startOn(database), refusal);
      assert.deepEqual(await catalogOf(database), before);
      const rows = await sql<{ version: number }>(database, 'select version from schema_migrations order by version');
      assert.deepEqual(rows, [{ version: 1 }, { version: 41 }]);
    }));

  test('refuses a database of a newer program with both versions; a gateway does not start on it', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      await database.script(`insert into schema_migrations (version, name) values (9999, 'from_the_future')`);
      const before = await catalogOf(database);
      const refusal = new RegExp(
        `schema version 9999, but this program supports only ${versions.at(-1)}\\. Use a newer`,
      );
      await assert.rejects(migrate(database), refusal);
      await assert.rejects(startOn(database), refusal);
      assert.deepEqual(await catalogOf(database), before);
    }));
});

describe(`the partitions of the call records`, { timeout: 60_000 }, () => {
  test('are prepared for this month and the next two, repeatably', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      await dropPartitions(database);
      const calls = createCallsStore(database);
      for (const instant of ['2026-11-20T00:00:00Z', '2026-11-20T00:00:00Z', '2026-12-31T23:59:59Z']) {
        await calls.prepareMonths(new Date(instant));
      }
      const partitions = await sql<{ name: string }>(
        database,
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1`,
      );
      assert.deepEqual(
        partitions.map(({ name }) => name),
        ['calls_2026_11', 'calls_2026_12', 'calls_2027_01', 'calls_2027_02', 'calls_default'],
      );
    }));

  // Adding a record to pages with a bloom filter also updates the filter, which takes longer than the record.
  test('have no filters for pages that receive new records', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      const calls = createCallsStore(database);
      const [past, now] = ['2031-02-10T00:00:00Z', '2031-03-10T00:00:00Z'];
      await calls.prepareMonths(new Date(past));
      for (const at of [past, now]) await database.script(insertCall(`call_${at}`, at));
      const madeOf = async (month: string): Promise<number> => {
        const [made] = await sql<{ filters: number }>(
          database,
          `select brin_summarize_range(inhrelid::regclass, 0) as filters from pg_inherits join pg_index on indexrelid = inhrelid
where inhparent = 'calls_by_request'::regclass and indrelid = 'calls_2031_${month}'::regclass`,
        );
        return made!.filters;
      };
      assert.deepEqual([await madeOf('02'), await madeOf('03')], [1, 1]);
      assert.deepEqual([await madeOf('02'), await madeOf('03')], [0, 0]);
      await calls.summariseRequestIds(new Date(now));
      assert.deepEqual([await madeOf('02'), await madeOf('03')], [0, 1]);
      assert.equal((await calls.findByRequest('r', 10)).length, 2);
    }));

  // The row of an index must fit into a page, and the statement of a call that makes it larger fails.
  test('have filters that take any number of ids', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      const calls = createCallsStore(database);
      const at = '2031-02-10T00:00:00Z';
      await calls.prepareMonths(new Date(at));
      const insertMany = (from: number, to: number): string =>
        insertCall('$id', at)
          .replace('request_id,', 'request_id, client_request_id,')
          .replace("'r',", 'md5(n::text), md5((-n)::text),')
          .replace('values (', 'select ')
          .replace("'$id'", "'call_' || n")
          .replace(/\)$/, ` from generate_series(${from}, ${to}) as n`);
      await database.script(insertMany(1, 100));
      await database.script(
        `select brin_summarize_new_values(inhrelid::regclass) from pg_inherits where inhparent = 'calls_by_request'::regclass`,
      );
      await database.script(insertMany(101, 10_000));
      assert.equal((await calls.findByRequest(createHash('md5').update('9000').digest('hex'), 10)).length, 1);
    }));

  test('are an error if there is no partitioned table', async () =>
    withDatabase(await createBareDatabase(), async ({ database }) => {
      await assert.rejects(createCallsStore(database).prepareMonths(new Date('2026-11-20')), /calls/);
    }));

  // A machine that slept for months writes its first calls before the months are prepared.
  test('do not stop a start if records of such a month are in the default partition already', async () =>
    withDatabase(await createTestDatabase(), async ({ database }) => {
      await database.script(insertCall('call_1', '2027-06-15'));
      const calls = createCallsStore(database);
      await calls.prepareMonths(new Date('2027-06-20T00:00:00Z'));
      assert.equal((await calls.find('call_1'))?.accountId, 'acct_1');
      const partitions = await sql<{ name: string }>(
        database,
        `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1`,
      );
      assert.ok(partitions.some(({ name }) => name === 'calls_2027_07'));
    }));
});

describe('nodes that start at once', { timeout: 60_000 }, () => {
  test('migrate an empty database once, and all succeed', async () =>
    withDatabase(await createBareDatabase(), async ({ database, openAnother }) => {
      const nodes = Array.from({ length: 6 }, () => openAnother());
      try {
        await Promise.all(nodes.map((node) => migrate(node)));
        assert.deepEqual(await appliedVersions(database), versions);
        assert.deepEqual(await migrate(database), []);
      } finally {
        await Promise.all(nodes.map((node) => node.close()));
      }
    }));

  // Somebody reads a table in psql and leaves the transaction open.
  test('wait for the lock that a migration needs, name who holds it, and let others use the table meanwhile', async () =>
    withDatabase(await createTestDatabase(), async ({ database, openAnother }) => {
      const node = openAnother();
      const migrations = withNext('alter table calls add column of_the_next text');
      try {
        let migrating: Promise<unknown> | undefined;
        await database.transaction(async (transaction) => {
          await transaction.query(readCalls);
          await assert.rejects(
            migrate(node, { migrations, pollMs: 5, lockPatienceMs: 0 }),
            /others hold locks on its tables: process \d+ \(faregate, idle in transaction, since .*Z\) on .*calls.*End their/,
          );
          const progress: string[] = [];
          const tried = Promise.withResolvers<void>();
          migrating = migrate(node, {
            migrations,
            pollMs: 5,
            onWaiting(message) {
              progress.push(message);
              tried.resolve();
            },
          });
          await tried.promise;
          assert.match(
            progress[0]!,
            /^The database is about to be migrated.* locks held by others: process \d+ \(faregate, /,
          );
          const stop = new AbortController();
          const stopped = migrate(node, {
            migrations,
            stopped: stop.signal,
            onWaiting: () => stop.abort(new Error('stopped')),
          });
          await assert.rejects(stopped, /^Error: stopped$/);
          // Whoever comes after a migration that waits for its lock has to wait for the migration.
          for (let i = 0; i < 3; i++) await database.query(readCalls);
          assert.deepEqual(await appliedVersions(database), versions);
        });
        await migrating;
        assert.ok((await catalogOf(database)).some((line) => line.includes('of_the_next')));
      } finally {
        await node.close();
      }
    }));

  test('prepare the same partitions without conflicts', async () =>
    withDatabase(await createTestDatabase(), async ({ database, openAnother }) => {
      await dropPartitions(database);
      const nodes = [openAnother(), openAnother()];
      try {
        let preparing: Promise<PromiseSettledResult<void>[]> | undefined;
        await database.transaction(async (transaction) => {
          await sql(transaction, 'lock table calls in share update exclusive mode');
          preparing = Promise.allSettled(
            nodes.map((node) => createCallsStore(node).prepareMonths(new Date('2026-11-20'))),
          );
          // Both have seen that the partitions are missing, and now wait to create them.
          await locksAwaited(database, nodes.length);
        });
        assert.deepEqual(await preparing, [
          { status: 'fulfilled', value: undefined },
          { status: 'fulfilled', value: undefined },
        ]);
      } finally {
        await Promise.all(nodes.map((node) => node.close()));
      }
    }));
});
