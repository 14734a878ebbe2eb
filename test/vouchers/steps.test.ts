import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createSubscriptionStore } from '../../src/accounting/plans/subscriptions-store.ts';
import { createGiftStore } from '../../src/accounting/vouchers/gift-store.ts';
import { createRedemptionStore } from '../../src/accounting/vouchers/redemption-store.ts';
import type { Redemptions } from '../../src/accounting/vouchers/redemptions.ts';
import type { OpenRedemption, RedemptionRequest, VoucherGift } from '../../src/accounting/vouchers/voucher.ts';
import { createVoucherStore } from '../../src/accounting/vouchers/vouchers-store.ts';
import { createInSteps } from '../../src/app/in-steps.ts';
import type { Database } from '../../src/db/database.ts';
import { CONTEXT } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type HomeLanes, inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { finishNow } from '../support/in-steps.ts';
import { type ObservedDatabase, observeDatabase } from '../support/observed-database.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';

/**
 * Codes are redeemed in steps: in the directory and in a partition, which are two databases here. Whatever fails in between, and whoever
 * goes on with it, a code gives once, or is free and has given nothing.
 */

const AT = new Date('2026-11-20T12:00:00Z');
const DAY_MS = 86_400_000;
const PLANS = [
  { id: 'coder', periodDays: 30, sale: null },
  { id: 'other', periodDays: 30, sale: null },
];
const PERIOD = { periodMs: 30 * DAY_MS, sale: null };
const VALUE: VoucherGift = { kind: 'value', amountNano: 5n };
const PLAN: VoucherGift = { kind: 'plan', planId: 'coder' };
const INT64_MAX = 2n ** 63n - 1n;

const INSERT_ACCOUNT = `insert into accounts (id, name, verified, status, created_at, updated_at) values ($1, 'a', true, 'active', now(), now())`;

/** What the tests do with codes: accounts and batches, and requests for them. */
class Codes {
  readonly #lanes: HomeLanes;
  readonly steps: ReturnType<typeof createInSteps>;
  #count = 0;

  constructor(lanes: HomeLanes) {
    this.#lanes = lanes;
    this.steps = createInSteps(placedInOne(lanes), () => PLANS);
  }

  get redemptions(): Redemptions {
    return this.steps.redemptions;
  }

  id(prefix: string): string {
    return `${prefix}_${String(this.#count++).padStart(6, '0')}`;
  }

  async account(openingNano = 100n): Promise<string> {
    const account = { id: this.id('acct'), name: 'a', email: null, verified: true, dailyCapNano: null, at: AT };
    await this.steps.accountCreations.create({ ...account, openingNano });
    // Of two databases, the transaction is in that of the partition.
    const { directory, partition } = this.#lanes;
    if ((directory as unknown) !== partition) await sql(directory, INSERT_ACCOUNT, [account.id]);
    return account.id;
  }

