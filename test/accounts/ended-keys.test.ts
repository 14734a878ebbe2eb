import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createApiKeyStore } from '../../src/accounting/accounts/api-key-store.ts';
import { createEndedKeyStore, selectEnded, selectNamed } from '../../src/accounting/accounts/ended-key-store.ts';
import { createKeyUseStore } from '../../src/accounting/accounts/key-use-store.ts';
import { createRollupStore } from '../../src/accounting/usage/rollup-store.ts';
import type { Database } from '../../src/db/database.ts';
import {
  createTestNode,
  endCalls,
  NOW_MS,
  openAccount,
  outcomeOf,
  requestOf,
  type TestNode,
  verdictsOn,
} from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { inOneDatabase, placedInOne } from '../support/in-one-database.ts';
import { insertLimitedKey } from '../support/keys.ts';
import { sql } from '../support/sql.ts';

/** Keys that have ended are deleted, unless a call names them. */

const DAY_MS = 86_400_000;
const ACCOUNT = 'acct_a';
const NEVER = new AbortController().signal;

/** SQL: inserts so many keys of an account that were revoked so long before an instant. */
const INSERT_KEYS = `insert into api_keys (account_id, id, name, key_hash, prefix, created_at, revoked_at)
select $1, $2::text || lpad(n::text, 6, '0'), 'made', decode(md5($1 || $2 || n), 'hex'), 'fg_', $4::timestamptz - interval '30 days',
  $4::timestamptz - $5::interval
from generate_series(1, $3::int) n`;

