import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { NO_TERMS } from '../../test/notices/told-accounts.ts';
import { ACCOUNT, MemoryAccount } from '../../test/support/account-in-memory.ts';
import { NOW_MS, periodsAt } from '../../test/support/accounting-builders.ts';
import { propertyRuns } from '../../test/support/scope.ts';
import { countKeySpending } from '../accounting/reservations/limits/key-budgets.ts';
import { usedBudgets } from '../accounting/reservations/limits/used-budgets.ts';
import { decideAccount } from './account-decision.ts';
import type { AccountFacts } from './account-facts.ts';
import type { DueNotice } from './notice.ts';
import type { NoticeState } from './notice-states.ts';

const YUAN = 1_000_000_000n;
const HOUR_MS = 3_600_000;
const MEMBER = 'usr_1';

const OWNERS = {
  [MEMBER]: { accountId: ACCOUNT, id: MEMBER, name: 'Lin', prefix: null, userId: MEMBER },
  key_own: { accountId: ACCOUNT, id: 'key_own', name: 'laptop', prefix: 'sk-fg-Ab12', userId: MEMBER },
  key_free: { accountId: ACCOUNT, id: 'key_free', name: 'server', prefix: 'sk-fg-Cd34', userId: null },
};
type OwnerId = keyof typeof OWNERS;

/** Keeps the budgets of an owner and the states of the account as the stores do. */
class Owner {
  readonly states = new Map<string, NoticeState>();
  readonly #memory = new MemoryAccount({});
  readonly #id: OwnerId;
  readonly #keyId: string;
  nowMs = NOW_MS;

  constructor(id: OwnerId, model: string | null = null) {
    this.#id = id;
    this.#keyId = model === null ? id : `${id} ${model}`;
  }

  set(caps: Parameters<MemoryAccount['limitKey']>[0]): void {
    this.#memory.limitKey(caps, this.#keyId);
  }

  get row() {
    return this.#memory.state.keys.get(this.#keyId)!;
  }

  spend(yuan: number): void {
    countKeySpending(this.row, BigInt(Math.round(yuan * 100)) * (YUAN / 100n), periodsAt(this.nowMs));
  }

