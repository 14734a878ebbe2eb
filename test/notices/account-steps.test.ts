import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auditLedger } from '../../src/accounting/audit/audit-store.ts';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import type { Database } from '../../src/db/database.ts';
import { createIds } from '../../src/lib/ids.ts';
import { decideAccount } from '../../src/notices/account-decision.ts';
import { createAccountNoticeStore } from '../../src/notices/account-notice-store.ts';
import { createAccountNotices } from '../../src/notices/account-notices.ts';
import { createNoticeStore } from '../../src/notices/notice-store.ts';
import { createThresholdStore } from '../../src/notices/threshold-store.ts';
import { NOW_MS } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { mortalHomes, ProcessEndedError } from '../support/home-lanes.ts';
import { type HomeLanes, inOneDatabase } from '../support/in-one-database.ts';
import { sql } from '../support/sql.ts';

/**
 * Balances are in a partition, thresholds and notices in the directory. Whatever ends between two steps, each notice is stored once, with its
 * deliveries.
 */

const clock = { nowMs: () => NOW_MS };
const ids = createIds(clock);
const OPTIONS = { atMs: NOW_MS, nextId: () => ids.next('ntc'), hasMail: true };
const TERMS = { nowMs: NOW_MS, lowBalanceNano: null, planPercents: [], plans: new Map() };

