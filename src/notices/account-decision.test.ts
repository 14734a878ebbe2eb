import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { periodsAt } from '../../test/support/accounting-builders.ts';
import { decideAccount } from './account-decision.ts';
import type { AccountFacts, AccountTerms } from './account-facts.ts';
import type { NoticeState } from './notice-states.ts';

const YUAN = 1_000_000_000n;
const DAY_MS = 86_400_000;
const START_MS = Date.parse('2026-11-01T00:00:00Z');

const terms: AccountTerms = {
  nowMs: START_MS + DAY_MS,
  lowBalanceNano: 10n * YUAN,
  periods: periodsAt(START_MS + DAY_MS),
  planPercents: [80, 100],
  budgetPercents: [80, 100],
  plans: new Map([['pro', { name: 'Pro', quotaTokens: 1_000, periodDays: 30, weeklyCalls: 10, fiveHourCalls: 10 }]]),
  dailyCapNano: () => null,
};

const NO_WINDOW = { calls: 0, oldestAtMs: null };
const NOTHING_USED: Pick<AccountFacts, 'groupId' | 'day' | 'budgets'> = {
  groupId: null,
  day: { dailyCapNano: null, ownDailyCapNano: null, dayBeganAtMs: 0, spentNano: 0n },
  budgets: [],
};

interface UsedPlan {
  readonly weekCalls?: number;
  readonly weekBeganAtMs?: number;
  readonly periodTokens?: number;
  readonly window?: AccountFacts['subscriptions'][number]['window'];
}

/** Keeps the states of an account as the store does. */
class Account {
  readonly states = new Map<string, NoticeState>();
  entryNo = 0n;

  /** Returns the notices caused by a change. */
  look(given: Partial<AccountFacts>, changed: Partial<AccountTerms> = {}): string[] {
    const facts: AccountFacts = {
      accountId: 'acct_1',
      balanceNano: 100n * YUAN,
      lastEntryNo: ++this.entryNo,
      lowBalanceNano: null,
      subscriptions: [],
      ...NOTHING_USED,
      ...given,
    };
    const { notices, states, cleared } = decideAccount(facts, this.states, { ...terms, ...changed });
    for (const state of states) this.states.set(state.subject, state);
    for (const subject of cleared) this.states.delete(subject);
    return notices.map(({ dedupeKey }) => dedupeKey);
  }

  balance(yuan: number, lowBalanceNano: bigint | null = null): string {
    return this.look({ balanceNano: BigInt(Math.round(yuan * 100)) * (YUAN / 100n), lowBalanceNano }).join();
  }

  plan(used: UsedPlan, nowMs = terms.nowMs): string[] {
    const subscription = {
      id: 'sub_1',
      planId: 'pro',
      startsAtMs: START_MS,
      endsAtMs: START_MS + 60 * DAY_MS,
      weekBeganAtMs: START_MS,
      weekCalls: 0,
      periodBeganAtMs: START_MS,
      periodTokens: 0,
      window: NO_WINDOW,
      ...used,
    };
    return this.look({ subscriptions: [subscription] }, { nowMs });
  }
}

describe('the notice balance.low', () => {
  it('is sent once when the balance falls below the threshold, and again after it rose well above', () => {
    const account = new Account();
    assert.deepEqual(
      [100, 10, 9.99, 9, 10.01, 9, 11, 9.5, 11.01, 9, 2].map((yuan) => account.balance(yuan)),
      ['', '', 'balance.low acct_1 3', '', '', '', '', '', '', 'balance.low acct_1 10', ''],
    );
  });

  it('prefers the threshold of the account over the configured one', () => {
    const account = new Account();
    assert.equal(account.balance(30, 50n * YUAN), 'balance.low acct_1 1');
    assert.equal(account.balance(8, 0n), '');
    assert.equal(account.balance(-0.01, 0n), 'balance.low acct_1 3');
  });

  it('is not sent without a threshold, or if the account was never topped up', () => {
    const account = new Account();
    assert.deepEqual(account.look({ balanceNano: 0n }, { lowBalanceNano: null }), []);
    assert.deepEqual(account.look({ balanceNano: 0n, lastEntryNo: 0n }), []);
  });

  it('contains the balance and the threshold', () => {
    const facts = {
      accountId: 'acct_1',
      balanceNano: 9_500_000_000n,
      lastEntryNo: 7n,
      lowBalanceNano: null,
      subscriptions: [],
      ...NOTHING_USED,
    };
    const [notice] = decideAccount(facts, new Map(), terms).notices;
    assert.deepEqual(notice!.data, { accountId: 'acct_1', balanceYuan: '9.5', thresholdYuan: '10' });
  });
});

describe('the notice plan.nearly_used', () => {
  it('is sent once per percentage and period, for the highest one reached', () => {
    const account = new Account();
    const said = [799, 800, 850, 999, 1_000, 1_200].map((periodTokens) => account.plan({ periodTokens }).join());
    assert.deepEqual(said, [
      '',
      'plan.nearly_used tokens sub_1 0 80',
      '',
      '',
      'plan.nearly_used tokens sub_1 0 100',
      '',
    ]);
    assert.deepEqual(new Account().plan({ periodTokens: 1_500 }), ['plan.nearly_used tokens sub_1 0 100']);
  });

  it('is sent again in the next week, and ignores the count of the last week', () => {
    const account = new Account();
    const nextWeekMs = START_MS + 8 * DAY_MS;
    assert.deepEqual(account.plan({ weekCalls: 8 }), ['plan.nearly_used weekly_calls sub_1 0 80']);
    assert.deepEqual(account.plan({ weekCalls: 10 }, nextWeekMs), []);
    assert.deepEqual(account.plan({ weekCalls: 9, weekBeganAtMs: START_MS + 7 * DAY_MS }, nextWeekMs), [
      'plan.nearly_used weekly_calls sub_1 1 80',
    ]);
  });

  it('is not repeated after a failed call freed its place', () => {
    const account = new Account();
    assert.deepEqual(
      [10, 9, 7, 8, 10].map((weekCalls) => account.plan({ weekCalls }).join()),
      ['plan.nearly_used weekly_calls sub_1 0 100', '', '', '', ''],
    );
  });

  it('is not sent for a plan that has ended or is no longer configured', () => {
    const account = new Account();
    assert.deepEqual(account.plan({ periodTokens: 1_000 }, START_MS + 61 * DAY_MS), []);
    assert.deepEqual(account.look({ subscriptions: [] }), []);
  });

  it('contains the end of the period, or of the plan if that is earlier', () => {
    const subscription = {
      ...{ id: 'sub_1', planId: 'pro', startsAtMs: START_MS, endsAtMs: START_MS + 5 * DAY_MS },
      ...{ weekBeganAtMs: START_MS, weekCalls: 9, periodBeganAtMs: START_MS, periodTokens: 0, window: NO_WINDOW },
    };
    const facts = {
      accountId: 'a',
      balanceNano: 0n,
      lastEntryNo: 0n,
      lowBalanceNano: null,
      subscriptions: [subscription],
      ...NOTHING_USED,
    };
    assert.deepEqual(decideAccount(facts, new Map(), terms).notices[0]!.data, {
      accountId: 'a',
      subscriptionId: 'sub_1',
      planId: 'pro',
      planName: 'Pro',
      measure: 'weekly_calls',
      percent: 80,
      used: 9,
      limit: 10,
      resetsAt: '2026-11-06T00:00:00.000Z',
    });
  });
});
