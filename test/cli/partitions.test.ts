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
  });
}
