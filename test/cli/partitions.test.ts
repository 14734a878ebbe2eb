import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Finding } from '../../src/cli/doctor/doctor-finding.ts';
import { readMigrations } from '../../src/db/migrations.ts';
import { addPartition } from '../../src/db/partitions.ts';
import { runCommand } from '../support/command.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { temporaryDirectory } from '../support/process.ts';
import { sql } from '../support/sql.ts';

const directory = temporaryDirectory();
after(() => directory.remove());

describe('commands on a database of several partitions', { timeout: 120_000 }, () => {
  async function cli({ location }: PartitionedDatabase, ...given: string[]) {
    return runCommand(given, { DATABASE_URL: location.url, FAREGATE_DATA_DIR: directory.path, PORT: '0' });
  }

  async function schemaFinding(stored: PartitionedDatabase): Promise<Finding> {
    const { stdout } = await cli(stored, 'doctor', '--json');
    return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'schema')!;
  }

  it('migrate a partition of an earlier version, and report a missing one', async () => {
    await using stored = await createPartitioned(2);
    await addPartition(stored.databases, { migrations: readMigrations().slice(0, -1) });
    await stored.databases.close();
    const found = await schemaFinding(stored);
    assert.deepEqual([found.state, found.detail], ['warning', 'not up to date: partition 2']);

    const early = await cli(stored, 'account', 'list');
    assert.equal(early.code, 1);
    assert.match(early.stderr, /Partition 2 of the database has an earlier schema version; .* faregate db migrate/);

    const lines = (await cli(stored, 'db', 'migrate')).stdout.trimEnd().split('\n');
    const { version, name } = readMigrations().at(-1)!;
    assert.deepEqual(lines, [`applied ${version} ${name} in partition 2`]);
    assert.match((await cli(stored, 'db', 'migrate')).stdout, /up to date/);
    assert.equal((await schemaFinding(stored)).state, 'ok');

    const databases = await stored.reopen();
    await databases.directory.script('drop schema faregate_02 cascade');
    await databases.close();
    const missing = /Partition 2 \(schema faregate_02\) is missing/;
    const { code, stderr } = await cli(stored, 'db', 'migrate');
    assert.equal(code, 1);
    assert.match(stderr, missing);
    const refused = await schemaFinding(stored);
    assert.equal(refused.state, 'failed');
    assert.match(refused.detail, missing);
  });

  it('reach the accounts of all partitions, and create new ones in the partition with the fewest', async () => {
    await using stored = await createPartitioned(3);
    await stored.databases.close();
    const json = async (...given: string[]) => {
      const { code, stdout, stderr } = await cli(stored, ...given, '--json');
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const ids: string[] = [];
    for (const name of ['first', 'second', 'third', 'fourth']) ids.push((await json('account', 'create', name)).id);
    for (const id of ids) await json('account', 'top-up', id, '12', '--memo', 'gift');
    const listed = await json('account', 'list');
    assert.deepEqual(
      listed.map(({ id, balanceYuan }: { id: string; balanceYuan: string }) => [id, balanceYuan]),
      ids.toReversed().map((id) => [id, '12']),
    );
    const { partitions, ...databases } = await stored.reopen();
    const placed: string[][] = [];
    for (const partition of partitions) {
      const rows = await sql<{ account_id: string }>(partition, 'select account_id from balances order by account_id');
      placed.push(rows.map((row) => row.account_id));
    }
    await databases.close();
    assert.deepEqual(placed, [[ids[0], ids[3]], [ids[1]], [ids[2]]]);
  });

  it('list partitions, and add more', async () => {
    await using stored = await createPartitioned(2);
    const { version } = readMigrations().at(-1)!;
    await stored.databases.directory.script(`insert into accounts (id, name, verified, status, created_at, updated_at, partition_no)
select 'acct_' || n, 'n', true, 'active', now(), now(), least(n, 1) from generate_series(0, 2) n`);
    await stored.databases.close();
    const listed = await cli(stored, 'db', 'partitions', '--json');
    assert.equal(listed.code, 0, listed.stderr);
    const found = JSON.parse(listed.stdout) as { sizeBytes: number }[];
    assert.ok(found.every(({ sizeBytes }) => sizeBytes > 100_000));
    const expected = { takesAccounts: true, version, error: null };
    assert.deepEqual(
      found.map(({ sizeBytes: _sizeBytes, ...rest }) => rest),
      [
        { number: 0, schema: null, ...expected, accounts: 1 },
        { number: 1, schema: 'faregate_01', ...expected, accounts: 2 },
      ],
    );

    const added = await cli(stored, 'db', 'partitions', 'add', '--count', '2');
    assert.equal(added.code, 0, added.stderr);
    assert.match(added.stdout, /^added partition 2\nadded partition 3\nRestart all running gateways/);
    const lines = (await cli(stored, 'db', 'partitions')).stdout.trimEnd().split('\n');
    assert.equal(lines.length, 5);
    assert.match(lines[0]!, /^PARTITION +SCHEMA +STATE +ACCOUNTS +VERSION +SIZE$/);
    assert.match(lines[1]!, new RegExp(`^ +0 +directory +ready +1 +${version} +\\d+\\.\\d MB$`));
    assert.match(lines[4]!, new RegExp(`^ +3 +faregate_03 +ready +0 +${version} +\\d+\\.\\d MB$`));
    for (const count of ['0', '100', 'x'])
      assert.equal((await cli(stored, 'db', 'partitions', 'add', '--count', count)).code, 2);

    const { stdout } = await cli(stored, 'doctor', '--json');
    const said = (JSON.parse(stdout) as Finding[]).filter(({ check }) => ['partitions', 'schema'].includes(check));
    assert.deepEqual(
      said.map(({ state, detail }) => [state, detail]),
      [
        ['ok', '4, each responds'],
        ['ok', `all ${readMigrations().length} migrations are applied, in each partition too`],
      ],
    );

    const databases = await stored.reopen();
    await databases.directory.script('drop schema faregate_02 cascade');
    await databases.close();
    const failed = await cli(stored, 'db', 'partitions', '--json');
    assert.equal(failed.code, 1);
    const errors = (JSON.parse(failed.stdout) as { error: string | null }[]).map(({ error }) => error);
    assert.deepEqual(
      errors.map((error) => error === null),
      [true, true, false, true],
    );
    assert.match((await cli(stored, 'db', 'partitions')).stdout, /faregate_02 +failed: .*schema_migrations/);
  });
});
