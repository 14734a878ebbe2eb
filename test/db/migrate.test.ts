import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createGateway } from '../../src/app/gateway.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Database } from '../../src/db/database.ts';
import { migrate, migrationState, readMigrations } from '../../src/db/migrate.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { createBareDatabase, createTestDatabase, engines, type TestDatabase } from '../support/database.ts';
import { testConfigText } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';

const versions = readMigrations().map(({ version }) => version);

/** Everything that migrations make: tables with their columns, indexes, constraints, triggers. */
async function schemaOf(database: Database): Promise<unknown[]> {
  return database.query({
    name: 'test.schema',
    text: `select 'column' as kind, table_name || '.' || column_name as name, data_type || ' ' || is_nullable as detail
from information_schema.columns where table_schema = 'public'
union all select 'index', indexname, indexdef from pg_indexes where schemaname = 'public'
union all select 'constraint', conname, pg_get_constraintdef(oid) from pg_constraint where connamespace = 'public'::regnamespace
union all select 'trigger', tgname, pg_get_triggerdef(oid) from pg_trigger where not tgisinternal
order by 1, 2, 3`,
  });
}

async function appliedVersions(database: Database): Promise<number[]> {
  const states = await migrationState(database);
  return states.filter(({ appliedAt }) => appliedAt !== null).map(({ version }) => version);
}

/** Brings an empty database to a version that is not the newest. */
async function applyAsOlder(database: Database, newest: number): Promise<void> {
  await database.script(
    'create table schema_migrations (version integer primary key, name text not null, applied_at timestamptz default now())',
  );
  for (const { version, name, sql } of readMigrations().filter((migration) => migration.version <= newest)) {
    await database.script(sql);
    await database.script(`insert into schema_migrations (version, name) values (${version}, '${name}')`);
  }
}

const readCalls = { name: 'test.read-calls', text: 'select id from calls' };

/** As it is before a gateway starts for the first time. */
async function dropPartitions(database: Database): Promise<void> {
  await database.script(`do $$ declare partition text; begin
    for partition in select inhrelid::regclass::text from pg_inherits where inhparent = 'calls'::regclass loop
      if partition <> 'calls_default' then execute 'drop table ' || partition; end if;
    end loop;
  end $$`);
}

async function withDatabase(stored: TestDatabase, work: (stored: TestDatabase) => Promise<void>): Promise<void> {
  try {
    await work(stored);
  } finally {
    await stored.remove();
  }
}

for (const engine of engines) {
  describe(`${engine}: migrate`, { timeout: 300_000 }, () => {
    test('brings an empty database to the newest version, and the second time finds nothing to do', async () =>
      withDatabase(await createBareDatabase(engine), async ({ database }) => {
        assert.deepEqual(await appliedVersions(database), []);
        const applied = await migrate(database);
        assert.deepEqual(
          applied.map(({ version }) => version),
          versions,
        );
        assert.deepEqual(await appliedVersions(database), versions);
        const schema = await schemaOf(database);
        assert.ok(schema.length > 50);

        assert.deepEqual(await migrate(database), []);
        assert.deepEqual(await appliedVersions(database), versions);
        assert.deepEqual(await schemaOf(database), schema);
      }));

    test('waits for nodes of an earlier version to go, and refuses with their names if they do not', async () =>
      withDatabase(await createBareDatabase(engine), async ({ database }) => {
        const exclusive = readMigrations().findLast(({ sql }) => sql.startsWith('-- exclusive'))!;
        await migrate(database);
        await database.script(`delete from schema_migrations where version >= ${exclusive.version};
          insert into nodes (id, started_at, seen_at) values
            ('node_dead', now(), now() - interval '1 minute'), ('node_old', '2026-11-22T08:00:00Z', now());`);
        const told: string[] = [];
        const options = { onWaiting: (message: string) => void told.push(message), patienceMs: 20, pollMs: 5 };
        await assert.rejects(
          migrate(database, options),
          /nodes of an earlier one run: node_old \(started 2026-11-22 08:00:00 UTC\)\. Stop them first/,
        );
        assert.equal(told.length, 1);
        assert.ok(!(await appliedVersions(database)).includes(exclusive.version));

        // They go while it waits: then it goes on, to the step itself, whose tables are there already in this test.
        const gone = migrate(database, {
          patienceMs: 60_000,
          pollMs: 5,
          onWaiting: () => void database.script(`delete from nodes where id = 'node_old'`),
        });
        await assert.rejects(gone, /already exists/);
      }));

    test('leaves an empty database empty if a step fails, and completes it once the obstacle is gone', async () =>
      withDatabase(await createBareDatabase(engine), async ({ database }) => {
        await database.script('create table balances (in_the_way text)');
        await assert.rejects(migrate(database), /balances/);
        assert.deepEqual(await appliedVersions(database), []);
        await database.script('drop table balances');
        await migrate(database);
        assert.deepEqual(await appliedVersions(database), versions);
      }));

    test('goes on where an older program stopped', async () =>
      withDatabase(await createBareDatabase(engine), async ({ database }) => {
        const newest = versions.at(-1)!;
        await applyAsOlder(database, versions.at(-2)!);
        assert.deepEqual(await appliedVersions(database), versions.slice(0, -1));
        const applied = await migrate(database);
        assert.deepEqual(
          applied.map(({ version }) => version),
          [newest],
        );
        assert.deepEqual(await appliedVersions(database), versions);
      }));

    test('refuses a database of a newer program and says both versions; a gateway does not start on it', async () =>
      withDatabase(await createTestDatabase(engine), async ({ database }) => {
        await database.script(`insert into schema_migrations (version, name) values (9999, 'from_the_future')`);
        const before = await schemaOf(database);
        const refusal = new RegExp(
          `schema version 9999, but this program knows only ${versions.at(-1)}\\. Use a newer`,
        );
        await assert.rejects(migrate(database), refusal);
        await assert.rejects(
          createGateway({
            config: parseConfig(testConfigText('http://127.0.0.1:9'), 'test.yaml', {}),
            database,
            logger: silentLogger,
            adminTokens: [],
          }),
          refusal,
        );
        assert.deepEqual(await schemaOf(database), before);
      }));
  });

  describe(`${engine}: the partitions of the call records`, { timeout: 60_000 }, () => {
    test('are prepared for this month and the next two, as often as one likes', async () =>
      withDatabase(await createTestDatabase(engine), async ({ database }) => {
        await dropPartitions(database);
        const calls = createCallsStore(database);
        for (const instant of ['2026-11-20T00:00:00Z', '2026-11-20T00:00:00Z', '2026-12-31T23:59:59Z']) {
          await calls.preparePartitions(new Date(instant));
        }
        const partitions = await database.query<{ name: string }>({
          name: 'test.partitions',
          text: `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1`,
        });
        assert.deepEqual(
          partitions.map(({ name }) => name),
          ['calls_2026_11', 'calls_2026_12', 'calls_2027_01', 'calls_2027_02', 'calls_default'],
        );
      }));

    test('are an error if there is nothing to divide', async () =>
      withDatabase(await createBareDatabase(engine), async ({ database }) => {
        await assert.rejects(createCallsStore(database).preparePartitions(new Date('2026-11-20')), /calls/);
      }));

    // A machine that slept for months writes its first calls before the months are prepared.
    test('do not stop a start if records of such a month went to the default already', async () =>
      withDatabase(await createTestDatabase(engine), async ({ database }) => {
        await database.script(`insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider,
  provider_model, is_stream, status, request_id, input_tokens, cached_input_tokens, cache_write_tokens,
  cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule, prices)
values ('acct_1', 'call_1', '2027-06-15', '2027-06-15', 'k', 'balance', 'chat', 'm', 'p', 'pm', false, 'failed', 'r',
  0, 0, 0, 0, 0, 0, 'base', '{}')`);
        const calls = createCallsStore(database);
        await calls.preparePartitions(new Date('2027-06-20T00:00:00Z'));
        assert.equal((await calls.find('call_1'))?.accountId, 'acct_1');
        const partitions = await database.query<{ name: string }>({
          name: 'test.partitions',
          text: `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'calls'::regclass order by 1`,
        });
        assert.ok(partitions.some(({ name }) => name === 'calls_2027_07'));
      }));
  });
}

