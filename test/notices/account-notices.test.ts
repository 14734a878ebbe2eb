import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { DatabasePool, Queryable } from '../../src/db/database.ts';
import { openDatabases } from '../../src/db/databases.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { type NotifiedAccounts, notifiedAccounts } from './told-accounts.ts';

/** Balances are in a partition, thresholds and notices in the directory; one transaction writes both. */

const PARTITION = 1;

class CutError extends Error {}

/** A connection pool that runs a callback before each statement of a transaction and after its commit. */
function watched(pool: DatabasePool, beforeStatement: (n: number) => Promise<void>): DatabasePool {
  let n = 0;
  return {
    ...pool,
    async transactionWithDirectory(work) {
      const result = await pool.transactionWithDirectory((transaction) =>
        work({
          async query(...asked: Parameters<Queryable['query']>) {
            await beforeStatement(n++);
            return transaction.query(...asked);
          },
        } as Queryable),
      );
      await beforeStatement(n++);
      return result;
    },
  };
}

describe('notices of accounts', { timeout: 120_000 }, () => {
  let stored: PartitionedDatabase;
  let pool: DatabasePool;
  let told: NotifiedAccounts['told'];
  let accounts: NotifiedAccounts;

  before(async () => {
    stored = await createPartitioned(2);
    pool = stored.databases.partitions[PARTITION]!.pool('notices');
    accounts = notifiedAccounts(stored.databases, PARTITION);
    told = accounts.told;
  });
  after(() => stored?.remove());

  /** Fails a round before each of its statements in turn, and after its commit; returns the number of failures. */
  async function cutEverywhere(check: (find: () => Promise<void>, where: string) => Promise<void>): Promise<number> {
    for (let at = 0; ; at++) {
      let isCut = false;
      const cut = watched(pool, async (n) => {
        if (n !== at) return;
        isCut = true;
        throw new CutError();
      });
      await check(
        () => accounts.find(cut).catch((error) => assert.ok(error instanceof CutError, String(error))),
        `${at}`,
      );
      if (!isCut) return at;
    }
  }

  it('are sent once when a balance falls, whichever statement of a round fails, even if the balance changes again', async () => {
    const cuts = await cutEverywhere(async (find, where) => {
      const accountId = await accounts.account();
      await accounts.setLowBalance(accountId, 5n);
      await accounts.find();
      await accounts.post(accountId, -6n);
      await find();
      // Another entry causes no second notice.
      await accounts.post(accountId, -1n);
      await accounts.find();
      const [first, ...more] = await told(accountId);
      assert.match(first!, /^0\.00000000[34]: 1$/, where);
      assert.deepEqual(more, [], where);
      // Rises above the threshold and falls below it again.
      await accounts.post(accountId, 10n);
      await accounts.find();
      await accounts.post(accountId, -10n);
      await accounts.find();
      assert.equal((await told(accountId)).length, 2, where);
      assert.deepEqual(await accounts.queued(), [], where);
    });
    assert.ok(cuts >= 8, `${cuts} cuts`);
  });

  it('are sent once when a threshold is set above the balance, whichever statement of a round fails', async () => {
    await cutEverywhere(async (find, where) => {
      const accountId = await accounts.account();
      await accounts.find();
      await accounts.setLowBalance(accountId, 20n);
      await find();
      await accounts.find();
      assert.deepEqual(await told(accountId), ['0.00000001: 1'], where);
      assert.deepEqual(await accounts.queued(), [], where);
    });
  });

  it('respect a threshold that is set during a round with the account', async () => {
    for (let at = 0, isReached = true; isReached; at++) {
      const accountId = await accounts.account();
      isReached = false;
      const find = accounts.find(
        watched(pool, async (n) => {
          if (n !== at) return;
          isReached = true;
          assert.equal(await accounts.setLowBalance(accountId, 20n), true);
        }),
      );
      await find;
      await accounts.find();
      assert.deepEqual(await told(accountId), isReached ? ['0.00000001: 1'] : [], `before statement ${at}`);
      assert.deepEqual(await accounts.queued(), []);
    }
  });

  it('are queued in the transaction that sets a threshold, or neither is written', async () => {
    const accountId = await accounts.account();
    await accounts.find();
    const partition = stored.databases.partitions[PARTITION]!;
    await partition.script('alter table account_changes add constraint refused check (false)');
    await assert.rejects(accounts.setLowBalance(accountId, 20n), /refused/);
    await partition.script('alter table account_changes drop constraint refused');
    await accounts.post(accountId, -1n);
    await accounts.find();
    assert.deepEqual(await told(accountId), []);
    assert.equal(await accounts.setLowBalance('acct_none', 20n), false);
    assert.deepEqual(await accounts.queued(), []);
  });

  it('are found once by two concurrent nodes', async () => {
    const another = await openDatabases(stored.location, silentLogger);
    try {
      const all = await Promise.all(Array.from({ length: 20 }, accounts.account));
      for (const each of all) await accounts.setLowBalance(each, 20n);
      await Promise.all([accounts.find(pool), accounts.find(another.partitions[PARTITION]!.pool('notices'))]);
      await accounts.find();
      for (const each of all) assert.deepEqual(await told(each), ['0.00000001: 1']);
      assert.deepEqual(await accounts.queued(), []);
    } finally {
      await another.close();
    }
  });
});
