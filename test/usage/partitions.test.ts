import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { createRoutes } from '../../src/accounting/partitions/routes.ts';
import { type Dimension, dimensions, type UsageFilter } from '../../src/accounting/usage/group-sums-store.ts';
import { readUsage, USAGE_START, type UsagePlace, usagePages } from '../../src/accounting/usage/usage.ts';
import { createUsageStore, type UsageRow, type UsageStore } from '../../src/accounting/usage/usage-store.ts';
import { collect } from '../support/client.ts';
import { placedInOne } from '../support/in-one-database.ts';
import type { PartitionedDatabase } from '../support/opened-partitions.ts';
import { createPartitioned } from '../support/partitioned.ts';
import { sql } from '../support/sql.ts';

/** Pages of usage are the same for several partitions as for one. */

const TIMEZONE = 'Asia/Shanghai';
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
const ACCOUNTS = ['acct_0', 'acct_1', 'acct_2', 'acct_3'];
/** Names whose order depends on the collation. */
const MODELS = ['a', 'A', 'b', 'B-1', 'b_1', 'é', 'z', '模型', '😀', '\u{ffee}'];

const anySum = fc.record({
  account: fc.constantFrom(...ACCOUNTS),
  key: fc.constantFrom('key_1', 'key_2'),
  day: fc.constantFrom('2026-10-30', '2026-10-31', '2026-11-01'),
  model: fc.constantFrom(...MODELS),
  status: fc.constantFrom('succeeded', 'failed'),
  calls: fc.integer({ min: 1, max: 1_000_000_000 }),
  chargeNano: fc.bigInt({ min: 0n, max: 2n ** 60n }),
});
type Sum = ReturnType<typeof anySum.generate>['value'];
const anyGroupBy = fc
  .subarray([...dimensions])
  .filter((groupBy) => !groupBy.includes('key') || groupBy.includes('account'));

const BY_MODEL = { groupBy: ['model'] as const, limit: 2, filter: {} };

const described = ({ group, calls, chargeNano }: UsageRow): string => [...group, calls, chargeNano].join(' ');
const keyOf = ({ account, key, day, model, status }: Sum): string => [account, key, day, model, status].join(' ');

describe(`usage of two partitions compared with one`, { timeout: 300_000 }, () => {
  let stored: PartitionedDatabase;
  let spread: UsageStore;
  let inOne: UsageStore;
  before(async () => {
    // The first database has all usage, the others have half of it each.
    stored = await createPartitioned(3);
    const { directory, partitions } = stored.databases;
    inOne = createUsageStore(placedInOne({ directory, partition: partitions[0]! }));
    const find = (accountId: string): number => ACCOUNTS.indexOf(accountId) % 2;
    spread = createUsageStore({ directory, partitions: createRoutes(partitions.slice(1), { find }) });
    // With different collations.
    await partitions[2]!.script(
      ['usage_rollups', 'usage_totals']
        .map((table) => `alter table ${table} alter column model type text collate "und-x-icu"`)
        .join('; '),
    );
    const names = ACCOUNTS.map((id) => `('${id}', 'name of ${id}', false, 'active', now(), now())`);
    await directory.script(
      `insert into accounts (id, name, verified, status, created_at, updated_at) values ${names.join(', ')}`,
    );
  });
  after(() => stored?.remove());

  async function store(sums: readonly Sum[]): Promise<void> {
    const { partitions } = stored.databases;
    for (const [number, partition] of partitions.entries()) {
      const own = sums.filter(({ account }) => number === 0 || ACCOUNTS.indexOf(account) % 2 === number - 1);
      const zeros = '0, '.repeat(20);
      const rows = own.map(
        ({ account, key, day, model, status, calls, chargeNano }) =>
          `('${account}', '${day}', '${key}', '${model}', 'p', '${status}', 'balance', ${calls}, ${chargeNano}, ${zeros}0)`,
      );
      const totals = `delete from usage_totals; insert into usage_totals
select day, model, provider, status, context, ${SUM_COLUMNS.map((name) => `sum(${name})::bigint`).join(', ')}
from usage_rollups group by day, model, provider, status, context;`;
      const insert = rows.length === 0 ? '' : `insert into usage_rollups values ${rows.join(', ')};`;
      await partition.script(`delete from usage_rollups; ${insert} ${totals}`);
    }
  }

  let SUM_COLUMNS: string[] = [];
  before(async () => {
    const columns = await sql<{ name: string }>(
      stored.databases.directory,
      `select attname::text as name from pg_attribute
where attrelid = 'usage_totals'::regclass and attnum > 0 and not attisdropped and atttypid = 'bigint'::regtype order by attnum`,
    );
    SUM_COLUMNS = columns.map(({ name }) => name);
  });

  async function paged(store: UsageStore, groupBy: readonly Dimension[], filter: UsageFilter, limit: number) {
    const rows: UsageRow[] = [];
    let place: UsagePlace | null = USAGE_START;
    while (place !== null) {
      const page: Awaited<ReturnType<typeof readUsage>> = await readUsage(
        store,
        { groupBy, filter, timezone: TIMEZONE },
        place,
        limit,
      );
      rows.push(...page.rows);
      assert.ok(rows.length <= 1_000, 'the pages do not end');
      place = page.next;
    }
    return rows;
  }

  it('has the same groups in the same order, for any query and page size', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(anySum, { selector: keyOf, maxLength: 40 }),
        fc.array(
          fc.record({
            groupBy: anyGroupBy,
            limit: fc.integer({ min: 1, max: 9 }),
            filter: fc.record(
              {
                accountId: fc.constantFrom(...ACCOUNTS),
                model: fc.constantFrom(...MODELS),
                from: fc.constant('2026-10-31'),
              },
              { requiredKeys: [] },
            ),
          }),
          { minLength: 4, maxLength: 4 },
        ),
        async (sums, questions) => {
          await store(sums);
          for (const { groupBy, limit, filter: given } of [BY_MODEL, ...questions]) {
            const filter = { ...NO_FILTER, ...given };
            const expected = await paged(inOne, groupBy, filter, 1_000);
            assert.deepEqual(await paged(spread, groupBy, filter, limit), expected);
            const query = { groupBy, filter, timezone: TIMEZONE };
            const whole = (await collect(usagePages(spread, query, limit))).flat();
            assert.deepEqual(whole.map(described).sort(), expected.map(described).sort());
            assert.deepEqual(await spread.knownDays(filter.accountId), await inOne.knownDays(filter.accountId));
          }
        },
      ),
      { numRuns: 25 },
    );
  });
});