  look(budgetPercents: readonly number[] = [80, 100]): readonly DueNotice[] {
    const periods = periodsAt(this.nowMs);
    const used = usedBudgets(this.row, periods, budgetPercents[0] ?? 100);
    const facts: AccountFacts = {
      accountId: ACCOUNT,
      balanceNano: YUAN,
      lastEntryNo: 1n,
      lowBalanceNano: null,
      groupId: null,
      day: { dailyCapNano: null, ownDailyCapNano: null, dayBeganAtMs: 0, spentNano: 0n },
      subscriptions: [],
      budgets: used.map((budget) => ({ ...budget, owner: OWNERS[this.#id] })),
    };
    const terms = { ...NO_TERMS, nowMs: this.nowMs, periods, budgetPercents };
    const { notices, states, cleared } = decideAccount(facts, this.states, terms);
    for (const state of states) this.states.set(state.subject, state);
    for (const subject of cleared) this.states.delete(subject);
    return notices;
  }
}

const said = (notices: readonly DueNotice[]): string =>
  notices.map(({ data }) => `${data.scope} ${data.period} ${data.percent}`).join(', ');

describe('the notice budget.nearly_used', () => {
  it('is sent once per percentage and period, for the highest one reached', () => {
    const owner = new Owner(MEMBER);
    owner.set({ dailySpendCapNano: 10n * YUAN });
    const all = [7.99, 0.01, 1, 1, 5].map((yuan) => {
      owner.spend(yuan);
      return said(owner.look());
    });
    assert.deepEqual(all, ['', 'member day 80', '', 'member day 100', '']);
    owner.nowMs += 24 * HOUR_MS;
    assert.equal(said(owner.look()), '');
    owner.spend(12);
    assert.equal(said(owner.look()), 'member day 100');
  });

  it('counts each period for itself', () => {
    const owner = new Owner(MEMBER);
    owner.set({ dailySpendCapNano: 10n * YUAN, weeklySpendCapNano: 12n * YUAN, totalSpendCapNano: 100n * YUAN });
    owner.spend(10);
    assert.equal(said(owner.look()), 'member week 80, member day 100');
    owner.nowMs += 24 * HOUR_MS;
    owner.spend(2);
    assert.equal(said(owner.look()), 'member week 100');
  });

  it('is sent again for a changed budget', () => {
    const owner = new Owner('key_free');
    owner.set({ totalSpendCapNano: 10n * YUAN });
    owner.spend(8);
    assert.equal(said(owner.look()), 'key total 80');
    owner.set({ totalSpendCapNano: 20n * YUAN });
    assert.equal(said(owner.look()), '');
    owner.spend(8);
    assert.equal(said(owner.look()), 'key total 80');
    owner.set({ totalSpendCapNano: 5n * YUAN });
    assert.equal(said(owner.look()), 'key total 100');
  });

  it('is mailed to the member and the owners; about a key to the member who owns it, or else to the owners', () => {
    const mailed = (id: OwnerId) => {
      const owner = new Owner(id);
      owner.set({ dailySpendCapNano: YUAN });
      owner.spend(1);
      return owner.look()[0]!.mailTo;
    };
    assert.deepEqual(mailed(MEMBER), { userId: MEMBER, owners: true });
    assert.deepEqual(mailed('key_own'), { userId: MEMBER, owners: false });
    assert.deepEqual(mailed('key_free'), { userId: null, owners: true });
  });

  it('is sent for the first 20 end users of a period, and for the budget that others share', () => {
    const states = new Map<string, NoticeState>();
    const periods = periodsAt(NOW_MS);
    const look = (names: readonly (string | null)[]) => {
      const budgets = names.map((name) => ({
        accountId: ACCOUNT,
        owner: { accountId: ACCOUNT, id: 'endUser', name, prefix: null, userId: null },
        caller: { kind: 'endUser' as const, value: name },
        model: null,
        period: 'day' as const,
        ...{ capNano: YUAN, spentNano: YUAN, percent: 100, beganAtMs: periods.dayBeganAtMs, freesAtMs: 1 },
      }));
      const day = { dailyCapNano: null, ownDailyCapNano: null, dayBeganAtMs: 0, spentNano: 0n };
      const money = { balanceNano: YUAN, lastEntryNo: 1n, lowBalanceNano: null, groupId: null, day };
      const facts = { accountId: ACCOUNT, ...money, subscriptions: [], budgets };
      const decision = decideAccount(facts, states, { ...NO_TERMS, nowMs: NOW_MS, periods, budgetPercents: [80, 100] });
      for (const state of decision.states) states.set(state.subject, state);
      return decision.notices;
    };
    const names = Array.from({ length: 25 }, (_, n) => `user ${n}`);
    const first = look(names.slice(0, 15));
    assert.deepEqual([first.length, first[0]!.data.scope, first[0]!.data.name], [15, 'endUser', 'user 0']);
    assert.deepEqual(first[0]!.mailTo, { userId: null, owners: true });
    const next = look([...names, null]).map(({ data }) => data.name);
    assert.deepEqual(next, [...names.slice(15, 20), null]);
    assert.deepEqual(look([...names, null]), []);
  });

  it('contains the budget and its use', () => {
    const owner = new Owner('key_own', 'acme-large');
    owner.set({ weeklySpendCapNano: 10n * YUAN });
    owner.spend(8.5);
    const [notice] = owner.look();
    assert.deepEqual(notice!.data, {
      accountId: ACCOUNT,
      scope: 'key',
      ownerId: 'key_own',
      name: 'laptop',
      prefix: 'sk-fg-Ab12',
      model: 'acme-large',
      period: 'week',
      percent: 80,
      usedYuan: '8.5',
      limitYuan: '10',
      resetsAt: '2026-11-22T16:00:00.000Z',
    });
  });

  it('is sent for the daily cap of an account, its own or the one of its group', () => {
    const look = (day: Partial<AccountFacts['day']>, states: ReadonlyMap<string, NoticeState> = new Map()) => {
      const facts: AccountFacts = {
        ...{ accountId: ACCOUNT, balanceNano: YUAN, lastEntryNo: 1n, lowBalanceNano: null, groupId: 'partners' },
        day: { dailyCapNano: null, ownDailyCapNano: null, dayBeganAtMs: NOW_MS, spentNano: 9n * YUAN, ...day },
        ...{ subscriptions: [], budgets: [] },
      };
      const dailyCapNano = (groupId: string | null) => (groupId === 'partners' ? 10n * YUAN : null);
      return said(decideAccount(facts, states, { ...NO_TERMS, budgetPercents: [80, 100], dailyCapNano }).notices);
    };
    assert.equal(look({}), 'account day 80');
    assert.equal(look({ ownDailyCapNano: 9n * YUAN }), 'account day 100');
    assert.equal(look({ dailyCapNano: 20n * YUAN }), '');
    assert.equal(look({ ownDailyCapNano: 0n }), '');
    assert.equal(look({ dayBeganAtMs: NOW_MS - 48 * HOUR_MS }), '');
  });

  it('is sent exactly once for each period, budget and percentage, in any order of charges, looks and changes', () => {
    const step = fc.oneof(
      fc.record({ spend: fc.integer({ min: 0, max: 1_500 }) }),
      fc.record({ hours: fc.integer({ min: 1, max: 60 }) }),
      fc.record({ cap: fc.integer({ min: 0, max: 30 }) }),
      fc.constant({ look: true as const }),
    );
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 40 }),
        fc.uniqueArray(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 4 }),
        (steps, given) => {
          const percents = given.toSorted((one, other) => one - other);
          const owner = new Owner('key_free');
          owner.set({ dailySpendCapNano: 10n * YUAN, weeklySpendCapNano: 30n * YUAN });
          // As in the database, a notice is stored once for its key, also if a budget is set back to an earlier amount.
          const stored = new Set<string>();
          for (const each of [...steps, { look: true as const }]) {
            if ('spend' in each) owner.spend(each.spend / 100);
            if ('hours' in each) owner.nowMs += each.hours * HOUR_MS;
            if ('cap' in each) owner.set({ dailySpendCapNano: BigInt(each.cap) * YUAN });
            if (!('look' in each)) continue;
            const due = owner.look(percents).map(({ dedupeKey }) => dedupeKey);
            assert.equal(new Set(due).size, due.length);
            for (const key of due) stored.add(key);
            // What is reached now has been said, and nothing beyond it in this period.
            for (const budget of usedBudgets(owner.row, periodsAt(owner.nowMs), percents[0]!)) {
              const name = `budget ${ACCOUNT} key_free ${budget.period} ${budget.beganAtMs} ${budget.capNano}`;
              const said = percents.filter((percent) => stored.has(`budget.nearly_used ${name} ${percent}`));
              assert.equal(
                said.at(-1),
                percents.findLast((percent) => percent <= budget.percent),
                name,
              );
            }
            assert.deepEqual(owner.look(percents), []);
          }
        },
      ),
      { numRuns: propertyRuns(1_000) },
    );
  });
});

