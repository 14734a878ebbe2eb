import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Finding } from '../../src/cli/doctor/doctor-finding.ts';
import { readMigrations } from '../../src/db/migrations.ts';
import { beginPartition } from '../../src/db/partitions-store.ts';
import { runCommand } from '../support/command.ts';
import { gatewayEngines } from '../support/database.ts';
import { createPartitioned, type PartitionedDatabase } from '../support/partitioned.ts';
import { temporaryDirectory } from '../support/process.ts';

/** What commands say of partitions and do with them. */

const directory = temporaryDirectory();
after(() => directory.remove());

for (const engine of gatewayEngines) {
  describe(`commands on a database of several partitions on ${engine}`, { timeout: 120_000 }, () => {
    async function cli({ location }: PartitionedDatabase, ...given: string[]) {
      const dataDir = location.dataDir || directory.path;
      return runCommand(given, { DATABASE_URL: location.url, FAREGATE_DATA_DIR: dataDir, PORT: '0' });
    }

    async function schemaFinding(stored: PartitionedDatabase): Promise<Finding> {
      const { stdout } = await cli(stored, 'doctor', '--json');
      return (JSON.parse(stdout) as Finding[]).find(({ check }) => check === 'schema')!;
    }

    it('complete one that was being made, and name one that is missing', async () => {
      const stored = await createPartitioned(engine, 2);
      try {
        await beginPartition(stored.databases.directory, 2, 'faregate_02');
        await stored.databases.partitions[1]!.script(
          `delete from schema_migrations where version = ${readMigrations().at(-1)!.version}`,
        );
        await stored.databases.close();
        const found = await schemaFinding(stored);
        assert.deepEqual([found.state, found.detail], ['warning', 'not up to date: partition 1, 2']);

        const early = await cli(stored, 'account', 'list');
        assert.equal(early.code, 1);
        assert.match(early.stderr, /Partition 1 of the database is of an earlier version, .* faregate db migrate/);

        const lines = (await cli(stored, 'db', 'migrate')).stdout.trimEnd().split('\n');
        const { version, name } = readMigrations().at(-1)!;
        assert.equal(lines[0], `applied ${version} ${name} in partition 1`);
        assert.deepEqual(
          lines.slice(1),
          readMigrations().map((step) => `applied ${step.version} ${step.name} in partition 2`),
        );
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
      } finally {
        await stored.remove();
      }
    });

    it('reach the accounts of all of them, and make new ones where the fewest are', async () => {
      const stored = await createPartitioned(engine, 3);
      try {
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
          const rows = await partition.query<{ account_id: string }>({
            name: 'test.placed',
            text: 'select account_id from balances order by account_id',
          });
          placed.push(rows.map((row) => row.account_id));
        }
        await databases.close();
        assert.deepEqual(placed, [[ids[0], ids[3]], [ids[1]], [ids[2]]]);
      } finally {
        await stored.remove();
      }
    });
  });
}
