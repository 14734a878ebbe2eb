import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { tablesIn } from '../../scripts/sql-tables.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { createGateway } from '../../src/app/gateway.ts';
import type { GatewayOptions } from '../../src/app/gateway-options.ts';
import { parseConfig } from '../../src/config/load.ts';
import type { Database, Queryable } from '../../src/db/database.ts';
import { type DatabaseLocation, type Databases, openDatabases } from '../../src/db/databases.ts';
import { HOMES, type Table } from '../../src/db/homes.ts';
import { migrate } from '../../src/db/migrate.ts';
import { linesByHome, type Migration, readMigrations } from '../../src/db/migrations.ts';
import { createNodeStore } from '../../src/db/nodes/nodes-store.ts';
import { addPartition, makePartitions, migrateAll } from '../../src/db/partitions.ts';
import { readPartitions } from '../../src/db/partitions-store.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { catalogOf } from '../support/catalog.ts';
import { createBareDatabase } from '../support/database.ts';
import { testConfigText } from '../support/gateway.ts';
import { locksAwaited } from '../support/locks.ts';
import { observeDatabase } from '../support/observed-database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { sql } from '../support/sql.ts';

const TABLES = Object.keys(HOMES) as Table[];
const OF_PARTITION = TABLES.filter((table) => HOMES[table] === 'partition');
const NEXT = readMigrations().at(-1)!.version + 1;
/** The migration that created the table of partitions. */
const FIRST_WITH_PARTITIONS = 50;

/** The migrations of this program and a later one. */
const withNext = (sql: string): Migration[] => [...readMigrations(), { version: NEXT, name: 'next', sql }];

/** A schema's definitions, without those that partitions lack. */
async function dropDirectory(directory: Database): Promise<void> {
  const tables = TABLES.filter((table) => HOMES[table] === 'directory' && table !== 'schema_migrations');
  await directory.script(`drop table ${tables.join(', ')} cascade`);
}

/** A schema's definitions, with its name removed. */
async function schemaText(database: Database, schema: string): Promise<string[]> {
  return (await catalogOf(database)).map((line) => line.replaceAll(`${schema}.`, '')).sort();
}

async function rowsOfTables(database: Database): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const table of OF_PARTITION) {
    const read = await sql<{ row: string }>(database, `select to_jsonb(t)::text as row from ${table} t`);
    if (read.length > 0) found[table] = read.map(({ row }) => row).sort();
  }
  return found;
}

async function versionsOf(database: Queryable): Promise<number[]> {
  const found = await sql<{ version: number }>(database, 'select version from schema_migrations order by version');
  return found.map(({ version }) => version);
}

const schemasOf = async ({ directory }: Databases): Promise<unknown[]> =>
  (await readPartitions(directory)).map(({ number, schema }) => [number, schema]);

async function openDatabasesAt(location: DatabaseLocation): Promise<Databases & AsyncDisposable> {
  const databases = await openDatabases(location, silentLogger);
  return { ...databases, [Symbol.asyncDispose]: () => databases.close() };
}

function startOn(databases: GatewayOptions['databases'], wanted = 1, logger = silentLogger) {
  const config = parseConfig(testConfigText('http://127.0.0.1:9'), 'test.yaml', {});
  return createGateway({
    config: { ...config, database: { ...config.database, partitions: wanted } },
    databases,
    logger,
    adminTokens: [],
  });
}

async function withPartitions(
  partitions: number,
  work: (databases: Databases, stored: PartitionedDatabase) => Promise<void>,
): Promise<void> {
  await using stored = await createPartitioned(partitions);
  await work(stored.databases, stored);
}

describe('a migration', () => {
  it('declares the home of its statements, which use only tables of that home', () => {
    const known: ReadonlySet<string> = new Set(TABLES);
    for (const { version, sql } of readMigrations()) {
      const { before: first, ...byHome } = linesByHome(sql);
      assert.doesNotMatch(first, /^(?!--|$)/m, `a statement of step ${version} stands before "-- home: …"`);
      for (const [home, text] of Object.entries(byHome)) {
        const indexed = [...text.matchAll(/\bon (?:only )?(\w+)/g)].map((match) => match[1]!);
        const tables = [...tablesIn(text, known), ...indexed.filter((name) => known.has(name))] as Table[];
        for (const table of tables) assert.equal(HOMES[table], home, `step ${version}: ${table}`);
      }
    }
  });
});

