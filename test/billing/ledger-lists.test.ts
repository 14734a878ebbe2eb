import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLedgerStore, type LedgerEntry, type LedgerFilter } from '../../src/accounting/ledger/ledger-store.ts';
import { UNHURRIED } from '../../src/lib/slices.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { explaining } from '../support/explained.ts';

/** Lists of ledger entries: the matches of each filter, and the index that it uses. */

const EVERYTHING: LedgerFilter = { kind: null, from: null, to: null };
const ACCOUNT = 'acct_lists';
const START_MS = Date.UTC(2026, 10, 20);
const HOUR_MS = 3_600_000;

describe(`lists of ledger entries`, () => {
  let stored: TestDatabase;
  let all: readonly LedgerEntry[];
  before(async () => {
    stored = await createTestDatabase();
    await openAccount(stored.database, ACCOUNT, 0n);
    const store = createLedgerStore(stored.database);
    for (let n = 0; n < 30; n++) {
      // Every seventh entry is from a journal and was inserted after newer ones. Pairs have the same instant.
      const at = new Date(START_MS + (n % 7 === 0 ? n - 9 : n - (n % 2)) * HOUR_MS);
      await store.post({
        accountId: ACCOUNT,
        kind: (['top_up', 'adjustment'] as const)[n % 2]!,
        amountNano: BigInt(n + 1),
        memo: null,
        idempotencyKey: null,
        at,
      });
    }
    await stored.database.script(`
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
select '${ACCOUNT}', n, 'charge', -1, 0, 'call_' || n, timestamptz '2026-11-22T00:00:00Z' + n * interval '1 second'
from generate_series(31, 60) n`);
    all = (await store.listEntries(ACCOUNT, null, 500)).items;
  });
  after(() => stored?.remove());

  const fits = ({ kind, createdAt }: LedgerEntry, filter: LedgerFilter): boolean =>
    (filter.kind === null || kind === filter.kind) &&
    (filter.from === null || createdAt >= filter.from) &&
    (filter.to === null || createdAt < filter.to);

  it('have all entries, by their numbers', () => {
    assert.deepEqual(
      all.map(({ entryNo }) => entryNo),
      Array.from({ length: 60 }, (_, n) => BigInt(60 - n)),
    );
  });

  it('have the matches of each filter and pair of filters, page by page', async () => {
    const store = createLedgerStore(stored.database);
    const values: Partial<LedgerFilter>[] = [
      {},
      { kind: 'charge' },
      { kind: 'top_up' },
      { kind: 'refund' },
      { from: new Date(START_MS + 8 * HOUR_MS) },
      { to: new Date(START_MS + 20 * HOUR_MS) },
    ];
    for (const one of values) {
      for (const other of values) {
        const filter = { ...EVERYTHING, ...one, ...other };
        const found: LedgerEntry[] = [];
        let next: string | null = null;
        do {
          const page = await store.listEntries(ACCOUNT, next, 4, filter, UNHURRIED);
          found.push(...page.items);
          next = page.next;
        } while (next !== null);
        const expected = all.filter((entry) => fits(entry, filter));
        // Entries of one kind other than charges are in the order of time.
        if (filter.kind === 'top_up') {
          expected.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || Number(b.entryNo - a.entryNo));
        }
        assert.deepEqual(found, expected, JSON.stringify(filter));
      }
    }
  });

  it('use an index, also for top-ups among many charges', async () => {
    await stored.database.script(`
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
select '${ACCOUNT}', n, 'charge', -1, 0, 'call_' || n, now() from generate_series(61, 20000) n;
analyze ledger_entries`);
    const plans = explaining(stored.database);
    const store = createLedgerStore(plans.database);
    for (const [index, filter] of [
      ['ledger_entries_pkey', {}],
      ['ledger_entries_pkey', { kind: 'charge', from: new Date(START_MS) }],
      ['ledger_entries_beside_charges', { kind: 'top_up' }],
      ['ledger_entries_beside_charges', { kind: 'refund', from: new Date(START_MS), to: new Date() }],
    ] as const) {
      await store.listEntries(ACCOUNT, '15000', 25, { ...EVERYTHING, ...filter });
      const plan = plans.take();
      assert.match(plan, new RegExp(`Index Scan (Backward )?using ${index} `), plan);
      assert.doesNotMatch(plan, /Seq Scan/, plan);
    }
  });
});