  /** A batch of one voucher. */
  async batch(gift: VoucherGift): Promise<{ readonly batchId: string; readonly codeHash: Buffer }> {
    const batchId = this.id('vb');
    const codeHash = Buffer.from(batchId.padEnd(32, '.'));
    const made = { id: batchId, name: 'b', gift, vouchers: [{ codeHash, codeEnd: 'CODE' }], expiresAt: null };
    await createVoucherStore(this.#lanes.directory).insert({ ...made, at: AT, createdBy: 'x', idempotencyKey: null });
    return { batchId, codeHash };
  }

  request(accountId: string, codeHash: Buffer): RedemptionRequest {
    const [redemptionId, subscriptionId] = [this.id('vr'), this.id('sub')];
    return { accountId, codeHash, redemptionId, subscriptionId, by: 'x', at: AT };
  }

  async redeem(accountId: string, codeHash: Buffer): Promise<string> {
    return (await this.redemptions.redeem(this.request(accountId, codeHash))).outcome;
  }

  async balanceOf(accountId: string): Promise<bigint> {
    const balances = await createLedgerStore(this.#lanes.partition).findBalances([accountId], CONTEXT);
    return balances.get(accountId)!.balanceNano;
  }

  /** How many days each of its subscriptions has, the newest first. */
  async daysOf(accountId: string): Promise<number[]> {
    const found = await createSubscriptionStore(this.#lanes.partition).list(accountId, null, 10);
    return found.map(({ startsAt, endsAt }) => (endsAt.getTime() - startsAt.getTime()) / DAY_MS);
  }

  async redeemedCount(batchId: string): Promise<readonly [number, number]> {
    const batch = await createVoucherStore(this.#lanes.directory).find(batchId);
    return [batch!.redeemedCount, (await this.redemptions.list(batchId, null, 10)).length];
  }

  /** Another plan in the way of those of vouchers; returns how to end it. */
  async grantOther(accountId: string): Promise<() => Promise<unknown>> {
    const subscriptions = createSubscriptionStore(this.#lanes.partition);
    const [startsAt, endsAt] = [new Date(AT.getTime() - DAY_MS), new Date(AT.getTime() + DAY_MS)];
    const granted = { accountId, id: this.id('sub'), planId: 'other', startsAt, endsAt, at: AT };
    const { id } = (await subscriptions.grant(granted))!;
    return () => subscriptions.cancel(accountId, id, AT);
  }
}

const countOf = async (database: Database, table: string): Promise<number> => {
  return (await sql<{ n: number }>(database, `select count(*)::int as n from ${table}`))[0]!.n;
};

/** The statements of a redemption, in their order. */
const STEPS = {
  value: ['vouchers.insert-redemption', 'ledger.post-entry', 'vouchers.complete-redemption'],
  plan: ['vouchers.insert-redemption', 'plans.insert-request', 'vouchers.complete-redemption'],
} as const;
const WHENS = ['before', 'after'] as const;

describe(`redemptions in steps`, { timeout: 120_000 }, () => {
  let stored: { readonly directory: TestDatabase; readonly partition: TestDatabase };
  let observed: { readonly directory: ObservedDatabase; readonly partition: ObservedDatabase };
  let codes: Codes;

  before(async () => {
    stored = { directory: await createTestDatabase(), partition: await createTestDatabase() };
    observed = {
      directory: observeDatabase(stored.directory.database),
      partition: observeDatabase(stored.partition.database),
    };
    codes = new Codes({ directory: observed.directory.database, partition: observed.partition.database });
  });
  after(async () => {
    await stored?.directory.remove();
    await stored?.partition.remove();
  });

  /** Fails while it runs, the second time: the first one is that of what is foreseen. */
  async function failing(step: string, when: 'before' | 'after', run: () => Promise<unknown>): Promise<void> {
    const isDirectory = step.endsWith('-redemption');
    const statement = observed[isDirectory ? 'directory' : 'partition'].statement(step);
    if (isDirectory) {
      statement.fail(when);
      await assert.rejects(run(), { code: 'ECONNRESET' });
    } else {
      // Held where the code is taken, which is behind what is foreseen.
      const taken = observed.directory.statement('vouchers.insert-redemption');
      taken.hold();
      const reached = taken.reached(taken.asked + 1);
      const running = assert.rejects(run(), { code: 'ECONNRESET' });
      await reached;
      statement.fail(when);
      taken.release();
      await running;
    }
    statement.recover();
  }

  for (const gift of [VALUE, PLAN])
    for (const step of STEPS[gift.kind])
      for (const when of WHENS) {
        it(`of a ${gift.kind} that fail ${when} ${step} give once, by a repeat or without one`, async () => {
          const isBegun = step !== 'vouchers.insert-redemption';
          const isGiven = step === 'vouchers.complete-redemption';
          const isWhole = isGiven && when === 'after';
          for (const isRepeated of [true, false]) {
            const [account, other] = [await codes.account(), await codes.account()];
            const { batchId, codeHash } = await codes.batch(gift);
            await failing(step, when, () => codes.redeem(account, codeHash));

            assert.equal(await codes.balanceOf(account), isGiven && gift === VALUE ? 105n : 100n);
            assert.deepEqual(await codes.daysOf(account), isGiven && gift === PLAN ? [30] : []);
            assert.deepEqual(await codes.redeemedCount(batchId), isWhole ? [1, 1] : [0, 0]);
            // As long as it is under way nobody else has the code, whatever is left to do.
            if (isBegun) assert.equal(await codes.redeem(other, codeHash), 'unknown_code');

            const outcome = isWhole ? 'repeated' : 'redeemed';
            if (isRepeated) assert.equal(await codes.redeem(account, codeHash), outcome);
            await finishNow(codes.steps);
            if (!isRepeated && !isBegun) {
              assert.equal(await codes.redeem(other, codeHash), 'redeemed');
              continue;
            }
            assert.equal(await codes.redeem(account, codeHash), 'repeated');
            assert.equal(await codes.redeem(other, codeHash), 'unknown_code');
            await finishNow(codes.steps);
            assert.equal(await codes.balanceOf(account), gift === VALUE ? 105n : 100n);
            assert.deepEqual(await codes.daysOf(account), gift === PLAN ? [30] : []);
            assert.deepEqual(await codes.redeemedCount(batchId), [1, 1]);
          }
        });
      }

  it('renew a plan that runs once, however often their steps run', async () => {
    const account = await codes.account();
    const [first, second] = [await codes.batch(PLAN), await codes.batch(PLAN)];
    assert.equal(await codes.redeem(account, first.codeHash), 'redeemed');
    await failing('vouchers.complete-redemption', 'before', () => codes.redeem(account, second.codeHash));
    assert.deepEqual(await codes.daysOf(account), [60]);
    await Promise.all([
      finishNow(codes.steps),
      codes.redeem(account, second.codeHash),
      codes.redeem(account, second.codeHash),
      finishNow(codes.steps),
    ]);
    assert.deepEqual(await codes.daysOf(account), [60]);
    const [redemption] = await codes.redemptions.list(second.batchId, null, 10);
    const [subscription] = await createSubscriptionStore(stored.partition.database).list(account, null, 10);
    assert.equal(redemption!.subscriptionId, subscription!.id);
    assert.deepEqual(redemption!.subscriptionEndsAt, subscription!.endsAt);
  });

  it('are refused as long as the partition would refuse, and leave nothing', async () => {
    const account = await codes.account();
    const [coder, unknown] = [await codes.batch(PLAN), await codes.batch({ kind: 'plan', planId: 'gone' })];
    const before = await countOf(stored.directory.database, 'voucher_redemptions');
    const end = await codes.grantOther(account);
    assert.equal(await codes.redeem(account, coder.codeHash), 'other_plan');
    assert.equal(await codes.redeem(account, unknown.codeHash), 'unknown_plan');
    const rich = await codes.account(INT64_MAX - 3n);
    const value = await codes.batch(VALUE);
    assert.equal(await codes.redeem(rich, value.codeHash), 'out_of_range');
    assert.equal(await codes.redeem('acct_none', value.codeHash), 'unknown_account');
    // An account that is under way has a balance, and is not there.
    await stored.partition.database.script(`insert into balances (account_id) values ('acct_under_way')`);
    assert.equal(await codes.redeem('acct_under_way', value.codeHash), 'unknown_account');
    await stored.directory.database.script(`insert into accounts (id, name, verified, status, created_at, updated_at)
values ('acct_without', 'n', true, 'active', now(), now())`);
    assert.equal(await codes.redeem('acct_without', value.codeHash), 'unknown_account');
    assert.equal(await countOf(stored.directory.database, 'voucher_redemptions'), before);
    assert.equal(await countOf(stored.partition.database, 'refused_redemptions'), 0);
    await end();
    assert.equal(await codes.redeem(account, coder.codeHash), 'redeemed');
    assert.equal(await codes.redeem(account, value.codeHash), 'redeemed');
  });

  it('that the partition comes to refuse leave the code free, and whoever is late to give finds them refused', async () => {
    const [directory, partition] = [
      createRedemptionStore(stored.directory.database),
      createGiftStore(stored.partition.database),
    ];
    const begin = async (accountId: string, gift: VoucherGift) => {
      const { batchId, codeHash } = await codes.batch(gift);
      const begun = await directory.begin(codes.request(accountId, codeHash));
      assert.ok(begun.outcome === 'under_way');
      return { batchId, codeHash, open: begun.open };
    };
    const [account, other] = [await codes.account(), await codes.account()];
    const plan = await begin(account, PLAN);
    const end = await codes.grantOther(account);
    // Refused to the repeat of whoever began it, but not taken back yet: nobody else has the code.
    const taking = observed.directory.statement('vouchers.delete-redemption');
    taking.fail('before');
    await assert.rejects(codes.redeem(account, plan.codeHash), { code: 'ECONNRESET' });
    taking.recover();
    assert.equal(await codes.redeem(other, plan.codeHash), 'unknown_code');
    await end();
    // It would be given now, and is not: the first decision stays.
    assert.equal(await partition.give(plan.open, PERIOD), 'other_plan');
    await finishNow(codes.steps);
    assert.deepEqual(await codes.daysOf(account), [2]);
    assert.equal(await codes.redeem(other, plan.codeHash), 'redeemed');
    assert.equal(await partition.give(plan.open, PERIOD), 'other_plan');
    await assert.rejects(directory.complete(plan.open, { entryNo: null, subscriptionId: 'sub' }));
    await directory.undo(plan.open);
    assert.deepEqual(await codes.redeemedCount(plan.batchId), [1, 1]);
    assert.deepEqual(await codes.daysOf(other), [30]);

    const rich = await codes.account(INT64_MAX - 7n);
    const [value, second] = [await begin(rich, VALUE), await begin(rich, VALUE)];
    await finishNow(codes.steps);
    assert.equal(await codes.balanceOf(rich), INT64_MAX - 2n);
    assert.equal(await partition.give(second.open, null), 'out_of_range');
    // The one that was given is so still, although there is no room for it any more.
    assert.deepEqual(await partition.give(value.open, null), { entryNo: 2n, subscriptionId: null });
    assert.equal(await partition.foresee(value.open, null), null);
    assert.deepEqual(await codes.redeemedCount(value.batchId), [1, 1]);
    assert.deepEqual(await codes.redeemedCount(second.batchId), [0, 0]);
    // The same account may have it by another redemption, and the first one stays refused.
    const spent = {
      accountId: rich,
      kind: 'adjustment',
      amountNano: -100n,
      memo: null,
      idempotencyKey: null,
    } as const;
    await createLedgerStore(stored.partition.database).post({ ...spent, at: AT });
    assert.equal(await codes.redeem(rich, second.codeHash), 'redeemed');
    assert.equal(await partition.give(second.open, null), 'out_of_range');
    assert.equal(await codes.balanceOf(rich), INT64_MAX - 97n);
  });

  it('of one code by several accounts and nodes are of one of them', async () => {
    const accounts = [await codes.account(), await codes.account(), await codes.account()];
    const { batchId, codeHash } = await codes.batch(VALUE);
    const tries = Array.from({ length: 12 }, (_, n) => codes.redeem(accounts[n % 3]!, codeHash));
    const outcomes = await Promise.all([...tries, ...[1, 2, 3].map(() => finishNow(codes.steps).then(() => ''))]);
    assert.equal(outcomes.filter((outcome) => outcome === 'unknown_code').length, 8);
    assert.deepEqual((await Promise.all(accounts.map((account) => codes.balanceOf(account)))).sort(), [
      100n,
      100n,
      105n,
    ]);
    assert.deepEqual(await codes.redeemedCount(batchId), [1, 1]);
  });

  it('of a canceled batch that are under way are finished with the cancellation', async () => {
    const account = await codes.account();
    const { batchId, codeHash } = await codes.batch(VALUE);
    await failing('ledger.post-entry', 'before', () => codes.redeem(account, codeHash));
    await createVoucherStore(stored.directory.database).cancel(batchId, AT);
    await codes.redemptions.finishBatch(batchId);
    assert.deepEqual(await codes.redeemedCount(batchId), [1, 1]);
    assert.equal(await codes.balanceOf(account), 105n);
    const later = await codes.batch(VALUE);
    await createVoucherStore(stored.directory.database).cancel(later.batchId, AT);
    assert.equal(await codes.redeem(account, later.codeHash), 'canceled');
  });

  it('that have just begun are left to their requests', async () => {
    const account = await codes.account();
    await failing('vouchers.complete-redemption', 'before', async () =>
      codes.redeem(account, (await codes.batch(VALUE)).codeHash),
    );
    assert.deepEqual(await codes.redemptions.unfinished(60_000).list(''), []);
    assert.equal((await codes.redemptions.unfinished(0).list('')).length, 1);
    await finishNow(codes.steps);
  });
});

describe(`any order of redemptions, failures and refusals`, { timeout: 180_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
  });
  after(() => stored?.remove());

  const step = fc.constantFrom(
    ...new Set([...STEPS.value, ...STEPS.plan, 'vouchers.delete-redemption', 'vouchers.insert-refused']),
  );
  const acts = fc.array(
    fc.record({
      who: fc.constantFrom('first', 'second', 'background', 'other plan', 'no other plan', 'late'),
      code: fc.nat(2),
      failing: fc.option(fc.record({ step, when: fc.constantFrom(...WHENS) })),
      /** Begun by the first account before, as a node that then died. */
      isBegunBefore: fc.boolean(),
    }),
    { minLength: 1, maxLength: 8 },
  );

  it('gives each code once or not at all, and the audit finds nothing', async () => {
    const observed = observeDatabase(stored.database);
    const codes = new Codes(inOneDatabase(observed.database));
    const directory = createRedemptionStore(stored.database);
    const partition = createGiftStore(stored.database);
    await fc.assert(
      fc.asyncProperty(acts, async (all) => {
        const accounts = { first: await codes.account(), second: await codes.account() };
        const batches = [await codes.batch(VALUE), await codes.batch(PLAN), await codes.batch(PLAN)];
        const ends: (() => Promise<unknown>)[] = [];
        /** Redemptions that were begun, for somebody who gives late. */
        const begun: OpenRedemption[] = [];
        for (const { who, code, failing, isBegunBefore } of all) {
          const { codeHash } = batches[code]!;
          if (isBegunBefore) {
            const standing = await directory.begin(codes.request(accounts.first, codeHash));
            if (standing.outcome === 'under_way') begun.push(standing.open);
          }
          const statement = failing && observed.statement(failing.step);
          if (failing) statement?.fail(failing.when);
          const run = async (): Promise<unknown> => {
            if (who === 'background') return finishNow(codes.steps);
            if (who === 'late') return Promise.all(begun.map((open) => partition.give(open, PERIOD)));
            if (who === 'first' || who === 'second') return codes.redeem(accounts[who], codeHash);
            await ends.pop()?.();
            if (who === 'other plan') ends.push(await codes.grantOther(accounts.first));
            return undefined;
          };
          await run().catch(() => undefined);
          statement?.recover();
        }
        await finishNow(codes.steps);
        await ends.pop()?.();
        for (const open of begun) await partition.give(open, PERIOD);
        const counts = await Promise.all(batches.map(({ batchId }) => codes.redeemedCount(batchId)));
        const ids = Object.values(accounts);
        const balances = await Promise.all(ids.map((id) => codes.balanceOf(id)));
        assert.equal(balances[0]! + balances[1]!, 200n + 5n * BigInt(counts[0]![0]));
        const days = (await Promise.all(ids.map((id) => codes.daysOf(id)))).flat();
        const granted = days.filter((each) => each >= 30).reduce((sum, each) => sum + each / 30, 0);
        assert.equal(granted, counts[1]![0] + counts[2]![0]);
        assert.equal((await directory.listUnderWay('', { olderThanMs: 0 })).length, 0);
        await assertSound(inOneDatabase(stored.database));
      }),
      { numRuns: 40 },
    );
  });
});