describe(`steps of notices`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let made = 0;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
  });
  after(() => stored?.remove());

  const rows = <Row>(text: string, parameters: readonly string[] = []) => sql<Row>(database, text, parameters);
  const thresholds = () => createThresholdStore(database);

  /** With a balance of 10, and an address that gets mail. */
  async function account(): Promise<string> {
    const id = `acct_steps_${++made}`;
    await rows(
      `insert into accounts (id, name, email, verified, status, created_at, updated_at)
values ($1, 'n', $1 || '@example.com', true, 'active', now(), now())`,
      [id],
    );
    await rows('insert into balances (account_id) values ($1)', [id]);
    await post(id, 10n);
    return id;
  }

  async function post(accountId: string, amountNano: bigint): Promise<void> {
    const entry = { kind: 'adjustment', memo: 'm', idempotencyKey: null, at: new Date(NOW_MS) } as const;
    await createLedgerStore(database).post({ accountId, amountNano, ...entry });
  }

  /** What a finder does in a round. */
  async function lookOn(homes: HomeLanes): Promise<void> {
    const accounts = accountsOn(homes);
    await accounts.queueMarked();
    let isMore = true;
    while (isMore) {
      isMore =
        (await accounts.noticeChanges((facts, states) => decideAccount(facts, states, TERMS), NOW_MS)) === 'more';
      while ((await accounts.storeDue(OPTIONS)) === 'more');
    }
  }
  const accountsOn = ({ directory, partition }: HomeLanes) =>
    createAccountNotices({
      changes: createAccountNoticeStore(partition),
      thresholds: createThresholdStore(directory),
      notices: createNoticeStore(directory),
    });
  const look = () => lookOn(mortalHomes(database));

  /** The balances that notices of an account say, each with how many deliveries it has. */
  async function said(accountId: string): Promise<string[]> {
    const found = await rows<{ balance: string; deliveries: number }>(
      `select data ->> 'balanceYuan' as balance,
  (select count(*)::int from notice_deliveries d where d.notice_id = n.id) as deliveries
from notices n where account_id = $1 order by id`,
      [accountId],
    );
    return found.map(({ balance, deliveries }) => `${balance}: ${deliveries}`);
  }

  async function assertNothingIsLeft(): Promise<void> {
    for (const text of [
      'select from account_changes',
      'select from due_notices',
      'select from accounts where low_balance_set_at is not null',
    ])
      assert.deepEqual(await rows(text), [], text);
  }

  it('say a balance that falls once, wherever the process ends, and whatever happens to the balance then', async () => {
    await look();
    let ends = 0;
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const accountId = await account();
      await thresholds().setLowBalance(accountId, 5n);
      await look();
      await post(accountId, -6n);
      await lookOn(mortalHomes(database, steps)).then(
        () => {
          isDone = true;
        },
        (error) => {
          assert.ok(error instanceof ProcessEndedError, String(error));
          ends++;
        },
      );
      // Another entry: what is said of it is the same occurrence.
      await post(accountId, -1n);
      await look();
      const [first, ...more] = await said(accountId);
      assert.match(first!, /^0\.00000000[34]: 1$/, `after ${steps} steps`);
      assert.deepEqual(more, [], `after ${steps} steps`);
      // Above the threshold, and below it once more.
      await post(accountId, 10n);
      await look();
      await post(accountId, -10n);
      await look();
      assert.equal((await said(accountId)).length, 2, `after ${steps} steps`);
      await assertNothingIsLeft();
    }
    assert.ok(ends >= 6, `${ends} ends`);
  });

  it('say a notice that was due although the balance has risen since, and the next fall too', async () => {
    const accountId = await account();
    await thresholds().setLowBalance(accountId, 5n);
    await look();
    await post(accountId, -6n);
    const { noticeChanges } = accountsOn(mortalHomes(database));
    assert.equal(await noticeChanges((facts, states) => decideAccount(facts, states, TERMS), NOW_MS), 'more');
    assert.deepEqual(await said(accountId), []);
    await post(accountId, 10n);
    await look();
    await post(accountId, -10n);
    await look();
    assert.deepEqual(await said(accountId), ['0.000000004: 1', '0.000000004: 1']);
  });

  it('say a threshold that is set above the balance once, wherever the process ends', async () => {
    for (let steps = 0, isDone = false; !isDone; steps++) {
      const accountId = await account();
      await look();
      await thresholds().setLowBalance(accountId, 20n);
      await lookOn(mortalHomes(database, steps)).then(
        () => {
          isDone = true;
        },
        (error) => assert.ok(error instanceof ProcessEndedError, String(error)),
      );
      await look();
      assert.deepEqual(await said(accountId), ['0.00000001: 1'], `after ${steps} steps`);
      await assertNothingIsLeft();
    }
  });

  it('heed a threshold that is set while its account is looked at', async () => {
    // Before each step of a round that looks at the account anyway.
    for (let at = 1, isReached = true; isReached; at++) {
      const accountId = await account();
      isReached = false;
      const homes = mortalHomes(database);
      homes.beforeStep = async (step) => {
        if (step !== at) return;
        isReached = true;
        assert.equal(await thresholds().setLowBalance(accountId, 20n), true);
      };
      await lookOn(homes);
      await look();
      assert.deepEqual(await said(accountId), isReached ? ['0.00000001: 1'] : [], `before step ${at}`);
      await assertNothingIsLeft();
    }
  });

  it('keep the mark of a threshold that is set once more while its account is queued', async () => {
    const accountId = await account();
    await look();
    await thresholds().setLowBalance(accountId, 5n);
    const [{ at } = { at: '' }] = await rows<{ at: string }>(
      'select low_balance_set_at::text as at from accounts where id = $1',
      [accountId],
    );
    const homes = mortalHomes(database);
    homes.beforeStep = async (step) => {
      if (step !== 3) return;
      await thresholds().setLowBalance(accountId, 20n);
      // At the same instant, as clocks have it that are no finer.
      await rows('update accounts set low_balance_set_at = $2::timestamptz where id = $1', [accountId, at]);
    };
    await accountsOn(homes).queueMarked();
    assert.equal((await thresholds().listMarks()).length, 1);
    await look();
    assert.deepEqual(await said(accountId), ['0.00000001: 1']);
  });

  it('take nothing from the queue that was not read from it', async () => {
    await look();
    await database.script('vacuum account_changes');
    const first = await account();
    const places = (): Promise<{ place: string }[]> => rows('select ctid::text as place from account_changes');
    assert.deepEqual(await places(), [{ place: '(0,1)' }]);
    const homes = mortalHomes(database);
    let late = '';
    homes.beforeStep = async (step) => {
      if (step !== 2) return;
      // Another node has taken what was read, and then there is something else at its place.
      await look();
      await database.script('vacuum account_changes');
      late = await account();
      assert.deepEqual(await places(), [{ place: '(0,1)' }]);
    };
    const seen: string[] = [];
    const looked = accountsOn(homes).noticeChanges((facts) => {
      seen.push(facts.accountId);
      return { notices: [], states: [], cleared: [] };
    }, NOW_MS);
    assert.equal(await looked, 'more');
    assert.ok(!seen.includes(first) && !seen.includes(late));
    const left = await rows<{ account_ids: string[] }>('select account_ids from account_changes');
    assert.deepEqual(left, [{ account_ids: [late] }]);
    await look();
  });

  it('that nothing finishes are found by the audit while a gateway runs', async () => {
    const accountId = await account();
    await look();
    await rows(
      `insert into due_notices (account_id, dedupe_key, kind, subject, data, due_at) values
($1, 'old', 'balance.low', $1, '{}', statement_timestamp() - interval '7 hours'), ($1, 'new', 'balance.low', $1, '{}', statement_timestamp())`,
      [accountId],
    );
    await rows(`update accounts set low_balance_set_at = statement_timestamp() - interval '7 hours' where id = $1`, [
      accountId,
    ]);
    const breaches = async (): Promise<string[]> =>
      (await auditLedger(inOneDatabase(database))).flatMap((result) => result.breaches.map(({ detail }) => detail));
    assert.deepEqual(await breaches(), []);
    await rows(`insert into nodes (id, started_at, seen_at)
values ('node_old', statement_timestamp() - interval '7 hours', statement_timestamp() + interval '1 minute')`);
    assert.deepEqual(await breaches(), [
      'its threshold of balance.low is not looked at',
      'the notice old is not stored',
    ]);
    await look();
    assert.deepEqual(await breaches(), []);
  });

  it('are taken by two nodes at once, and each notice is stored once', async () => {
    const another = stored.openAnother();
    try {
      const all = await Promise.all(Array.from({ length: 20 }, account));
      for (const each of all) await thresholds().setLowBalance(each, 20n);
      await Promise.all([
        lookOn(inOneDatabase(database.lane('notices'))),
        lookOn(inOneDatabase(another.lane('notices'))),
      ]);
      await look();
      for (const each of all) assert.deepEqual(await said(each), ['0.00000001: 1']);
      await assertNothingIsLeft();
    } finally {
      await another.close();
    }
  });
});
