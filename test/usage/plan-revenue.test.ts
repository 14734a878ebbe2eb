import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { Dimension, UsageFilter } from '../../src/accounting/usage/group-sums-store.ts';
import { readUsage, USAGE_START } from '../../src/accounting/usage/usage.ts';
import { createUsageStore, type UsageStore } from '../../src/accounting/usage/usage-store.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { earnedNano } from '../support/earned-nano.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';

/** Plan revenue as the database sums it, compared with the revenue of each period. */

const DAY_MS = 86_400_000;
const FIRST_MS = Date.UTC(2026, 9, 25);
const UNTIL = 20;
const dayOf = (n: number): string => new Date(FIRST_MS + n * DAY_MS).toISOString().slice(0, 10);
const NO_FILTER: UsageFilter = {
  accountId: null,
  keyId: null,
  model: null,
  provider: null,
  status: null,
  context: null,
  from: null,
  to: null,
};

const anyPeriod = fc.record({
  account: fc.constantFrom('acct_0', 'acct_1'),
  group: fc.constantFrom(null, 'resellers'),
  first: fc.integer({ min: 0, max: 25 }),
  days: fc.integer({ min: 1, max: 15 }),
  priceNano: fc.bigInt(0n, 10n ** 15n),
  /** The hour of the period in which it was canceled. */
  canceledAfterHours: fc.option(fc.integer({ min: -30, max: 400 })),
});
type Period = ReturnType<typeof anyPeriod.generate>['value'];

/** The revenue of a period on a day: zero for days that begin after its cancellation, or in the future. */
function ofDay({ first, days, priceNano, canceledAfterHours }: Period, day: number): bigint {
  const n = day - first;
  if (n < 0 || n >= days || day >= UNTIL || (canceledAfterHours !== null && n * 24 >= canceledAfterHours)) return 0n;
  return earnedNano(priceNano, days, n + 1) - earnedNano(priceNano, days, n);
}

describe(`plan revenue`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  let usage: UsageStore;
  before(async () => {
    stored = await createTestDatabase();
    usage = createUsageStore(placedInOne(inOneDatabase(stored.database)));
    await stored.database.script(`insert into accounts (id, name, verified, status, created_at, updated_at)
        values ('acct_0', 'zero', false, 'active', now(), now()), ('acct_1', 'one', false, 'active', now(), now())`);
  });
  after(() => stored?.remove());

  async function store(periods: readonly Period[]): Promise<void> {
    const rows = periods.map(({ account, group, first, days, priceNano, canceledAfterHours }, i) => {
      const startsAt = FIRST_MS + first * DAY_MS;
      const at = (ms: number): string => `'${new Date(ms).toISOString()}'`;
      const canceledAt = canceledAfterHours === null ? 'null' : at(startsAt + canceledAfterHours * 3_600_000);
      return `insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, canceled_at, created_at)
          values ('${account}', 'sub_${i}', 'p', ${at(startsAt)}, ${at(startsAt + days * DAY_MS)}, ${canceledAt}, now());
          insert into plan_periods values ('${account}', 'sub_${i}', ${at(startsAt)}, '${dayOf(first)}', ${days}, ${priceNano},
            ${group === null ? 'null' : `'${group}'`});`;
    });
    await stored.database.script(`delete from subscriptions; delete from plan_periods; ${rows.join('\n')}`);
  }

  async function earned(groupBy: readonly Dimension[], filter: Partial<UsageFilter>): Promise<Map<string, bigint>> {
    const query = { groupBy, filter: { ...NO_FILTER, ...filter }, timezone: 'UTC', earnedUntil: dayOf(UNTIL) };
    const { rows } = await readUsage(usage, query, USAGE_START, 1_000);
    return new Map(rows.map(({ group, planRevenueNano }) => [group.join(' '), planRevenueNano]));
  }

  it('is, by day, month, account and range, the sum of what periods earn in it', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPeriod, { maxLength: 5 }),
        fc.integer({ min: -2, max: 30 }),
        fc.integer({ min: 0, max: 30 }),
        async (periods, from, length) => {
          await store(periods);
          const range = { from: dayOf(from), to: dayOf(from + length) };
          const byDay = await earned(['account', 'day'], range);
          for (let day = from; day < from + length; day++) {
            for (const account of ['acct_0', 'acct_1']) {
              const own = periods.filter((period) => period.account === account);
              const expected = own.reduce((sum, period) => sum + ofDay(period, day), 0n);
              assert.equal(byDay.get(`${account} ${dayOf(day)}`) ?? 0n, expected);
            }
          }
          const sum = (parts: ReadonlyMap<string, bigint>): bigint => [...parts.values()].reduce((a, b) => a + b, 0n);
          for (const groupBy of [[], ['account'], ['group'], ['context'], ['month']] as const) {
            assert.equal(sum(await earned(groupBy, range)), sum(byDay), groupBy.join());
          }
          const byGroup = await earned(['group'], range);
          for (const group of ['', 'resellers']) {
            const own = periods.filter((period) => (period.group ?? '') === group);
            let expected = 0n;
            for (let day = from; day < from + length; day++) {
              expected += own.reduce((revenue, period) => revenue + ofDay(period, day), 0n);
            }
            assert.equal(byGroup.get(group) ?? 0n, expected, group);
          }
          assert.equal(sum(await earned([], { ...range, context: 'balance' })), 0n);
          assert.equal(sum(await earned(['model'], range)), 0n);
        },
      ),
      { numRuns: 40 },
    );
  });
});
