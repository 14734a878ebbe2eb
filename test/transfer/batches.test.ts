import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createEndedKeyStore } from '../../src/accounting/accounts/ended-key-store.ts';
import { createMonthTable, monthTableOf } from '../../src/accounting/calls/calls-store.ts';
import type { Database, SnapshotReader } from '../../src/db/database.ts';
import { schemaVersion } from '../../src/db/migrations.ts';
import { exportDatabase } from '../../src/transfer/export.ts';
import { createExportStore } from '../../src/transfer/export-store.ts';
import { LineDigest } from '../../src/transfer/format.ts';
import { importDatabase } from '../../src/transfer/import.ts';
import { createImportStore } from '../../src/transfer/import-store.ts';
import {
  CONTEXT,
  createTestNode,
  endCalls,
  openAccount,
  outcomeOf,
  requestOf,
  termsOf,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { assertSound } from '../support/sound.ts';
import { sql } from '../support/sql.ts';
import { allRows, CLOCK, exported, imported, linesOf, onlyPartition } from './books.ts';

/** Each table is read by a cursor, some rows at a time. What is exported must not depend on how many these are. */

const ROWS_MAX = [1, 2, 3, 7, 1_000];

/** `acct_d` has no balance, and of `acct_da` there are rows only. */
const LEFT_OUT = ['acct_d', 'acct_da'];
const SMALL = ['acct_a', 'acct_c', 'acct_e', 'acct_f'];

/** Rows of every table that has accounts; `acct_b` has many. */
const FILL = `
insert into accounts (id, name, email, verified, status, created_at, updated_at)
select 'acct_' || n, n, null, true, 'active', now(), now() from unnest('{a,b,c,d,e,f}'::text[]) n;
create temporary table counts (id text, n int);
insert into counts values ('acct_a', 2), ('acct_b', 23), ('acct_c', 0), ('acct_d', 2), ('acct_da', 3), ('acct_e', 1), ('acct_f', 3);
insert into balances (account_id, balance_nano, last_entry_no) select id, n * 10, n from counts where id not in ('acct_d', 'acct_da');
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
select id, no, 'top_up', 10, no * 10, now() from counts, generate_series(1, n) no;
insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream, status,
  http_status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule)
select id, 'call_' || no, '2026-08-15'::timestamptz + no * interval '9 days', now(), 'key', 'balance', 'chat', 'm', 'p', 'm', false, 'failed',
  502, 'req', 0, 0, 0, 0, 0, 0, 'base' from counts, generate_series(1, n) no;
insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select id, 'key_' || id || no, 'k', sha256((id || no)::bytea), 'p', now() from counts, generate_series(1, n) no where id <> 'acct_da';
insert into key_limits (account_id, key_id, daily_calls_max) select account_id, id, 5 from api_keys where account_id <> 'acct_d';
insert into rate_limits (account_id, key_id, model, requests_max)
select id, '', 'm' || no, 3 from counts, generate_series(1, n) no where id not in ('acct_d', 'acct_da');
insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at, slots)
select id, 'sub_' || id, 'plan', now(), now() + interval '30 days', now(), n from counts where n > 1 and id not in ('acct_d', 'acct_da');
insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select account_id, id, 'call_' || no, now() from subscriptions, generate_series(1, slots) no;
insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
select account_id, 'again_' || no, 'r', id, now() from subscriptions, generate_series(1, slots) no;
insert into continuation_keys (account_id, key, model, provider, made_at)
select id, 'key_' || no, 'm', 'p', now() from counts, generate_series(1, n) no where id not in ('acct_d', 'acct_da');
insert into stored_responses (account_id, key_id, idempotency_key, fingerprint, claim_id, claimed_until, expires_at, head, body, is_valid)
select id, 'key_' || no % 2, 'call_' || no, 'f', 'claim_' || no, now(), now() + interval '1 day', '{}',
  convert_to(repeat('x', case no when 5 then 300000 when 6 then 200000 else 30000 end), 'UTF8'), no <> 2
from counts, generate_series(1, n) no where id not in ('acct_d', 'acct_da');
drop table counts`;

async function exportedBy(database: Database, rowsMax: number): Promise<string> {
  let text = '';
  const store = createExportStore(inOneDatabase(database), rowsMax);
  for await (const chunk of exportDatabase({ store, schema: schemaVersion(), clock: CLOCK })) text += chunk;
  return text;
}

async function createSource(): Promise<TestDatabase> {
  const source = await createTestDatabase();
  for (const month of ['2026-08', '2026-09', '2026-10', '2026-12']) {
    await source.database.query(createMonthTable(monthTableOf(new Date(`${month}-01T00:00:00Z`))));
  }
  await source.database.script(FILL);
  return source;
}

describe('an export by cursors', { timeout: 300_000 }, () => {
  let source: TestDatabase;
  before(async () => {
    source = await createSource();
  });
  after(() => source.remove());

  it('is the same however many rows are read at a time', async () => {
    const texts = new Set<string>();
    for (const rowsMax of ROWS_MAX) texts.add(await exportedBy(source.database, rowsMax));
    assert.equal(texts.size, 1);
  });

  it('has every row of every account that has a balance', async () => {
    await using target = await createTestDatabase();
    const isLeftOut = (row: string): boolean => LEFT_OUT.some((id) => row.includes(`"${id}"`));
    // Claims of calls in flight are not exported.
    const isClaim = (row: string): boolean => row.includes('["is_valid",false]');
    await imported(target.database, await exportedBy(source.database, ROWS_MAX[1]!));
    const found = await allRows(target.database);
    for (const [table, rows] of Object.entries(await allRows(source.database))) {
      const wanted = rows.filter((row) => !isLeftOut(row) && !isClaim(row));
      assert.deepEqual(found[table], wanted, table);
    }
    assert.equal(found.ledger_entries!.length, 2 + 23 + 1 + 3);
    assert.equal(found.stored_responses!.length, 2 + 23 + 1 + 3 - 3);
  });

  it('reads many small accounts by few statements', async () => {
    let reads = 0;
    const counted = {
      openSnapshots: async (): Promise<SnapshotReader> => {
        const reader = await source.database.openSnapshots();
        return {
          ...reader,
          cursor<Row>(...asked: Parameters<SnapshotReader['cursor']>) {
            const cursor = reader.cursor<Row>(...asked);
            return {
              fetch(rowsMax) {
                reads++;
                return cursor.fetch(rowsMax);
              },
            };
          },
        };
      },
    };
    await source.database.script(`insert into accounts (id, name, email, verified, status, created_at, updated_at)
select 'acct_g' || n, n, null, true, 'active', now(), now() from generate_series(100, 499) n;
insert into balances (account_id) select id from accounts where id like 'acct_g%'`);
    const store = createExportStore(inOneDatabase(counted as Partial<Database> as Database));
    let text = '';
    for await (const chunk of exportDatabase({ store, schema: schemaVersion(), clock: CLOCK })) text += chunk;
    assert.equal(text.split('\n{"account_end"').length - 1, 5 + 400);
    // One of each table, two of the accounts, and those of the responses, which are few at a time.
    assert.ok(reads < 50, `${reads} reads`);
  });
});

describe('an export', { timeout: 120_000 }, () => {
  let text: string;
  before(async () => {
    const source = await createSource();
    text = await exportedBy(source.database, ROWS_MAX[4]!);
    await source.remove();
  });

  it('of an older schema is read where its columns are still there; those that it lacks are as by default', async () => {
    await using target = await createTestDatabase();
    const store = createImportStore(onlyPartition(target.database));
    const importAs = (schema: number) => importDatabase(linesOf(text), { store, schema });
    await target.database.script('alter table api_keys rename column prefix to shown');
    await assert.rejects(
      importAs(schemaVersion() + 1),
      /^TransferError: The table api_keys has other columns in the file/,
    );
    await target.database.script(`alter table api_keys rename column shown to prefix;
        alter table balances add column colour text not null default 'grey'`);
    await assert.rejects(importAs(schemaVersion()), /^TransferError: The table balances has other columns in the file/);
    assert.equal((await importAs(schemaVersion() + 1)).rows.balances, 5);
    assert.deepEqual(await sql(target.database, 'select distinct colour from balances'), [{ colour: 'grey' }]);
  });

  it('of a schema before 59 is read without the column that says when thresholds were set', async () => {
    await using source = await createSource();
    await source.database.script('alter table accounts add column low_balance_set_at timestamptz default now()');
    const marked = await exportedBy(source.database, ROWS_MAX[4]!);
    assert.ok(marked.includes('"low_balance_set_at"'));
    await using target = await createTestDatabase();
    const store = createImportStore(onlyPartition(target.database));
    const { rows } = await importDatabase(linesOf(marked), { store, schema: schemaVersion() + 1 });
    assert.ok(rows.accounts! > 0);
  });

  it('with rows of an account or a key that it does not have is refused', async () => {
    const lines = text.trimEnd().split('\n');
    const end = JSON.parse(lines.at(-1)!).end;
    await using target = await createTestDatabase();
    /** Without the rows of some tables, as if they had never been in the file. */
    const without = (...tables: string[]): string => {
      const left = lines.slice(0, -1).filter((line) => !tables.some((table) => line.startsWith(`{"${table}":`)));
      const digest = new LineDigest();
      digest.add(left.map((line) => `${line}\n`).join(''));
      const rows = { ...end.rows, ...Object.fromEntries(tables.map((table) => [table, 0])) };
      return [...left, JSON.stringify({ end: { ...end, rows, sha256: digest.sha256 } })].join('\n');
    };
    const isRefused = (text: string, reason: string) =>
      assert.rejects(imported(target.database, text), new RegExp(`^TransferError: The file is damaged: .* ${reason}$`));
    await isRefused(
      without('api_keys'),
      'It has a row of key_limits of the key key_acct_a1 of account acct_a, which it does not have.',
    );
    const rest = ['api_keys', 'key_limits', 'voucher_redemptions', 'memberships', 'webhook_endpoints'];
    await isRefused(
      without('accounts', ...rest),
      'It has a row of balances of the account acct_a, which it does not have.',
    );
    await imported(target.database, without());
  });
});

describe('calls that end while they are exported', { timeout: 60_000 }, () => {
  it('are in none of its accounts', async () => {
    await using source = await createTestDatabase();
    await using target = await createTestDatabase();
    const { database } = source;
    const node = createTestNode(database);
    let ended = 0;
    const endCallsOfAll = async (): Promise<void> => {
      for (const account of SMALL) {
        const id = `call_${String(ended++).padStart(6, '0')}`;
        await node.stores.reservations.admit([requestOf(account, id, 50n)], termsOf(CONTEXT));
        await endCalls(node.stores.settlement, [outcomeOf(account, id, 7n)]);
      }
    };
    for (const account of SMALL) await openAccount(database, account, 1_000_000n);
    for (let i = 0; i < 5; i++) await endCallsOfAll();
    // One call of each account is in flight at the cut, and ends in between.
    for (const account of SMALL) {
      await node.stores.reservations.admit([requestOf(account, 'call_in_flight', 50n)], termsOf(CONTEXT));
    }
    const store = createExportStore(inOneDatabase(database), 4);
    let text = '';
    let chunks = 0;
    for await (const chunk of exportDatabase({ store, schema: schemaVersion(), clock: CLOCK, textBytesMax: 1 })) {
      text += chunk;
      await endCallsOfAll();
      if (++chunks === 2) {
        const late = SMALL.map((account) => outcomeOf(account, 'call_in_flight', 11n));
        await endCalls(node.stores.settlement, late);
      }
    }
    assert.ok(chunks > 12, `only ${chunks} parts`);
    assert.deepEqual((await imported(target.database, text)).unsound, []);
    await assertSound(inOneDatabase(target.database));
    const rows = await sql<object>(
      target.database,
      `select account_id, balance_nano, reserved_nano, (select count(*)::int from calls c where c.account_id = b.account_id) as calls
from balances b order by account_id`,
    );
    const wanted = { balance_nano: 1_000_000n - 5n * 7n, reserved_nano: 0n, calls: 5 };
    assert.deepEqual(
      rows,
      SMALL.map((account) => ({ account_id: account, ...wanted })),
    );
    assert.notEqual(await exported(database), text);
  });
});

describe('a key that is forgotten while its account is exported', { timeout: 60_000 }, () => {
  it('is in the export with its limits', async () => {
    await using source = await createTestDatabase();
    await using target = await createTestDatabase();
    const { database } = source;
    await openAccount(database, 'acct_a', 0n);
    await database.script(`
insert into api_keys (account_id, id, name, key_hash, prefix, created_at, revoked_at) values
('acct_a', 'key_ended', 'k', '\\x01', 'p', now(), now() - interval '8 days'), ('acct_a', 'key_works', 'k', '\\x02', 'p', now(), null);
insert into key_limits (account_id, key_id, daily_calls_max) select account_id, id, 5 from api_keys;
update usage_backfill set is_done = true`);
    const forgetful = {
      openSnapshots: async (): Promise<SnapshotReader> => {
        const reader = await database.openSnapshots();
        return {
          ...reader,
          cursor<Row>(...asked: Parameters<SnapshotReader['cursor']>) {
            const cursor = reader.cursor<Row>(...asked);
            return {
              async fetch(rowsMax) {
                const found = await cursor.fetch(rowsMax);
                const keys = createEndedKeyStore(placedInOne(inOneDatabase(database)));
                if (asked[0].name === 'export.read-key_limits')
                  await keys.forgetEndedBefore(Date.now(), new AbortController().signal);
                return found;
              },
            };
          },
        };
      },
    };
    const store = createExportStore(inOneDatabase(forgetful as Partial<Database> as Database));
    let text = '';
    for await (const chunk of exportDatabase({ store, schema: schemaVersion(), clock: CLOCK })) text += chunk;
    assert.deepEqual((await imported(target.database, text)).unsound, []);
    const rows = await sql<object>(target.database, 'select key_id from key_limits order by key_id');
    assert.deepEqual(rows, [{ key_id: 'key_ended' }, { key_id: 'key_works' }]);
  });
});