describe('the five-hour window', () => {
  it('causes a notice per percentage within five hours', () => {
    const states = new Map<string, NoticeState>();
    const plan = { name: 'Pro', quotaTokens: 1_000, periodDays: 30, weeklyCalls: 1_000, fiveHourCalls: 10 };
    const look = (hours: number, calls: number): string => {
      const nowMs = NOW_MS + hours * HOUR_MS;
      const facts: AccountFacts = {
        ...{ accountId: ACCOUNT, balanceNano: YUAN, lastEntryNo: 1n, lowBalanceNano: null, groupId: null },
        day: { dailyCapNano: null, ownDailyCapNano: null, dayBeganAtMs: 0, spentNano: 0n },
        budgets: [],
        subscriptions: [
          {
            ...{ id: 'sub_1', planId: 'pro', startsAtMs: NOW_MS, endsAtMs: NOW_MS + 720 * HOUR_MS },
            ...{ weekBeganAtMs: NOW_MS, weekCalls: calls, periodBeganAtMs: NOW_MS, periodTokens: 0 },
            window: { calls, oldestAtMs: nowMs - HOUR_MS },
          },
        ],
      };
      const terms = { ...NO_TERMS, nowMs, periods: periodsAt(nowMs), planPercents: [80, 100] };
      const { notices, states: next } = decideAccount(facts, states, { ...terms, plans: new Map([['pro', plan]]) });
      for (const state of next) states.set(state.subject, state);
      return notices.map(({ data }) => `${data.measure} ${data.percent} ${data.resetsAt}`).join();
    };
    assert.equal(look(0, 7), '');
    assert.equal(look(0, 8), 'five_hour_calls 80 2026-11-20T08:00:00.000Z');
    assert.equal(look(1, 7), '');
    assert.equal(look(2, 9), '');
    assert.equal(look(3, 10), 'five_hour_calls 100 2026-11-20T11:00:00.000Z');
    assert.equal(look(4.9, 10), '');
    assert.equal(look(5, 8), 'five_hour_calls 80 2026-11-20T13:00:00.000Z');
    assert.equal(look(5.1, 10), 'five_hour_calls 100 2026-11-20T13:06:00.000Z');
  });
});
