import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import type { CallFilter } from '../../src/accounting/calls/call-list-store.ts';
import { createCallsStore } from '../../src/accounting/calls/calls-store.ts';
import { firstIdAt } from '../../src/lib/ids.ts';
import { type SliceTiming, UNHURRIED } from '../../src/lib/slices.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { byScope } from '../support/scope.ts';

/**
 * Lists of calls and accounts scan tables in batches. For any filter, all pages together have every match once, newest first, even if a
 * page has time for few rows.
 */

const START_MS = Date.UTC(2026, 8, 28);
const HOUR_MS = 3_600_000;
const CALLS = 1_300;
const STATUSES = ['succeeded', 'failed', 'aborted', 'unresolved', 'resolved'];

interface Row {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly model: string;
  readonly status: string;
  readonly startedAtMs: number;
}

/** One call an hour, over three months with a table each. Most have common values. */
const ROWS: readonly Row[] = Array.from({ length: CALLS }, (_, n): Row => {
  const account = n % 5 === 0 ? 'acct_b' : 'acct_a';
  const startedAtMs = START_MS + n * HOUR_MS;
  return {
    id: `${firstIdAt('call', startedAtMs + 3)}${String(n).padStart(16, '0')}`,
    accountId: account,
    keyId: `key_${account}_${n % 70 === 0 ? 'rare' : 'usual'}`,
    model: n === 11 ? 'rare' : 'usual',
    status: n % 16 === 0 ? STATUSES[(n / 16) % 5]! : 'succeeded',
    startedAtMs,
  };
});

const ANY: CallFilter = { accountId: null, keyId: null, model: null, status: null, from: null, to: null };
const at = (n: number): Date => new Date(START_MS + n * HOUR_MS);

/**
 * A quick run tries one combination of seven. No list below has a multiple of seven values, so each pair of values is tried. Fewer
 * combinations are read page by page; 23 has no factor in common with the lists either.
 */
const ONE_OF = byScope({ full: 1, quick: 7 });
const PAGED_ONE_OF = byScope({ full: 7, quick: 23 });

/** Every combination of one of each of these. */
const FILTERS: readonly CallFilter[] = [null, 'acct_a', 'acct_b', 'acct_none']
  .flatMap((accountId) =>
    [null, 'key_acct_b_rare', 'key_unknown'].flatMap((keyId) =>
      [null, 'usual', 'rare', 'none'].flatMap((model) =>
        [null, 'succeeded', 'failed', 'unresolved'].flatMap((status) =>
          (
            [
              [null, null],
              [at(30), null],
              [null, at(100)],
              [at(10), at(12)],
              [at(500), null],
            ] as const
          ).map(([from, to]) => ({ accountId, keyId, model, status, from, to })),
        ),
      ),
    ),
  )
  .concat(
    // Of some keys of an account, as in lists for its members.
    [[], ['key_acct_b_rare'], ['key_acct_b_rare', 'key_acct_b_usual', 'key_unknown']].flatMap((ownKeyIds) =>
      [null, 'succeeded', 'failed'].map((status) => ({ ...ANY, accountId: 'acct_b', ownKeyIds, status })),
    ),
  );

function matches({ accountId, keyId, ownKeyIds = null, model, status, from, to }: CallFilter): string[] {
  return ROWS.filter(
    (row) =>
      (accountId === null || row.accountId === accountId) &&
      (keyId === null || row.keyId === keyId) &&
      (ownKeyIds === null || ownKeyIds.includes(row.keyId)) &&
      (model === null || row.model === model) &&
      (status === null || row.status === status) &&
      (from === null || row.startedAtMs >= from.getTime()) &&
      (to === null || row.startedAtMs < to.getTime()),
  )
    .map(({ id }) => id)
    .reverse();
}

/** Time for one batch. */
const HURRIED: SliceTiming = { nowMs: () => 0, budgetMs: 0 };

async function readAll<Item>(
  page: (cursor: string | null) => Promise<{ readonly items: readonly Item[]; readonly next: string | null }>,
): Promise<{ items: Item[]; pages: number }> {
  const items: Item[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const found = await page(cursor);
    items.push(...found.items);
    cursor = found.next;
    pages++;
  } while (cursor !== null);
  return { items, pages };
}

