import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createEndedKeyStore } from '../../src/accounting/accounts/ended-key-store.ts';
import { createMonthTable, monthTableOf } from '../../src/accounting/calls/calls-store.ts';
import type { Database } from '../../src/db/database.ts';
import { schemaVersion } from '../../src/db/migrations.ts';
import { exportDatabase } from '../../src/transfer/export.ts';
import { importDatabase } from '../../src/transfer/import.ts';
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
import { allRows, CLOCK, exported, fetchingAfter, imported, linesOf, resigned } from './books.ts';

/** A cursor reads each table in batches. The export must not depend on their size. */

const ROWS_MAX = [1, 2, 3, 7, 1_000];

const LEFT_OUT = 'acct_da';
const SMALL = ['acct_a', 'acct_c', 'acct_e', 'acct_f'];

/** Rows of every table that has accounts; `acct_b` has many. */
const FILL = `
insert into accounts (id, name, email, verified, status, created_at, updated_at)
select 'acct_' || n, n, null, true, 'active', now(), now() from unnest('{a,b,c,d,e,f}'::text[]) n;
create temporary table counts (id text, n int);
insert into counts values ('acct_a', 2), ('acct_b', 23), ('acct_c', 0), ('acct_d', 2), ('acct_da', 3), ('acct_e', 1), ('acct_f', 3);
insert into balances (account_id, balance_nano, last_entry_no) select id, n * 10, n from counts where id <> 'acct_da';
insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
select id, no, 'top_up', 10, no * 10, now() from counts, generate_series(1, n) no;
insert into calls (account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream, status,
  http_status, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens, reasoning_tokens, price_rule)
select id, 'call_' || no, '2026-08-15'::timestamptz + no * interval '9 days', now(), 'key', 'balance', 'chat', 'm', 'p', 'm', false, 'failed',
  502, 'req', 0, 0, 0, 0, 0, 0, 'base' from counts, generate_series(1, n) no;
insert into api_keys (account_id, id, name, key_hash, prefix, created_at)
select id, 'key_' || id || no, 'k', sha256((id || no)::bytea), 'p', now() from counts, generate_series(1, n) no where id <> 'acct_da';
insert into key_limits (account_id, key_id, daily_calls_max) select account_id, id, 5 from api_keys;
insert into rate_limits (account_id, key_id, model, requests_max)
select id, '', 'm' || no, 3 from counts, generate_series(1, n) no where id <> 'acct_da';
insert into subscriptions (account_id, id, plan_id, starts_at, ends_at, created_at, slots)
select id, 'sub_' || id, 'plan', now(), now() + interval '30 days', now(), n from counts where n > 1 and id <> 'acct_da';
insert into plan_slots (account_id, subscription_id, call_id, taken_at)
select account_id, id, 'call_' || no, now() from subscriptions, generate_series(1, slots) no;
insert into subscription_requests (account_id, idempotency_key, request, subscription_id, created_at)
select account_id, 'again_' || no, 'r', id, now() from subscriptions, generate_series(1, slots) no;
insert into continuation_keys (account_id, key, model, provider, made_at)
select id, 'key_' || no, 'm', 'p', now() from counts, generate_series(1, n) no where id <> 'acct_da';
insert into stored_responses (account_id, key_id, idempotency_key, fingerprint, claim_id, claimed_until, expires_at, head, body, is_valid)
select id, 'key_' || no % 2, 'call_' || no, 'f', 'claim_' || no, now(), now() + interval '1 day', '{}',
  convert_to(repeat('x', case no when 5 then 300000 when 6 then 200000 else 30000 end), 'UTF8'), no <> 2
from counts, generate_series(1, n) no where id <> 'acct_da';
drop table counts`;