describe(`a new partition`, { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let databases: Databases;
  let partition: Database;
  before(async () => {
    stored = await createPartitioned(2);
    databases = stored.databases;
    partition = databases.partitions[1]!;
  });
  after(() => stored?.remove());

  it('is registered in the directory, is current, and has the same initial rows', async () => {
    assert.deepEqual(await schemasOf(databases), [
      [0, null],
      [1, 'faregate_01'],
    ]);
    assert.deepEqual(await versionsOf(partition), await versionsOf(databases.directory));
    const first = await rowsOfTables(partition);
    assert.deepEqual(Object.keys(first), ['usage_backfill']);
    assert.deepEqual(first, await rowsOfTables(databases.directory));
    assert.deepEqual(await migrateAll(databases), []);
  });

  it('prepares its own months', async () => {
    const months = async (database: Database): Promise<string[]> => {
      const found = await sql<{ name: string }>(
        database,
        `select relname::text as name from pg_class where relnamespace = current_schema()::regnamespace and relname ~ '^calls_2031_\\d\\d$'`,
      );
      return found.map(({ name }) => name).sort();
    };
    await createCallsStore(partition).prepareMonths(new Date('2031-02-10T00:00:00Z'));
    assert.deepEqual(await months(partition), ['calls_2031_02', 'calls_2031_03', 'calls_2031_04']);
    assert.deepEqual(await months(databases.directory), []);
  });

  it('sees no table of the directory', async () => {
    await assert.rejects(sql(partition, 'select id from accounts'), { code: '42P01' });
  });

  // The last test, because it removes the directory.
  it('has exactly the tables that all migrations created in the directory’s schema', async () => {
    await dropDirectory(databases.directory);
    const made = await schemaText(partition, 'faregate_01');
    assert.ok(made.length > 400, `${made.length} lines`);
    assert.deepEqual(made, await schemaText(databases.directory, 'public'));
    await databases.directory.script('alter table calls add column of_the_next text');
    assert.notDeepEqual(made, await schemaText(databases.directory, 'public'));
  });
});