describe(`lists in batches`, { timeout: 300_000 }, () => {
  let stored: TestDatabase;
  before(async () => {
    stored = await createTestDatabase();
    await createCallsStore(stored.database).prepareMonths(new Date(START_MS));
    await insertCalls(ROWS);
    await stored.database.script(`
        insert into accounts (id, name, email, verified, status, created_at, updated_at)
        select 'acct_' || lpad(n::text, 4, '0'), 'Name ' || n % 7, case when n % 3 = 0 then 'Mail' || n || '@example.com' end,
          true, 'active', now(), now()
        from generate_series(1, 1200) n;
        insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
        values ('acct_0001', 'key_acct_b_rare', 'moved', '\\x01', 'p', now());
        alter table api_keys drop constraint api_keys_account_id_fkey;
        update api_keys set account_id = 'acct_b'`);
  });
  after(() => stored.remove());

  async function insertCalls(rows: readonly Row[]): Promise<void> {
    const values = rows.map(
      (
        row,
      ) => `('${row.accountId}', '${row.id}', '${new Date(row.startedAtMs).toISOString()}'::timestamptz, now(), '${row.keyId}',
          'balance', 'chat', '${row.model}', 'p', 'p', false, '${row.status}', 'req', 0, 0, 0, 0, 0, 0, 'base')`,
    );
    await stored.database.script(`insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model,
        provider, provider_model, is_stream, status, request_id, input_tokens, cached_input_tokens, cache_write_tokens,
        cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule) values ${values.join(',')}`);
  }

  it('of calls have every match once, newest first, for any filter', async () => {
    const calls = createCallsStore(stored.database);
    for (const filter of FILTERS.filter((_filter, i) => i % ONE_OF === 0)) {
      const { items, next } = await calls.list(filter, null, 2_000);
      assert.deepEqual([items.map(({ id }) => id), next], [matches(filter), null], JSON.stringify(filter));
    }
  });

  it('of calls have the same over several pages, some with few matches or none', async () => {
    const calls = createCallsStore(stored.database);
    let short = 0;
    for (const [i, filter] of FILTERS.entries()) {
      if (i % PAGED_ONE_OF !== 0) continue;
      const { items } = await readAll(async (cursor) => {
        const page = await calls.list(filter, cursor, 3, HURRIED);
        if (page.next !== null && page.items.length < 3) short++;
        return page;
      });
      assert.deepEqual(
        items.map(({ id }) => id),
        matches(filter),
        JSON.stringify(filter),
      );
    }
    assert.ok(short > 10);
  });

  it('of accounts have every match once, over pages that end early', async () => {
    const accounts = createAccountStore(stored.database);
    const wanted = (isWanted: (n: number) => boolean): string[] =>
      Array.from({ length: 1200 }, (_, i) => 1200 - i)
        .filter(isWanted)
        .map((n) => `acct_${String(n).padStart(4, '0')}`);
    for (const [filter, expected, pagesMin] of [
      [{}, wanted(() => true), 1],
      [{ search: 'name 3' }, wanted((n) => n % 7 === 3), 3],
      [{ search: 'mail12@' }, wanted((n) => n === 12), 3],
      [{ search: 'acct_0700' }, ['acct_0700'], 3],
      [{ search: 'nobody' }, [], 3],
      [{ name: 'Name 3' }, wanted((n) => n % 7 === 3), 1],
      [{ name: 'Mail12@example.com' }, ['acct_0012'], 1],
      [{ name: 'name 3' }, [], 1],
    ] as const) {
      for (const limit of [1_000, 50]) {
        const { items, pages } = await readAll((cursor) => accounts.listAccounts(filter, cursor, limit, HURRIED));
        assert.deepEqual(
          items.map(({ id }) => id),
          expected,
          JSON.stringify(filter),
        );
        if (limit === 50) assert.ok(pages >= pagesMin, `${JSON.stringify(filter)}: ${pages} pages`);
      }
      const whole = await accounts.listAccounts(filter, null, 2_000, UNHURRIED);
      assert.deepEqual([whole.items.map(({ id }) => id), whole.next], [expected, null]);
    }
  });
});
