import assert from 'node:assert/strict';
import type { Database } from '../../../src/db/database.ts';
import { migrateAll } from '../../../src/db/partitions.ts';
import { catalogOf } from '../../support/catalog.ts';
import { createCitusDatabase, createPlainDatabase, rowsOf, withPartitions } from '../databases.ts';
import type { Step } from '../step.ts';

/** Objects that Citus adds to any schema. */
const OF_CITUS = /^extension |truncate_trigger|"?noderole/;

/** Intended differences (`src/db/citus.ts`): functions find the tables of their own schema in a session that uses another one. */
const OF_WORKERS = /^function /;

async function linesOf(partition: Database): Promise<string[]> {
  return (await catalogOf(partition))
    .map((line) => line.replaceAll('faregate_01.', ''))
    .filter((line) => !OF_CITUS.test(line));
}

export const partitions: Step = {
  name: 'partitions',
  tries:
    'further partitions are made as distributed schemas, spread over the workers, with the same catalog as on plain PostgreSQL',
  async run({ ports }) {
    await using citus = await withPartitions(await createCitusDatabase(ports), 5);
    await using plain = await withPartitions(await createPlainDatabase(ports), 2);
    const schemas = await rowsOf<{ schema: string; port: number }>(
      ports.coordinator,
      citus.name,
      `select distinct c.relnamespace::regnamespace::text as schema, s.nodeport as port
from citus_shards s join pg_class c on c.oid = s.table_name where s.citus_table_type = 'schema' order by 1`,
    );
    const names = ['faregate_01', 'faregate_02', 'faregate_03', 'faregate_04'];
    assert.deepEqual(
      schemas.map(({ schema }) => schema),
      names,
      'each further partition is whole on one node',
    );
    const perWorker = ports.workers.map((port) => schemas.filter((schema) => schema.port === port).length);
    assert.deepEqual(perWorker, [2, 2]);
    const [made, expected] = [
      await linesOf(citus.databases.partitions[1]!),
      await linesOf(plain.databases.partitions[1]!),
    ];
    const other = [
      ...made.filter((line) => !expected.includes(line)),
      ...expected.filter((line) => !made.includes(line)),
    ];
    assert.deepEqual(
      other.filter((line) => !OF_WORKERS.test(line)),
      [],
    );
    const functions = made.filter((line) => OF_WORKERS.test(line) && !expected.includes(line));
    const known = () =>
      rowsOf<{ name: string }>(
        ports.coordinator,
        citus.name,
        `select c.relname::text as name from pg_dist_partition p join pg_class c on c.oid = p.logicalrelid
where c.relnamespace = 'public'::regnamespace`,
      );
    const marker = [{ name: 'citus_two_phase' }];
    assert.deepEqual(await known(), marker, 'tables of the directory stay plain ones');
    // As if the extension was installed after the last migration.
    const { databases } = citus;
    await databases.directory.script('drop table citus_two_phase');
    const over = () => databases.partitions[1]!.pool('admin').transactionWithDirectory(async () => undefined);
    await assert.rejects(over, /"citus_two_phase" does not exist/);
    for (let time = 0; time < 2; time++) assert.deepEqual(await migrateAll(databases), []);
    assert.deepEqual(await known(), marker);
    await over();
    return [
      `${schemas.length} distributed schemas, ${perWorker.join(' and ')} on the workers`,
      `${made.length} lines of the catalog of one; ${functions.length} functions differ from plain PostgreSQL, nothing else`,
    ];
  },
};