describe(`keys that have ended`, { timeout: 120_000 }, () => {
  let stored: TestDatabase;
  let database: Database;
  let node: TestNode;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    node = createTestNode(database);
    await openAccount(database, ACCOUNT, 1_000_000_000n);
    await sumAll();
  });
  after(() => stored?.remove());

  const rows = <Row>(text: string, parameters: readonly (string | number | Date)[] = []) =>
    sql<Row>(database, text, parameters);
  const forget = (signal = NEVER) =>
    createEndedKeyStore(placedInOne(inOneDatabase(database))).forgetEndedBefore(NOW_MS - 7 * DAY_MS, signal);
  const insert = (name: string, count: number, endedBefore: string) =>
    rows(INSERT_KEYS, [ACCOUNT, name, count, new Date(NOW_MS), endedBefore]);
  async function keyIds(name: string): Promise<string[]> {
    const found = await rows<{ id: string }>(
      'select id from api_keys where account_id = $1 and id like $2 order by id',
      [ACCOUNT, `${name}%`],
    );
    return found.map(({ id }) => id);
  }
  async function sumAll(): Promise<void> {
    const rollups = createRollupStore(database);
    while ((await rollups.sumSlice('Asia/Shanghai')) !== 'idle');
  }
  /** A call of a key, ended or only begun. */
  async function call(callId: string, keyId: string, end: 'ended' | 'in_flight'): Promise<void> {
    const request = { ...requestOf(ACCOUNT, callId, 10n), keyId };
    assert.deepEqual(await verdictsOn(node.stores.reservations, [request]), ['admitted']);
    if (end === 'in_flight') return;
    await endCalls(node.stores.settlement, [{ ...outcomeOf(ACCOUNT, callId, 10n), keyId }]);
  }

  it('are deleted some days later, even if they were used, with all that belongs to them', async () => {
    const keys = createApiKeyStore(database);
    await insertLimitedKey(
      database,
      { accountId: ACCOUNT, id: 'used_1', at: new Date(NOW_MS - 30 * DAY_MS) },
      {
        limits: { dailyCallsMax: 5 },
        rates: { requestsMax: 5 },
        budgets: [{ model: { id: 'test', aliases: [] }, caps: { totalSpendCapNano: 5n } }],
      },
    );
    assert.equal((await rows(`select from key_limits where key_id = 'used_1' or owner_id = 'used_1'`)).length, 2);
    await createKeyUseStore(database).record([{ accountId: ACCOUNT, keyId: 'used_1', usedAtMs: NOW_MS - 20 * DAY_MS }]);
    await keys.revokeKey('used_1', new Date(NOW_MS - 8 * DAY_MS));
    await insert('lately_', 1, '6 days');
    await insert('works_', 1, '-1 day');
    await rows(`update api_keys set revoked_at = null where id = 'works_000001'`);
    await rows(`update api_keys set revoked_at = null, expires_at = revoked_at where id = 'lately_000001'`);
    assert.equal(await forget(), true);
    assert.deepEqual(await keyIds('used_'), []);
    for (const table of ['key_limits', 'rate_limits', 'key_uses'])
      assert.deepEqual(await rows(`select from ${table} where key_id = 'used_1'`), [], table);
    assert.deepEqual(await rows(`select from key_limits where owner_id = 'used_1'`), []);
    assert.deepEqual(await keyIds('lately_'), ['lately_000001']);
    assert.deepEqual(await keyIds('works_'), ['works_000001']);
  });

  it('may be more than a page', async () => {
    await insert('many_', 450, '9 days');
    // These ended before the ones that were already checked.
    await rows(`update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
    assert.equal(await forget(), true);
    assert.deepEqual(await keyIds('many_'), []);
  });

  it('are kept where a call names them: in the sums, on its way there, unresolved, in flight', async () => {
    await rows(`update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
    await insert('named_', 5, '10 days');
    await call('call_summed', 'named_000001', 'ended');
    await sumAll();
    await call('call_queued', 'named_000002', 'ended');
    await call('call_unresolved', 'named_000003', 'ended');
    await rows(`update calls set status = 'unresolved' where id = 'call_unresolved'`);
    await call('call_in_flight', 'named_000004', 'in_flight');
    assert.equal(await forget(), true);
    assert.deepEqual(await keyIds('named_'), ['named_000001', 'named_000002', 'named_000003', 'named_000004']);
  });

  it('are kept while it is not known which of them calls name, and deleted once it is', async () => {
    await rows(`update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
    await insert('unknown_', 1, '10 days');
    await rows('update usage_backfill set is_done = false');
    await forget();
    assert.deepEqual(await keyIds('unknown_'), ['unknown_000001']);
    await sumAll();
    await forget();
    assert.deepEqual(await keyIds('unknown_'), []);
  });

  it('are checked once each, except for locked ones', async () => {
    await rows(`update ended_keys_progress set ended_at = '1970-01-01', key_id = ''`);
    await insert('locked_', 1, '10 days');
    const other = stored.openAnother();
    try {
      await other.transaction(async (transaction) => {
        await sql(transaction, `select from api_keys where id = 'locked_000001' for update`);
        const store = createEndedKeyStore(placedInOne(inOneDatabase(database.pool('housekeeping'))));
        assert.equal(await store.forgetEndedBefore(NOW_MS - 7 * DAY_MS, NEVER), false);
      });
    } finally {
      await other.close();
    }
    assert.deepEqual(await keyIds('locked_'), ['locked_000001']);
    assert.equal(await forget(), true);
    assert.deepEqual(await keyIds('locked_'), []);
    const [progress] = await rows<{ key_id: string }>('select key_id from ended_keys_progress');
    assert.notEqual(progress!.key_id, '');
  });

  it('are found by an index, and so are the rows that name them', async () => {
    const plansOf = async ({ text }: { readonly text: string }, parameters: readonly (string | Date)[]) =>
      (await rows<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, parameters)).map((row) =>
        row['QUERY PLAN'].trim(),
      );
    const lines = [
      ...(await plansOf(selectEnded, [new Date(0), '', new Date(NOW_MS)])),
      ...(await plansOf(selectNamed, [`{${ACCOUNT}}`, '{key_none}'])),
    ];
    for (const [scan, condition] of [
      ['api_keys_by_end', 'Index Cond: ((LEAST(revoked_at, expires_at) <'],
      ['usage_rollups_by_key', 'Index Cond: ((account_id = p.account_id) AND (key_id = p.id))'],
      ['reservations_pkey', 'Index Cond: (account_id = p.account_id)'],
      ['on calls_default ', 'Index Cond: (id = n.call_id)'],
      ['calls_default_by_status', `Index Cond: (status = 'unresolved'::text)`],
    ] as const) {
      const at = lines.findIndex((line) => line.includes(scan));
      assert.ok(lines[at + 1]?.startsWith(condition), `${scan}:\n${lines.join('\n')}`);
    }
  });
});
