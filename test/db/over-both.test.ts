import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database, Queryable } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { sql } from '../support/sql.ts';

/** Partition transactions whose statements also address the directory. */

const insertRequest = {
  name: 'test.insert-request',
  text: `insert into account_requests (idempotency_key, request, account_id, created_at) values ($1, '', $1, now())`,
};
const insertBalance = { name: 'test.insert-balance', text: 'insert into balances (account_id) values ($1)' };

async function insertBoth(transaction: Queryable, id: string): Promise<void> {
  await transaction.query(insertBalance, [id]);
  await transaction.query(insertRequest, [id]);
}

describe('a transaction of a partition and the directory', { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let directory: Database;
  let partitions: readonly Database[];
  before(async () => {
    stored = await createPartitioned(3);
    ({ directory, partitions } = stored.databases);
  });
  after(() => stored?.remove());

  /** The databases with a balance of an id, by number, and whether the directory has a request of it. */
  async function placesOf(id: string): Promise<readonly [number[], boolean]> {
    const found: number[] = [];
    for (const [number, partition] of partitions.entries()) {
      const rows = await sql(partition, 'select from balances where account_id = $1', [id]);
      if (rows.length > 0) found.push(number);
    }
    const requests = await sql(directory, 'select from account_requests where idempotency_key = $1', [id]);
    return [found, requests.length > 0];
  }

  it('writes to both, each to its own tables', async () => {
    for (const [number, partition] of partitions.entries()) {
      await partition.pool('admin').transactionWithDirectory((transaction) => insertBoth(transaction, `at ${number}`));
      assert.deepEqual(await placesOf(`at ${number}`), [[number], true]);
    }
  });

  it('changes neither if it throws', async () => {
    for (const [number, partition] of partitions.entries()) {
      const thrown = new Error('thrown');
      const work = partition.pool('admin').transactionWithDirectory(async (transaction) => {
        await insertBoth(transaction, `not at ${number}`);
        throw thrown;
      });
      await assert.rejects(work, thrown);
      assert.deepEqual(await placesOf(`not at ${number}`), [[], false]);
    }
  });

  it('does not change the state of its connection', async () => {
    const pool = partitions[1]!.pool('probes');
    await pool.transactionWithDirectory((transaction) => insertBoth(transaction, 'once'));
    for (const ask of [
      () => pool.query(insertRequest, ['again']),
      () => pool.transaction((transaction) => transaction.query(insertRequest, ['again'])),
    ]) {
      await assert.rejects(ask, /"account_requests" does not exist/);
    }
  });

  it('changes nothing if the partition’s schema is missing', async () => {
    await directory.script('alter schema faregate_02 rename to moved');
    try {
      const work = partitions[2]!
        .pool('admin')
        .transactionWithDirectory((transaction) => insertBoth(transaction, 'lost'));
      await assert.rejects(work, /"balances" does not exist/);
    } finally {
      await directory.script('alter schema moved rename to faregate_02');
    }
    assert.deepEqual(await placesOf('lost'), [[], false]);
  });

  it('changes nothing on Citus if the table for two-phase commits is missing', async () => {
    const { url } = stored.location;
    const schemas = { schema: 'faregate_01', directorySchema: 'public', isOnCitus: true };
    const onCitus = openPostgres({ url, logger: silentLogger, ...schemas });
    try {
      const work = onCitus
        .pool('admin')
        .transactionWithDirectory((transaction) => insertBoth(transaction, 'one phase'));
      await assert.rejects(work, /"citus_two_phase" does not exist/);
    } finally {
      await onCitus.close();
    }
    assert.deepEqual(await placesOf('one phase'), [[], false]);
  });
});
