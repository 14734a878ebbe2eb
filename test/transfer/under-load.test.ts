import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import type { Database } from '../../src/db/database.ts';
import { openExport } from '../../src/transfer/export-store.ts';
import { readLine } from '../../src/transfer/format.ts';
import { call } from '../support/client.ts';
import { createAccountIn } from '../support/created-accounts.ts';
import { createTestDatabase } from '../support/database.ts';
import { startGateway } from '../support/gateway.ts';
import { inOneDatabase } from '../support/in-one-database.ts';
import { insertLimitedKey } from '../support/keys.ts';
import { chatResponse } from '../support/provider.ts';
import { assertSound } from '../support/sound.ts';
import { CLOCK, imported, startExport } from './books.ts';

/** Exports a database while calls are admitted, charged and stored between any two of its reads. */

const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 1000, weeklyCalls: 5000, concurrency: 3, quotaTokens: 1000000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
const BODY = { model: 'test-chat', messages: [] };

/** More than one batch. */
const EARLIER_ENTRIES = 2_500;

interface Amounts {
  entries: number;
  sum: bigint;
}

/** Totals of each account's rows, computed independently of the export's code. */
function readBooks(text: string) {
  const ledgers = new Map<string, Amounts>();
  const charges = new Map<string, Amounts>();
  const balances = new Map<string, bigint>();
  for (const line of text.trimEnd().split('\n')) {
    const { name, json } = readLine(line);
    const account = /"account_id": ?"(\w+)"/.exec(json)?.[1] ?? '';
    const amount = (column: string): bigint => BigInt(new RegExp(`"${column}": ?(-?\\d+)`).exec(json)?.[1] ?? '0');
    const add = (to: Map<string, Amounts>, nano: bigint): void => {
      const amounts = to.get(account) ?? { entries: 0, sum: 0n };
      to.set(account, { entries: amounts.entries + 1, sum: amounts.sum + nano });
    };
    if (name === 'balances') balances.set(account, amount('balance_nano'));
    if (name === 'ledger_entries') add(ledgers, amount('amount_nano'));
    if (name === 'calls' && json.includes('"context":"balance"')) add(charges, amount('charge_nano'));
  }
  return { ledgers, charges, balances };
}

describe(`an export while calls continue`, { timeout: 300_000 }, () => {
  it('contains a consistent state of each account, and no call fails', async () => {
    await using source = await createTestDatabase();
    const g = await startGateway({ stored: source, plans: PLANS });
    let text = '';
    let calls = 0;
    let seen = 0n;
    let account = '';
    try {
      const payer = await g.createAccount();
      account = payer.id;
      await g.admin('POST', `/accounts/${payer.id}/subscriptions`, { planId: 'coder' });
      await g.admin('PATCH', `/keys/${payer.keyId}`, { concurrency: 5, dailyCalls: 1000 });
      await g.createAccount();
      await g.database.script(`insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, created_at)
select '${payer.id}', n, 'top_up', 0, balance_nano, now() from balances, generate_series(2, ${EARLIER_ENTRIES}) n where account_id = '${payer.id}';
update balances set last_entry_no = ${EARLIER_ENTRIES} where account_id = '${payer.id}'`);
      g.provider.respond = chatResponse();
      for await (const chunk of startExport(g.database)) {
        text += chunk;
        calls++;
        const headers = { 'idempotency-key': `call-${calls}` };
        const paid = await call(`${g.url}/v1/chat/completions`, payer.key, BODY, { headers });
        const coding = await call(`${g.url}/v1/coding/chat/completions`, payer.key, BODY);
        assert.deepEqual([paid.status, coding.status], [200, 200]);
      }
      seen = (await payer.money()).balanceNano;
    } finally {
      await g.stop();
    }
    const { ledgers, charges, balances } = readBooks(text);
    assert.equal(balances.size, 2);
    for (const [id, balance] of balances) assert.equal(ledgers.get(id)?.sum, balance);
    // All of these calls ended after the snapshot of their account, so it contains none of them, not even in part.
    assert.ok(calls > 4, `only ${calls} parts`);
    assert.equal(ledgers.get(account)?.entries, EARLIER_ENTRIES);
    assert.equal(charges.size, 0);
    assert.ok(balances.get(account)! > seen);
    await using target = await createTestDatabase();
    assert.deepEqual((await imported(target.database, text)).unsound, []);
    await assertSound(inOneDatabase(target.database));
  });
});

describe('a key that is created or revoked after an export has begun', () => {
  it('is exported in its earlier state', async () => {
    await using stored = await createTestDatabase();
    const at = new Date(CLOCK.nowMs());
    const accounts = createAccountStore(stored.database);
    await createAccountIn(stored.database, {
      id: 'acct',
      name: 'a',
      email: null,
      verified: true,
      dailyCapNano: null,
      at,
    });
    const limits = { dailyCallsMax: 3 };
    const create = (id: string) => insertLimitedKey(stored.database, { accountId: 'acct', id, at }, { limits });
    for (const id of ['key_active', 'key_revoked']) await create(id);
    const reader = await openExport(stored.database);
    // An export reads no rows before the first account is requested.
    await reader.readHead();
    await create('key_new');
    await accounts.revokeKey('key_revoked', at);
    const keys: [string, boolean][] = [];
    for await (const { released, rows } of reader.accounts()) {
      for (const { row } of await rows.api_keys.all('acct')) {
        const { id, revoked_at: revokedAt } = JSON.parse(row);
        keys.push([id, revokedAt !== null]);
      }
      assert.equal(released.keyLimitRows.length, 2);
    }
    await reader.close();
    assert.deepEqual(keys, [
      ['key_active', false],
      ['key_revoked', false],
    ]);
  });
});

describe('an account that is created after an export has begun', () => {
  it('is not exported; earlier accounts are exported with their idempotency keys, so that a repeat creates no second one', async () => {
    await using stored = await createTestDatabase();
    await using target = await createTestDatabase();
    const create = (database: Database, id: string, idempotencyKey: string) =>
      createAccountIn(database, {
        ...{ id, name: 'a', email: null, verified: true, dailyCapNano: null, at: new Date(CLOCK.nowMs()) },
        keyed: { idempotencyKey, request: 'x' },
      });
    await create(stored.database, 'acct_1', 'first');
    let text = '';
    for await (const chunk of startExport(stored.database)) {
      if (text === '') await create(stored.database, 'acct_2', 'a-later-one');
      text += chunk;
    }
    assert.equal((await imported(target.database, text)).end.accounts, 1);
    assert.equal(await create(target.database, 'acct_3', 'first'), 'acct_1');
    assert.equal(await create(target.database, 'acct_4', 'a-later-one'), 'acct_4');
  });
});
