import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readDemoConfig } from '../../../../test/support/demo-config.ts';
import type { History, HistoryRow } from '../../../accounting/history/history-store.ts';
import { compilePlans } from '../../../accounting/plans/plan.ts';
import type { FillRandom } from '../../../lib/ids.ts';
import { seededRandom } from '../../../lib/seeded-random.ts';
import { createNewDemo, type NewDemo } from '../new-demo.ts';
import { makeMonth, monthStartMs } from './month.ts';

const config = readDemoConfig();
const PLAN = compilePlans(config).find(({ id }) => id === 'demo-coding')!;
const DAY_MS = 86_400_000;
const FIVE_HOURS_MS = 5 * 3_600_000;

function monthUntil(now: string): { readonly history: History; readonly demo: NewDemo; readonly nowMs: number } {
  const nowMs = Date.parse(now);
  const random = seededRandom(7);
  const fill: FillRandom = (bytes) => {
    for (let i = 0; i < bytes.length; i++) bytes[i] = 256 * random();
  };
  const demo = createNewDemo({ nowMs: () => nowMs }, monthStartMs(nowMs), fill);
  return {
    history: makeMonth({ config, demo, passwordHash: 'hash', planId: PLAN.id, nowMs, fillRandom: fill }),
    demo,
    nowMs,
  };
}

const rowsOf = ({ rows }: History, table: keyof History['rows']): readonly HistoryRow[] => rows[table] ?? [];

/** By day and by night, at the turn of a day, a week, a month and a year in the billing time zone, and on a leap day. */
const INSTANTS = [
  '2026-11-23T03:00:00Z',
  '2026-11-22T16:00:00Z',
  '2026-11-22T19:30:00.123Z',
  '2026-12-31T16:00:00Z',
  '2027-03-01T00:00:00Z',
  '2028-02-29T12:34:56.789Z',
  '2026-07-05T15:59:59.999Z',
];

for (const now of INSTANTS) {
  describe(`the demo's month until ${now}`, () => {
    const { history, demo, nowMs } = monthUntil(now);

    it('has thousands of completed calls of all kinds in 30 days', () => {
      const { outcomes } = history;
      assert.ok(outcomes.length > 3_000 && outcomes.length < 6_000, String(outcomes.length));
      const statuses = new Set(outcomes.map(({ status }) => status));
      assert.deepEqual(statuses, new Set(['succeeded', 'failed', 'aborted']));
      assert.deepEqual(new Set(outcomes.map(({ model }) => model)), new Set(Object.keys(config.models)));
      const days = new Set(outcomes.map(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 10)));
      assert.ok(days.size >= 30, String(days.size));
      for (const { startedAtMs, endedAtMs } of outcomes) {
        assert.ok(startedAtMs >= monthStartMs(nowMs) && startedAtMs <= endedAtMs && endedAtMs < nowMs);
      }
      assert.equal(new Set(outcomes.map(({ callId }) => callId)).size, outcomes.length);
      assert.equal(history.unresolved.length, 2, 'unresolved calls');
    });

    it('ends with a balance of ¥100 for the demo, and gapless ledgers', () => {
      const balances = rowsOf(history, 'balances');
      assert.equal(balances.find((row) => row.accountId === demo.accountId)?.balanceNano, 100_000_000_000n);
      for (const balance of balances) {
        const entries = rowsOf(history, 'ledger_entries').filter((row) => row.accountId === balance.accountId);
        let sum = 0n;
        for (const [i, entry] of entries.entries()) {
          sum += BigInt(String(entry.amountNano));
          assert.equal(entry.entryNo, i + 1);
          assert.equal(entry.balanceAfterNano, sum);
          assert.ok(Number(entry.createdAtMs) < nowMs);
          if (i > 0)
            assert.ok(Number(entry.createdAtMs) >= Number(entries[i - 1]!.createdAtMs), 'entries go back in time');
        }
        assert.equal(balance.balanceNano, sum);
        // An account may overdraw by one call.
        assert.ok(sum > -2_000_000_000n, String(sum));
      }
    });

    it('uses keys only after they are created', () => {
      const keys = new Map(rowsOf(history, 'api_keys').map((row) => [row.id, row]));
      for (const { keyId, startedAtMs, accountId } of history.outcomes) {
        const key = keys.get(keyId);
        assert.equal(key?.accountId, accountId);
        assert.ok(startedAtMs >= Number(key.createdAtMs), `${key.name} was used before it was made`);
        if (key.revokedAtMs !== null)
          assert.ok(startedAtMs <= Number(key.revokedAtMs), `${key.name} was used after its end`);
      }
    });

    it('has the plan of the demo in use in every window, within its limits', () => {
      const [subscription] = rowsOf(history, 'subscriptions');
      assert.ok(subscription !== undefined);
      assert.ok(Number(subscription.endsAtMs) > nowMs && Number(subscription.startsAtMs) < nowMs);
      const slots = rowsOf(history, 'plan_slots');
      assert.equal(subscription.slots, slots.length);
      assert.ok(slots.length > 5, String(slots.length));
      assert.ok(
        Number(subscription.weekCalls) >= slots.length - 1 && Number(subscription.weekCalls) < PLAN.weeklyCalls,
      );
      assert.ok(Number(subscription.periodTokens) < PLAN.quotaTokens);
      const times = history.outcomes
        .filter(({ context }) => context === 'coding')
        .map(({ startedAtMs }) => startedAtMs)
        .sort((left, right) => left - right);
      for (const [i, time] of times.entries()) {
        assert.ok(time >= Number(subscription.startsAtMs));
        const window = times.slice(0, i + 1).filter((other) => other > time - FIVE_HOURS_MS);
        assert.ok(window.length <= PLAN.fiveHourCalls, `${window.length} calls in five hours`);
        assert.ok(time < Number(subscription.weekBeganAtMs) + 7 * DAY_MS);
      }
    });

    it('has a suspended account, an unverified one, one without money, and refusals', () => {
      const accounts = rowsOf(history, 'accounts');
      assert.equal(accounts.length, 5);
      assert.equal(accounts.filter(({ status }) => status === 'suspended').length, 1);
      assert.equal(accounts.filter(({ verified }) => verified === false).length, 1);
      const codes = new Set(rowsOf(history, 'refusals').map(({ code }) => code));
      assert.ok(codes.has('invalid_api_key'));
      for (const { atMs } of rowsOf(history, 'refusals')) assert.ok(Number(atMs) < nowMs);
      assert.equal(rowsOf(history, 'voucher_redemptions').length, 2);
    });
  });
}

describe("the demo's month", () => {
  it('is the same each time, except for secrets', () => {
    const [first, second] = [monthUntil(INSTANTS[0]!), monthUntil(INSTANTS[0]!)];
    assert.deepEqual(first.history, second.history);
  });
});
