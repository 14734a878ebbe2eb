import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createIds } from '../../src/lib/ids.ts';
import { UNHURRIED } from '../../src/lib/slices.ts';
import { createRefusalsStore, type Refusal } from '../../src/requests/refusals-store.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explaining } from '../support/explained.ts';

/** Lists of refusals: the results of each filter, and the index that it uses. */

type Filter = Parameters<ReturnType<typeof createRefusalsStore>['list']>[0];
const EVERYTHING: Filter = { accountId: null, keyId: null, code: null, model: null, from: null, to: null };

describe(`lists of refusals`, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  const ids = createIds(clock);
  const rows: Refusal[] = [];
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
    for (let n = 0; n < 60; n++) {
      clock.advance(3_600_000);
      const isKnown = n % 5 !== 0;
      rows.unshift({
        id: ids.next('req'),
        atMs: clock.nowMs(),
        count: 1,
        accountId: isKnown ? `acct_${n % 2}` : null,
        keyId: isKnown ? `key_${n % 6}` : null,
        clientRequestId: null,
        clientAddress: '127.0.0.1',
        method: 'POST',
        path: '/v1/chat/completions',
        operation: 'chat',
        model: n % 4 === 0 ? 'none' : `model-${n % 3}`,
        status: 404,
        code: n % 7 === 0 ? 'invalid_api_key' : 'model_not_found',
        message: null,
        param: null,
      });
    }
    await createRefusalsStore(stored.database).insert(rows);
  });
  after(() => stored?.remove());

  const fits = (row: Refusal, filter: Filter): boolean =>
    (filter.accountId === null || row.accountId === filter.accountId) &&
    (filter.keyId === null || row.keyId === filter.keyId) &&
    (filter.ownKeyIds == null || (row.keyId !== null && filter.ownKeyIds.includes(row.keyId))) &&
    (filter.code === null || row.code === filter.code) &&
    (filter.model === null || row.model === filter.model) &&
    (filter.from === null || row.atMs >= filter.from.getTime()) &&
    (filter.to === null || row.atMs < filter.to.getTime());

  it('apply each filter and each pair of filters, newest first, page by page', async () => {
    const store = createRefusalsStore(stored.database);
    const values: Partial<Filter>[] = [
      {},
      { accountId: 'acct_1' },
      { keyId: 'key_1' },
      { accountId: 'acct_1', ownKeyIds: ['key_1', 'key_3', 'key_none'] },
      { accountId: 'acct_1', ownKeyIds: [] },
      { code: 'model_not_found' },
      { model: 'model-1' },
      { from: new Date(rows[25]!.atMs) },
      { to: new Date(rows[25]!.atMs) },
    ];
    for (const one of values) {
      for (const other of values) {
        const filter = { ...EVERYTHING, ...one, ...other };
        const found: Refusal[] = [];
        let next: string | null = null;
        do {
          const page = await store.list(filter, next, 7, UNHURRIED);
          found.push(...page.items);
          next = page.next;
        } while (next !== null);
        assert.deepEqual(
          found,
          rows.filter((row) => fits(row, filter)),
          JSON.stringify(filter),
        );
      }
    }
  });

  it('use the index of their filter', async () => {
    await stored.database.script(`
insert into refusals (id, at, count, account_id, key_id, model, code)
select 'req_' || lpad(n::text, 10, '0'), now(), 1, 'acct_' || n % 50, 'key_' || n % 500, 'm', 'code_' || n % 20
from generate_series(1, 20000) n;
analyze refusals`);
    const plans = explaining(stored.database);
    const store = createRefusalsStore(plans.database);
    for (const [index, filter] of [
      ['refusals_by_account', { accountId: 'acct_7', model: 'none' }],
      ['refusals_by_key', { accountId: 'acct_7', keyId: 'key_7', code: 'code_7' }],
      ['refusals_by_key', { accountId: 'acct_7', ownKeyIds: ['key_7', 'key_57'], model: 'none' }],
      ['refusals_by_code', { code: 'code_7', model: 'none' }],
      ['Backward using refusals_pkey', { from: new Date(clock.nowMs() - 3_600_000) }],
    ] as const) {
      await store.list({ ...EVERYTHING, ...filter }, null, 25, UNHURRIED);
      const plan = plans.take();
      assert.match(plan, new RegExp(index), plan);
      assert.doesNotMatch(plan, /Seq Scan/, plan);
    }
  });
});