describe('postgresql: nodes that start at once', { timeout: 60_000 }, () => {
  test('migrate an empty database once, all of them successfully', async () =>
    withDatabase(await createBareDatabase('postgresql'), async ({ database, openAnother }) => {
      const nodes = Array.from({ length: 6 }, () => openAnother());
      try {
        await Promise.all(nodes.map((node) => migrate(node)));
        assert.deepEqual(await appliedVersions(database), versions);
        assert.deepEqual(await migrate(database), []);
      } finally {
        await Promise.all(nodes.map((node) => node.close()));
      }
    }));

  // Somebody reads a table in psql, and leaves the transaction open.
  test('wait for the lock that a step needs, say who holds it, and let others use the table meanwhile', async () =>
    withDatabase(await createBareDatabase('postgresql'), async ({ database, openAnother }) => {
      const node = openAnother();
      try {
        // Step 15 changes the table of call records.
        await applyAsOlder(database, 14);
        let migrating: Promise<unknown> | undefined;
        await database.transaction(async (transaction) => {
          await transaction.query(readCalls);
          await assert.rejects(
            migrate(node, { pollMs: 5, lockPatienceMs: 0 }),
            /others hold locks on its tables: process \d+ \(faregate, idle in transaction, since .*Z\) on .*calls.*End their/,
          );
          const told: string[] = [];
          const tried = Promise.withResolvers<void>();
          migrating = migrate(node, {
            pollMs: 5,
            onWaiting(message) {
              told.push(message);
              tried.resolve();
            },
          });
          await tried.promise;
          assert.match(
            told[0]!,
            /^The database is about to change .* locks that others hold: process \d+ \(faregate, /,
          );
          const stop = new AbortController();
          const stopped = migrate(node, { stopped: stop.signal, onWaiting: () => stop.abort(new Error('stopped')) });
          await assert.rejects(stopped, /^Error: stopped$/);
          // Whoever comes after a migration that waits for its lock has to wait for the migration.
          for (let i = 0; i < 3; i++) await database.query(readCalls);
          assert.ok(!(await appliedVersions(database)).includes(15));
        });
        await migrating;
        assert.deepEqual(await appliedVersions(database), versions);
      } finally {
        await node.close();
      }
    }));

  test('prepare the same partitions without getting into each other’s way', async () =>
    withDatabase(await createTestDatabase('postgresql'), async ({ database, openAnother }) => {
      await dropPartitions(database);
      const nodes = [openAnother(), openAnother()];
      try {
        let preparing: Promise<PromiseSettledResult<void>[]> | undefined;
        await database.transaction(async (transaction) => {
          await transaction.query({ name: 'test.lock', text: 'lock table calls in share update exclusive mode' });
          preparing = Promise.allSettled(
            nodes.map((node) => createCallsStore(node).preparePartitions(new Date('2026-11-20'))),
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