async function exportedBy(database: Database, rowsMax: number): Promise<string> {
  let text = '';
  const parts = { directory: database, schema: schemaVersion(), clock: CLOCK, rowsMax };
  for await (const chunk of exportDatabase(parts)) text += chunk;
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

describe('an export through cursors', { timeout: 300_000 }, () => {
  let source: TestDatabase;
  before(async () => {
    source = await createSource();
  });
  after(() => source.remove());

  it('is the same for every batch size', async () => {
    const texts = new Set<string>();
    for (const rowsMax of ROWS_MAX) texts.add(await exportedBy(source.database, rowsMax));
    assert.equal(texts.size, 1);
  });

  it('contains every row of every account', async () => {
    await using target = await createTestDatabase();
    // Claims of calls in flight are not exported.
    const isClaim = (row: string): boolean => row.includes('["is_valid",false]');
    await imported(target.database, await exportedBy(source.database, ROWS_MAX[1]!));
    const found = await allRows(target.database);
    for (const [table, rows] of Object.entries(await allRows(source.database))) {
      const wanted = rows.filter((row) => !row.includes(`"${LEFT_OUT}"`) && !isClaim(row));
      assert.deepEqual(found[table], wanted, table);
    }
    assert.equal(found.ledger_entries!.length, 2 + 23 + 2 + 1 + 3);
    assert.equal(found.stored_responses!.length, 2 + 23 + 2 + 1 + 3 - 4);
  });

  it('reads many small accounts with few statements', async () => {
    let reads = 0;
    const counted = fetchingAfter(source.database, () => void reads++);
    await source.database.script(`insert into accounts (id, name, email, verified, status, created_at, updated_at)
select 'acct_g' || n, n, null, true, 'active', now(), now() from generate_series(100, 499) n;
insert into balances (account_id) select id from accounts where id like 'acct_g%'`);
    let text = '';
    const parts = { directory: counted, schema: schemaVersion(), clock: CLOCK };
    for await (const chunk of exportDatabase(parts)) text += chunk;
    assert.equal(text.split('\n{"account_end"').length - 1, 6 + 400);
    // One fetch per table, two for the accounts, and those for stored responses, which are fetched a few at a time.
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

  it('of an older schema is accepted if its columns still exist; missing columns get their defaults', async () => {
    await using target = await createTestDatabase();
    const importAs = (schema: number) => importDatabase(linesOf(text), { directory: target.database, schema });
    await target.database.script('alter table api_keys rename column prefix to shown');
    await assert.rejects(
      importAs(schemaVersion() + 1),
      /^TransferError: The table api_keys has different columns in the file/,
    );
    await target.database.script(`alter table api_keys rename column shown to prefix;
        alter table balances add column colour text not null default 'grey'`);
    await assert.rejects(
      importAs(schemaVersion()),
      /^TransferError: The table balances has different columns in the file/,
    );
    assert.equal((await importAs(schemaVersion() + 1)).rows.balances, 6);
    assert.deepEqual(await sql(target.database, 'select distinct colour from balances'), [{ colour: 'grey' }]);
  });

  it('with rows of an account that it does not contain is refused', async () => {
    const lines = text.trimEnd().split('\n');
    await using target = await createTestDatabase();
    const without = resigned(lines.filter((line) => !line.startsWith('{"accounts":{"id": "acct_b"')));
    assert.ok(without.length < text.length);
    const reason =
      /^TransferError: The file is damaged: .* It contains rows of account acct_b, but not the account itself\.$/;
    await assert.rejects(imported(target.database, without), reason);
    await imported(target.database, resigned(lines));
  });

  it('of an earlier version with an incomplete account or redemption is refused', async () => {
    const [head, ...rest] = text.trimEnd().split('\n');
    await using target = await createTestDatabase();
    const redemption = '{"voucher_redemptions":{"code_hash":"\\\\x01","account_id":"acct_a","under_way_since":SINCE}}';
    for (const line of [
      '{"new_accounts":{"id": "acct_x"}}',
      redemption.replace('SINCE', '"2026-11-20T00:00:00+00:00"'),
    ]) {
      const reason = /^TransferError: When the file was written, an account was being created or a voucher redeemed/;
      await assert.rejects(imported(target.database, resigned([head!, line, ...rest])), reason);
    }
    assert.deepEqual(await sql(target.database, 'select id from accounts'), []);
  });

  it('of an earlier version may contain columns that no longer exist', async () => {
    await using target = await createTestDatabase();
    const { database } = target;
    await database.script(`alter table accounts drop column if exists low_balance_set_at;
alter table voucher_redemptions drop column if exists under_way_since cascade`);
    const [head, ...rest] = text.trimEnd().split('\n');
    const older = JSON.parse(head!);
    const { tables } = older.faregate_export;
    for (const [table, name] of [
      ['accounts', 'low_balance_set_at'],
      ['voucher_redemptions', 'under_way_since'],
    ] as const)
      tables[table] = [...new Set([...tables[table], name])];
    const schema = older.faregate_export.schema + 1;
    const { rows } = await importDatabase(linesOf(resigned([JSON.stringify(older), ...rest])), {
      directory: database,
      schema,
    });
    assert.equal(rows.accounts, 6);
  });

  it('of an account without a balance is refused', async () => {
    await using source = await createSource();
    await source.database.script(`delete from balances where account_id = 'acct_c'`);
    await assert.rejects(exportedBy(source.database, 7), /^TransferError: The account acct_c has no balance/);
  });
});

describe('calls that end during an export', { timeout: 60_000 }, () => {
  it('are exported with none of the accounts', async () => {
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
    // One call of each account is in flight when the snapshot begins, and ends before its rows are read.
    for (const account of SMALL) {
      await node.stores.reservations.admit([requestOf(account, 'call_in_flight', 50n)], termsOf(CONTEXT));
    }
    const parts = { directory: database, schema: schemaVersion(), clock: CLOCK, textBytesMax: 1, rowsMax: 4 };
    let text = '';
    let chunks = 0;
    for await (const chunk of exportDatabase(parts)) {
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

describe('limits of a key created after the snapshot of keys', { timeout: 60_000 }, () => {
  it('are not exported', async () => {
    await using source = await createTestDatabase();
    await using target = await createTestDatabase();
    await openAccount(source.database, 'acct_a', 0n);
    await source.database.script(`
insert into api_keys (account_id, id, name, key_hash, prefix, created_at) values ('acct_a', 'key_works', 'k', '\\x01', 'p', now());
insert into key_limits (account_id, key_id, daily_calls_max) values ('acct_a', 'key_works', 5), ('acct_a', 'key_later', 5);
insert into rate_limits (account_id, key_id, model, requests_max)
values ('acct_a', '', '', 5), ('acct_a', 'key_works', '', 5), ('acct_a', 'key_later', '', 5)`);
    await imported(target.database, await exported(source.database));
    const rows = await sql<object>(
      target.database,
      'select key_id from key_limits union all select key_id from rate_limits order by key_id',
    );
    assert.deepEqual(rows, [{ key_id: '' }, { key_id: 'key_works' }, { key_id: 'key_works' }]);
  });
});

describe('a key that is deleted while its account is exported', { timeout: 60_000 }, () => {
  it('is exported with its limits', async () => {
    await using source = await createTestDatabase();
    await using target = await createTestDatabase();
    const { database } = source;
    await openAccount(database, 'acct_a', 0n);
    await database.script(`
insert into api_keys (account_id, id, name, key_hash, prefix, created_at, revoked_at) values
('acct_a', 'key_ended', 'k', '\\x01', 'p', now(), now() - interval '8 days'), ('acct_a', 'key_works', 'k', '\\x02', 'p', now(), null);
insert into key_limits (account_id, key_id, daily_calls_max) select account_id, id, 5 from api_keys;
update usage_backfill set is_done = true`);
    const keys = createEndedKeyStore(placedInOne(inOneDatabase(database)));
    let isForgotten = false;
    const forgetful = fetchingAfter(database, async (statement) => {
      if (isForgotten || statement !== 'export.read-rate_limits') return;
      isForgotten = true;
      await keys.forgetEndedBefore(Date.now(), new AbortController().signal);
    });
    const text = await exported(forgetful);
    assert.deepEqual((await imported(target.database, text)).unsound, []);
    const rows = await sql<object>(target.database, 'select key_id from key_limits order by key_id');
    assert.deepEqual(rows, [{ key_id: 'key_ended' }, { key_id: 'key_works' }]);
  });
});