describe(`partitions`, { timeout: 120_000 }, () => {
  it('are migrated in order; a failing one is named, and the next run continues there', () =>
    withPartitions(4, async (databases) => {
      const [directory, first, second, third] = databases.partitions;
      const migrations = withNext('-- home: partition\ncreate table of_the_next (id text);');
      const before = await versionsOf(directory!);
      await second!.script('create table of_the_next (in_the_way text)');
      for (let times = 0; times < 2; times++) {
        await assert.rejects(migrateAll(databases, { migrations }), (error: Error) => {
          assert.match(
            error.message,
            /^Partition 2 \(schema faregate_02\) could not be migrated and is unchanged: .*"of_the_next" already exists\. /,
          );
          assert.match(error.message, /then continue: faregate db migrate$/);
          return true;
        });
        for (const done of [directory!, first!]) assert.deepEqual(await versionsOf(done), [...before, NEXT]);
        for (const left of [second!, third!]) assert.deepEqual(await versionsOf(left), before);
      }
      await second!.script('drop table of_the_next');
      assert.deepEqual(await migrateAll(databases, { migrations }), [
        { partition: 2, version: NEXT, name: 'next' },
        { partition: 3, version: NEXT, name: 'next' },
      ]);
      for (const each of databases.partitions) {
        assert.deepEqual(await versionsOf(each), [...before, NEXT]);
        assert.deepEqual(await sql(each, 'select id from of_the_next'), []);
      }
    }));

  it('apply their lines of a migration, and record the others', () =>
    withPartitions(2, async (databases) => {
      const migrations = withNext(
        '-- home: directory\ncreate table of_directory (id text);\n-- home: partition\ncreate table of_both (id text);',
      );
      assert.deepEqual(
        (await migrateAll(databases, { migrations })).map(({ partition }) => partition),
        [0, 1],
      );
      const [directory, partition] = databases.partitions;
      assert.deepEqual(await sql(directory!, 'select 1 from of_directory, of_both'), []);
      assert.deepEqual(await sql(partition!, 'select 1 from of_both'), []);
      await assert.rejects(sql(partition!, 'select 1 from of_directory'), { code: '42P01' });
    }));

  it('are all opened and used, and closed together', () =>
    withPartitions(3, async (_databases, stored) => {
      const databases = await stored.reopen();
      assert.equal(databases.partitions.length, 3);
      assert.equal(databases.partitions[0], databases.directory);
      const gateway = await startOn(databases);
      await gateway.close();
      for (const each of databases.partitions) await assert.rejects(sql(each, 'select 1'));
    }));

  it('are refused by a gateway if one is added while it starts', () =>
    withPartitions(1, async (databases) => {
      const { database, statement } = observeDatabase(databases.directory);
      const beat = statement('nodes.beat');
      beat.hold();
      const starting = startOn({ ...databases, directory: database, partitions: [database] });
      await beat.reached(1);
      await addPartition(databases);
      beat.release();
      await assert.rejects(starting, /has a partition 1 that was added .* restart the program\.$/);
    }));

  it('added while a node writes its first heartbeat are counted by it', () =>
    withPartitions(1, async ({ directory }, { location }) => {
      await using node = await openDatabasesAt(location);
      const beating = await directory.transaction(async (transaction) => {
        await sql(transaction, 'lock table nodes in share mode');
        const waiting = createNodeStore(node.directory).beat('node_1');
        await locksAwaited(directory, 1);
        await sql(transaction, `insert into partitions (number, schema) values (1, 'faregate_01')`);
        return [waiting] as const;
      });
      assert.equal((await beating[0]).partitions, 2);
    }));

  it('are refused if one is missing, damaged, newer or not a partition, with its name', () =>
    withPartitions(3, async (databases) => {
      const [, first, second] = databases.partitions;
      const refused = (words: RegExp) => assert.rejects(startOn(databases), words);
      await first!.script(`insert into schema_migrations (version, name) values (9999, 'from_the_future')`);
      await refused(
        /^SchemaError: Partition 1 \(schema faregate_01\) is at schema version 9999, but this program supports only \d+\. Use a newer/,
      );
      await first!.script('delete from schema_migrations');
      await refused(/^SchemaError: Partition 1 \(schema faregate_01\) is damaged/);
      await first!.script('drop schema faregate_01 cascade');
      await refused(/^SchemaError: Partition 1 \(schema faregate_01\) is missing: .*account balances\.$/);
      await first!.script(`create schema faregate_01; comment on schema faregate_01 is 'mine'`);
      await refused(
        /^SchemaError: Partition 1 \(schema faregate_01\) is missing: the schema with that name is "mine"\. /,
      );
      assert.deepEqual(await versionsOf(second!), await versionsOf(databases.directory));
    }));

  // With a pooler that does not pass on options, everything would be written into the directory's schema.
  it('are refused through connections in another schema', () =>
    withPartitions(2, async (databases) => {
      const { directory } = databases;
      await assert.rejects(
        startOn({ ...databases, partitions: [directory, directory] }),
        /^SchemaError: Partition 1 \(schema faregate_01\) cannot be reached: its connections are in the schema public\. /,
      );
    }));

  it('are created completely or not at all', () =>
    withPartitions(1, async (databases) => {
      const migrations = withNext('-- home: partition\ncreate table balances (in_the_way text);');
      await assert.rejects(
        addPartition(databases, { migrations }),
        /^SchemaError: Partition 1 \(schema faregate_01\) could not be created: .*"balances" already exists\. Fix the cause/,
      );
      assert.deepEqual(await schemasOf(databases), [[0, null]]);
      const schemas = `select nspname from pg_namespace where nspname ~ '^faregate_'`;
      assert.deepEqual(await sql(databases.directory, schemas), []);
      assert.equal(await addPartition(databases), 1);
      assert.equal(databases.partitions.length, 2);
      assert.deepEqual(await migrateAll(databases), []);
    }));

  it('are not created in an existing schema, and get the same number once it is gone', () =>
    withPartitions(1, async (databases) => {
      await databases.directory.script('create schema faregate_01; create table faregate_01.balances (id text)');
      for (let times = 0; times < 2; times++) {
        await assert.rejects(
          addPartition(databases),
          /^SchemaError: Partition 1 .* could not be created: .*"faregate_01" already exists\. Check what/,
        );
        assert.deepEqual(await schemasOf(databases), [[0, null]]);
      }
      await databases.directory.script('drop schema faregate_01 cascade');
      assert.equal(await addPartition(databases), 1);
    }));

  it('are created by a gateway up to the configured number, and never removed', () =>
    withPartitions(1, async (_databases, stored) => {
      for (const [wanted, there] of [
        [3, 3],
        [2, 3],
      ] as const) {
        const logs = recordLogs();
        const gateway = await startOn(await stored.reopen(), wanted, logs.logger);
        await gateway.close();
        const reopened = await stored.reopen();
        assert.equal((await readPartitions(reopened.directory)).length, there);
        assert.deepEqual(
          logs.lines
            .filter(({ message }) => message.includes('partitions'))
            .map(({ details, message }) => [details, /were created|cannot be removed/.exec(message)?.[0]]),
          wanted === 3
            ? [[{ partitions: [1, 2] }, 'were created']]
            : [[{ configured: 2, partitions: 3 }, 'cannot be removed']],
        );
      }
    }));

  it('are limited to a hundred', () =>
    withPartitions(1, async (databases) => {
      await sql(
        databases.directory,
        `insert into partitions (number, schema) select n, 'faregate_' || lpad(n::text, 2, '0') from generate_series(1, 99) n`,
      );
      await assert.rejects(addPartition(databases), /has 100 partitions, which is the maximum/);
    }));

  it('are none in a database of an earlier version', async () => {
    await using stored = await createBareDatabase();
    const [before, rest] = [true, false].map((isBefore) =>
      readMigrations().filter(({ version }) => version < FIRST_WITH_PARTITIONS === isBefore),
    );
    await migrate(stored.database, { migrations: before! });
    const databases = await openDatabases({ url: stored.url, dataDir: '' }, silentLogger);
    try {
      assert.equal(databases.partitions.length, 1);
      assert.equal((await migrateAll(databases)).length, rest!.length);
      assert.deepEqual(await schemasOf(databases), [[0, null]]);
    } finally {
      await databases.close();
    }
  });
});

