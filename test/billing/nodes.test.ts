import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import type { BalanceAfterEnd } from '../../src/accounting/calls/call-outcome.ts';
import type { Database } from '../../src/db/database.ts';
import { openPostgres } from '../../src/db/postgres.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import {
  createTestNode,
  endCalls,
  openAccount,
  outcomeOf,
  readBalance,
  requestOf,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { locksAwaited, waitingForLocks } from '../support/locks.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';

/**
 * Transactions that contend for an account's row while it is locked. Each waits in the server, and has to decide on what is there
 * afterwards: otherwise a reservation or a charge is lost.
 */

describe('transactions that wait for each other at one account', { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let proxy: TestProxy;
  /** A node's connections, through a network that a test can break. */
  let far: Database;
  let near: Database;
  before(async () => {
    stored = await createTestDatabase();
    proxy = await startProxy(stored.url);
    far = waitingForLocks(openPostgres({ url: proxy.url, logger: silentLogger }));
    near = waitingForLocks(stored.database);
  });
  after(async () => {
    try {
      const results = await auditLedger(inOneDatabase(stored.database));
      assert.deepEqual(
        results.flatMap(({ breaches }) => breaches),
        [],
      );
    } finally {
      await far.close();
      await proxy.close();
      await stored.remove();
    }
  });

  /** Resolves once the server has nothing more to do. */
  async function idle(): Promise<void> {
    const statement = {
      name: 'test.active',
      text: `select count(*)::int as n from pg_stat_activity
where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
    };
    for (;;) {
      const [row] = await stored.database.query<{ n: number }>(statement);
      if (row!.n === 0) return;
    }
  }

  /** Keeps an account locked, like another node's batch, while the work goes on. */
  async function whileLocked(accountId: string, work: () => Promise<void>): Promise<void> {
    await stored.database.transaction(async (transaction) => {
      await transaction.query({ name: 'test.lock', text: 'select from balances where account_id = $1 for update' }, [
        accountId,
      ]);
      await work();
    });
  }

  it('release the reservation of an admission that continues in the server after its connection was lost', async () => {
    await openAccount(stored.database, 'acct_cut', 100n);
    const node = createTestNode(far);
    await whileLocked('acct_cut', async () => {
      const admission = node.reservations.admit(requestOf('acct_cut', 'call_cut', 5n));
      await locksAwaited(stored.database, 1);
      proxy.cut();
      await assert.rejects(admission);
      await Promise.race([locksAwaited(stored.database, 2), node.drain()]);
    });
    await node.drain();
    await idle();
    assert.deepEqual(await readBalance(stored.database, 'acct_cut'), {
      balanceNano: 100n,
      reservedNano: 0n,
      spentNano: 0n,
    });
  });

  it('charge once if the end of a call continues in the server after its connection was lost, and is repeated', async () => {
    await openAccount(stored.database, 'acct_end', 100n);
    const node = createTestNode(far);
    assert.equal((await node.reservations.admit(requestOf('acct_end', 'call_end', 5n))).isAdmitted, true);
    const ended = Promise.withResolvers<unknown>();
    await whileLocked('acct_end', async () => {
      const lost = node.end(outcomeOf('acct_end', 'call_end', 7n));
      await locksAwaited(stored.database, 1);
      proxy.cut();
      await assert.rejects(lost);
      node.end(outcomeOf('acct_end', 'call_end', 7n)).then(ended.resolve, ended.reject);
      await locksAwaited(stored.database, 2);
    });
    await ended.promise;
    assert.deepEqual(await readBalance(stored.database, 'acct_end'), {
      balanceNano: 93n,
      reservedNano: 0n,
      spentNano: 7n,
    });
  });

  it('report the end of a call to both nodes if two end it at once', async () => {
    await openAccount(stored.database, 'acct_two', 100n);
    const nodes = [createTestNode(far), createTestNode(near)];
    await nodes[0]!.reservations.admit(requestOf('acct_two', 'call_two', 5n));
    let ends: Promise<PromiseSettledResult<BalanceAfterEnd>[]> | undefined;
    await whileLocked('acct_two', async () => {
      ends = Promise.allSettled(nodes.map((node) => node.end(outcomeOf('acct_two', 'call_two', 7n))));
      await locksAwaited(stored.database, 2);
    });
    assert.deepEqual(await ends, [
      { status: 'fulfilled', value: { availableNano: 93n } },
      { status: 'fulfilled', value: { availableNano: 93n } },
    ]);
    assert.deepEqual(await readBalance(stored.database, 'acct_two'), {
      balanceNano: 93n,
      reservedNano: 0n,
      spentNano: 7n,
    });
  });

  for (const [first, second, left] of [
    [null, 7n, { balanceNano: 100n, reservedNano: 0n, spentNano: 0n }],
    [7n, null, { balanceNano: 93n, reservedNano: 0n, spentNano: 7n }],
  ] as const) {
    it(`count the first of two concurrent ends of a call: ${first} before ${second}`, async () => {
      const accountId = `acct_first_${first}`;
      await openAccount(stored.database, accountId, 100n);
      const nodes = [createTestNode(far), createTestNode(near)];
      await nodes[0]!.reservations.admit(requestOf(accountId, 'call_first', 5n));
      const ends: Promise<BalanceAfterEnd>[] = [];
      await whileLocked(accountId, async () => {
        for (const [index, charge] of [first, second].entries()) {
          ends.push(nodes[index]!.end(outcomeOf(accountId, 'call_first', charge)));
          await locksAwaited(stored.database, index + 1);
        }
      });
      await Promise.all(ends);
      assert.deepEqual(await readBalance(stored.database, accountId), left);
      for (const { invariant, breaches } of await auditLedger(inOneDatabase(stored.database)))
        assert.deepEqual(breaches, [], invariant);
    });
  }

  it('admit the last call of a balance once, however many nodes read that balance', async () => {
    await openAccount(stored.database, 'acct_last', 5n);
    const stores = [far, far, near, near].map((database) => createTestNode(database).stores);
    let verdicts: Promise<string[][]> | undefined;
    await whileLocked('acct_last', async () => {
      verdicts = Promise.all(
        stores.map((store, n) => verdictsOn(store.reservations, [requestOf('acct_last', `call_last_${n}`, 5n)])),
      );
      await locksAwaited(stored.database, stores.length);
    });
    assert.deepEqual((await verdicts)?.flat().sort(), ['admitted', ...Array(3).fill('insufficientBalance')]);
    assert.equal((await readBalance(stored.database, 'acct_last')).reservedNano, 5n);
  });

  it('see a top-up and a charge that were made while they waited', async () => {
    await openAccount(stored.database, 'acct_view', 1n);
    const { reservations, settlement } = createTestNode(far).stores;
    await verdictsOn(reservations, [requestOf('acct_view', 'call_view_1', 1n)]);
    let verdict: Promise<string[]> | undefined;
    let end: Promise<unknown> | undefined;
    await stored.database.transaction(async (transaction) => {
      // Like a top-up: the row is locked, then changed, then the entry is written.
      await transaction.query({
        name: 'test.move',
        text: `update balances set balance_nano = balance_nano + 50, last_entry_no = 2 where account_id = 'acct_view'`,
      });
      verdict = verdictsOn(reservations, [requestOf('acct_view', 'call_view_2', 3n)]);
      await locksAwaited(stored.database, 1);
      end = endCalls(settlement, [outcomeOf('acct_view', 'call_view_1', 4n)]);
      await locksAwaited(stored.database, 2);
      await transaction.query({
        name: 'test.entry',
        text: `insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
values ('acct_view', 2, 'top_up', 50, 51, now())`,
      });
    });
    assert.deepEqual(await verdict, ['admitted']);
    await end;
    assert.deepEqual(await readBalance(stored.database, 'acct_view'), {
      balanceNano: 47n,
      reservedNano: 3n,
      spentNano: 4n,
    });
  });
});
