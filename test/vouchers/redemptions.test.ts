import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createAccountPartitionStore } from '../../src/accounting/partitions/account-partition-store.ts';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { createRedemptionStore } from '../../src/accounting/vouchers/redemption-store.ts';
import type { VoucherGift } from '../../src/accounting/vouchers/voucher.ts';
import { createVoucherStore } from '../../src/accounting/vouchers/vouchers-store.ts';
import type { Database } from '../../src/db/database.ts';
import { sqlState } from '../../src/db/errors.ts';
import { CONTEXT } from '../support/accounting-builders.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

/** Accounts of several partitions redeem codes: a code gives once, or stays unredeemed and gives nothing. */

const AT = new Date('2026-11-20T12:00:00Z');
const DAY_MS = 86_400_000;
const PLANS = [
  { id: 'coder', periodDays: 30, sale: null },
  { id: 'other', periodDays: 30, sale: null },
];
const VALUE: VoucherGift = { kind: 'value', amountNano: 5n };
const PLAN: VoucherGift = { kind: 'plan', planId: 'coder' };
const INT64_MAX = 2n ** 63n - 1n;

/** The statements of a redemption. */
const STATEMENTS = {
  value: ['accounts.lock', 'vouchers.lock-voucher', 'ledger.post-entry', 'vouchers.insert-redemption'],
  plan: ['accounts.lock', 'vouchers.lock-voucher', 'plans.insert-request', 'vouchers.insert-redemption'],
} as const;
const WHENS = ['before', 'after'] as const;