describe('partitions and several nodes', { timeout: 120_000 }, () => {
  it('are migrated once if all nodes start at once', () =>
    withPartitions(3, async (databases, { location }) => {
      const migrations = withNext('-- home: partition\ncreate table of_the_next (id text);');
      const others = await Promise.all([1, 2, 3].map(() => openDatabases(location, silentLogger)));
      try {
        const applied = await Promise.all([databases, ...others].map((each) => migrateAll(each, { migrations })));
        assert.ok(applied.some((steps) => steps.length > 0));
        for (const each of databases.partitions) assert.equal((await versionsOf(each)).at(-1), NEXT);
      } finally {
        for (const each of others) await each.close();
      }
    }));

  it('are created up to the wanted number if all nodes start at once', () =>
    withPartitions(1, async ({ directory }, { location }) => {
      const nodes = await Promise.all([1, 2, 3, 4].map(() => openDatabases(location, silentLogger)));
      try {
        const made = await Promise.all(nodes.map((node) => makePartitions(node, 4)));
        assert.deepEqual([...new Set(made.flat())].sort(), [1, 2, 3]);
        for (const node of nodes) {
          assert.equal(node.partitions.length, 4);
          assert.deepEqual(await makePartitions(node, 2), []);
          for (const each of node.partitions) assert.deepEqual(await versionsOf(each), await versionsOf(directory));
        }
        assert.deepEqual(
          (await readPartitions(directory)).map(({ number }) => number),
          [0, 1, 2, 3],
        );
      } finally {
        for (const node of nodes) await node.close();
      }
    }));

  it('are added by two concurrent processes, one each', () =>
    withPartitions(1, async (databases, { location }) => {
      const other = await openDatabases(location, silentLogger);
      try {
        await Promise.all([addPartition(databases), addPartition(other), addPartition(databases)]);
        assert.equal((await readPartitions(databases.directory)).length, 4);
      } finally {
        await other.close();
      }
    }));
});