describe('redemptions by accounts of three partitions', { timeout: 180_000 }, () => {
  let stored: PartitionedDatabase;
  let observed: ObservedDatabase[];
  let redemptions: ReturnType<typeof createRedemptionStore>;
  let made = 0;

  before(async () => {
    stored = await createPartitioned(3);
    const { directory, partitions } = stored.databases;
    observed = partitions.map((each) => observeDatabase(each));
    const store = createAccountPartitionStore(directory);
    const routes = createRoutes(
      observed.map(({ database }) => database),
      { find: async (id) => (await store.find([id]))[0]?.partition ?? 0 },
    );
    redemptions = createRedemptionStore({ directory, partitions: routes }, () => PLANS);
  });
  after(() => stored?.remove());

  const id = (prefix: string): string => `${prefix}_${String(made++).padStart(6, '0')}`;
  const partitionOf = (place: number) => stored.databases.partitions[place]!;

  interface Account {
    readonly id: string;
    readonly place: number;
  }

  async function account(place: number, openingNano = 100n): Promise<Account> {
    const accountId = id('acct');
    await stored.databases.directory.script(`insert into accounts (id, name, verified, status, created_at, updated_at, partition_no)
values ('${accountId}', 'a', true, 'active', now(), now(), ${place})`);
    await partitionOf(place).script(`insert into balances (account_id) values ('${accountId}')`);
    await post({ id: accountId, place }, openingNano);
    return { id: accountId, place };
  }

  const post = ({ id: accountId, place }: Account, amountNano: bigint): Promise<unknown> =>
    createLedgerStore(partitionOf(place)).post({
      ...{ accountId, kind: 'adjustment', amountNano, memo: null, idempotencyKey: null, at: AT },
    });

  /** A batch of one voucher. */
  async function batch(gift: VoucherGift): Promise<{ readonly batchId: string; readonly codeHash: Buffer }> {
    const batchId = id('vb');
    const codeHash = Buffer.from(batchId.padEnd(32, '.'));
    const vouchers = [{ codeHash, codeEnd: 'CODE' }];
    const inserted = { id: batchId, name: 'b', gift, vouchers, expiresAt: null, at: AT, createdBy: 'x' };
    await createVoucherStore(stored.databases.directory).insert({ ...inserted, idempotencyKey: null });
    return { batchId, codeHash };
  }

  async function redeem({ id: accountId }: Pick<Account, 'id'>, codeHash: Buffer): Promise<string> {
    const request = { accountId, codeHash, redemptionId: id('vr'), subscriptionId: id('sub'), by: 'x', at: AT };
    return (await redemptions.redeem(request)).outcome;
  }

  async function balanceOf({ id: accountId, place }: Account): Promise<bigint> {
    const balances = await createLedgerStore(partitionOf(place)).findBalances([accountId], CONTEXT);
    return balances.get(accountId)!.balanceNano;
  }

  /** The days of each subscription, the newest first. */
  async function daysOf({ id: accountId, place }: Account): Promise<number[]> {
    const found = await createSubscriptionStore(partitionOf(place)).list(accountId, null, 10);
    return found.map(({ startsAt, endsAt }) => (endsAt.getTime() - startsAt.getTime()) / DAY_MS);
  }

  async function redeemedCount(batchId: string): Promise<number> {
    const { redeemedCount: count } = (await createVoucherStore(stored.databases.directory).find(batchId))!;
    assert.equal((await redemptions.list(batchId, null, 10)).length, count);
    return count;
  }

  /** Grants a plan that no voucher gives; returns a function that ends it. */
  async function grantOther({ id: accountId, place }: Account): Promise<() => Promise<unknown>> {
    const subscriptions = createSubscriptionStore(partitionOf(place));
    const [startsAt, endsAt] = [new Date(AT.getTime() - DAY_MS), new Date(AT.getTime() + DAY_MS)];
    const granted = { accountId, id: id('sub'), planId: 'other', startsAt, endsAt, at: AT };
    const { id: subscriptionId } = (await subscriptions.grant(granted))!;
    return () => subscriptions.cancel(accountId, subscriptionId, AT);
  }

  for (const gift of [VALUE, PLAN])
    for (const place of [0, 1])
      it(`of a ${gift.kind} in partition ${place} leave nothing if a statement fails, and a repeat redeems the code`, async () => {
        for (const name of STATEMENTS[gift.kind])
          for (const when of WHENS) {
            const owner = await account(place);
            const { batchId, codeHash } = await batch(gift);
            const statement = observed[place]!.statement(name);
            statement.fail(when);
            await assert.rejects(redeem(owner, codeHash), { code: 'ECONNRESET' });
            statement.recover();
            assert.deepEqual([await balanceOf(owner), await daysOf(owner)], [100n, []]);
            assert.equal(await redeemedCount(batchId), 0);

            assert.equal(await redeem(owner, codeHash), 'redeemed');
            assert.equal(await redeem(owner, codeHash), 'repeated');
            assert.equal(await redeem(await account(2), codeHash), 'unknown_code');
            assert.equal(await balanceOf(owner), gift === VALUE ? 105n : 100n);
            assert.deepEqual(await daysOf(owner), gift === PLAN ? [30] : []);
            assert.equal(await redeemedCount(batchId), 1);
          }
      });

  it('lock the account, then the voucher, and its batch for share', async () => {
    const owner = await account(1);
    const { batchId, codeHash } = await batch(VALUE);
    const { directory } = stored.databases;
    const isFree = (database: Database, text: string, parameters: readonly (string | Buffer)[]): Promise<boolean> =>
      sql(database, `${text} nowait`, parameters).then(
        () => true,
        (error: unknown) => sqlState(error) !== '55P03',
      );
    const locks = async (): Promise<Record<string, boolean>> => ({
      account: !(await isFree(partitionOf(1), 'select from balances where account_id = $1 for update', [owner.id])),
      voucher: !(await isFree(directory, 'select from vouchers where code_hash = $1 for update', [codeHash])),
      batch: !(await isFree(directory, 'select from voucher_batches where id = $1 for no key update', [batchId])),
      batchForShare: !(await isFree(directory, 'select from voucher_batches where id = $1 for share', [batchId])),
    });
    const held: Record<string, boolean>[] = [];
    let redeeming: Promise<string> | null = null;
    for (const name of ['vouchers.lock-voucher', 'vouchers.insert-redemption']) {
      const statement = observed[1]!.statement(name);
      statement.hold();
      const reached = statement.reached(statement.asked + 1);
      redeeming ??= redeem(owner, codeHash);
      if (held.length > 0) observed[1]!.statement('vouchers.lock-voucher').release();
      await reached;
      held.push(await locks());
    }
    observed[1]!.statement('vouchers.insert-redemption').release();
    assert.equal(await redeeming, 'redeemed');
    assert.deepEqual(held, [
      { account: true, voucher: false, batch: false, batchForShare: false },
      { account: true, voucher: true, batch: true, batchForShare: false },
    ]);
  });

  it('renew an active plan, and return its new end', async () => {
    const owner = await account(1);
    const [first, second] = [await batch(PLAN), await batch(PLAN)];
    assert.equal(await redeem(owner, first.codeHash), 'redeemed');
    assert.deepEqual((await Promise.all([1, 2, 3].map(() => redeem(owner, second.codeHash)))).sort(), [
      'redeemed',
      'repeated',
      'repeated',
    ]);
    assert.deepEqual(await daysOf(owner), [60]);
    const redemption = (await redemptions.find(second.codeHash))!;
    assert.deepEqual(await redemptions.list(second.batchId, null, 10), [redemption]);
    const [subscription] = await createSubscriptionStore(partitionOf(1)).list(owner.id, null, 10);
    assert.deepEqual(
      [redemption.subscriptionId, redemption.subscriptionEndsAt],
      [subscription!.id, subscription!.endsAt],
    );
  });

  it('that are refused leave the code unredeemed', async () => {
    const owner = await account(2);
    const [coder, unknown, value] = [
      await batch(PLAN),
      await batch({ kind: 'plan', planId: 'gone' }),
      await batch(VALUE),
    ];
    const end = await grantOther(owner);
    assert.equal(await redeem(owner, coder.codeHash), 'other_plan');
    assert.equal(await redeem(owner, unknown.codeHash), 'unknown_plan');
    const rich = await account(1, INT64_MAX - 3n);
    assert.equal(await redeem(rich, value.codeHash), 'out_of_range');
    assert.equal(await redeem({ id: 'acct_none' }, value.codeHash), 'unknown_account');
    for (const { batchId } of [coder, unknown, value]) assert.equal(await redeemedCount(batchId), 0);
    await end();
    assert.equal(await redeem(owner, coder.codeHash), 'redeemed');
    await post(rich, -100n);
    assert.equal(await redeem(rich, value.codeHash), 'redeemed');
    assert.equal(await balanceOf(rich), INT64_MAX - 98n);
  });

  it('of a code by accounts of all partitions succeed for one of them', async () => {
    const owners = await Promise.all([0, 1, 2].map((place) => account(place)));
    for (const gift of [VALUE, PLAN]) {
      const { batchId, codeHash } = await batch(gift);
      const outcomes = await Promise.all(Array.from({ length: 12 }, (_, n) => redeem(owners[n % 3]!, codeHash)));
      assert.deepEqual(outcomes.sort(), [
        'redeemed',
        ...Array.from({ length: 3 }, () => 'repeated'),
        ...Array.from({ length: 8 }, () => 'unknown_code'),
      ]);
      assert.equal(await redeemedCount(batchId), 1);
    }
    const balances = await Promise.all(owners.map(balanceOf));
    assert.equal(
      balances.reduce((sum, balance) => sum + balance),
      305n,
    );
    assert.deepEqual((await Promise.all(owners.map(daysOf))).flat(), [30]);
  });

  it('give nothing again if an import lost the redemption but kept its gift', async () => {
    const owner = await account(1);
    for (const gift of [VALUE, PLAN]) {
      const { batchId, codeHash } = await batch(gift);
      assert.equal(await redeem(owner, codeHash), 'redeemed');
      const first = await redemptions.find(codeHash);
      await sql(stored.databases.directory, 'delete from voucher_redemptions where batch_id = $1', [batchId]);
      assert.equal(await redeem(owner, codeHash), 'redeemed');
      const again = await redemptions.find(codeHash);
      assert.deepEqual([again!.entryNo, again!.subscriptionId], [first!.entryNo, first!.subscriptionId]);
    }
    assert.deepEqual([await balanceOf(owner), await daysOf(owner)], [105n, [30]]);
  });

  it('in any order, with failures and refusals, give each code at most once, and the audit finds nothing', async () => {
    const acts = fc.array(
      fc.record({
        who: fc.constantFrom('first', 'second', 'other plan', 'no other plan'),
        code: fc.nat(2),
        failing: fc.option(
          fc.record({
            name: fc.constantFrom(...new Set([...STATEMENTS.value, ...STATEMENTS.plan])),
            when: fc.constantFrom(...WHENS),
          }),
        ),
      }),
      { minLength: 1, maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        const accounts = { first: await account(0), second: await account(1) };
        const batches = [await batch(VALUE), await batch(PLAN), await batch(PLAN)];
        const ends: (() => Promise<unknown>)[] = [];
        for (const { who, code, failing } of all) {
          if (who === 'first' || who === 'second') {
            const statement = failing && observed[accounts[who].place]!.statement(failing.name);
            if (failing) statement?.fail(failing.when);
            await redeem(accounts[who], batches[code]!.codeHash).catch(() => undefined);
            statement?.recover();
            continue;
          }
          await ends.pop()?.();
          if (who === 'other plan') ends.push(await grantOther(accounts.first).catch(() => async () => undefined));
        }
        await ends.pop()?.();
        const counts = await Promise.all(batches.map(({ batchId }) => redeemedCount(batchId)));
        const both = Object.values(accounts);
        const balances = await Promise.all(both.map(balanceOf));
        assert.equal(balances[0]! + balances[1]!, 200n + 5n * BigInt(counts[0]!));
        const days = (await Promise.all(both.map(daysOf))).flat();
        const granted = days.filter((each) => each >= 30).reduce((sum, each) => sum + each / 30, 0);
        assert.equal(granted, counts[1]! + counts[2]!);
        await assertSound(stored.databases);
      }),
      { numRuns: 25 },
    );
  });
});
