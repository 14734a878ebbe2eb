import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Database } from '../../src/db/database.ts';
import { createLeftUserStore, forgetPage } from '../../src/people/left-user-store.ts';
import { createMembershipStore } from '../../src/people/membership-store.ts';
import { createUserStore } from '../../src/people/user-store.ts';
import { openAccount } from '../support/accounting-builders.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { sql } from '../support/sql.ts';

/** Users who have left all their accounts are deleted, unless they are still needed. */

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 20, 4);
const LONG_AGO = new Date(NOW_MS - 31 * DAY_MS);
const NEVER = new AbortController().signal;

describe(`users who have left all accounts`, () => {
  let stored: TestDatabase;
  let database: Database;

  before(async () => {
    stored = await createTestDatabase();
    database = stored.database;
    await openAccount(database, 'acct_a', 0n);
    await openAccount(database, 'acct_b', 0n);
  });
  after(() => stored?.remove());

  const rows = <Row>(text: string) => sql<Row>(database, text);
  const forget = () => createLeftUserStore(database).forgetLeftBefore(NOW_MS - 30 * DAY_MS, NOW_MS, NEVER);
  const members = () => createMembershipStore(database);

  /** A user who was in both accounts and has left them. */
  async function leave(id: string, at: Date, accounts: readonly string[] = ['acct_a', 'acct_b']): Promise<void> {
    const refusal = await createUserStore(database).insert({
      id,
      email: null,
      name: id,
      passwordHash: null,
      operatorRole: null,
      memberships: ['acct_a', 'acct_b'].map((accountId) => ({ accountId, role: 'member' })),
      at: LONG_AGO,
    });
    assert.equal(refusal, null);
    for (const accountId of accounts) assert.equal(await members().remove(accountId, id, false, at, 'kept'), null);
  }
  async function left(): Promise<string[]> {
    return (await rows<{ id: string }>('select id from users order by id')).map(({ id }) => id);
  }

  it('are deleted a month later with their sessions, unless they returned or are in another account', async () => {
    await leave('usr_gone', LONG_AGO);
    await leave('usr_lately', new Date(NOW_MS - 29 * DAY_MS));
    await leave('usr_one_left', LONG_AGO, ['acct_a']);
    await leave('usr_back', LONG_AGO);
    const back = { accountId: 'acct_b', userId: 'usr_back', role: 'member', at: new Date(NOW_MS) } as const;
    assert.equal(await members().add(back), null);
    await rows(`insert into sessions (id, user_id, token_hash, created_at, last_seen_at, expires_at)
values ('ses_1', 'usr_gone', '\\x01', now(), now(), now())`);
    await forget();
    assert.deepEqual(await left(), ['usr_back', 'usr_lately', 'usr_one_left']);
    assert.deepEqual(await rows('select from sessions'), []);
  });

  it('are kept as operators, while suspended, and while a key of theirs is valid', async () => {
    await rows('delete from users');
    for (const id of ['usr_auditor', 'usr_suspended', 'usr_key', 'usr_old_keys']) await leave(id, LONG_AGO);
    await rows(`update users set operator_role = 'auditor' where id = 'usr_auditor'`);
    await rows(`update users set status = 'suspended' where id = 'usr_suspended'`);
    const at = new Date(NOW_MS).toISOString();
    await rows(`insert into api_keys (account_id, id, name, key_hash, prefix, created_at, user_id, revoked_at, expires_at) values
('acct_a', 'key_1', 'k', '\\x01', 'fg_', now(), 'usr_key', null, null),
('acct_a', 'key_2', 'k', '\\x02', 'fg_', now(), 'usr_old_keys', now(), null),
('acct_a', 'key_3', 'k', '\\x03', 'fg_', now(), 'usr_old_keys', null, '${at}')`);
    await forget();
    assert.deepEqual(await left(), ['usr_auditor', 'usr_key', 'usr_suspended']);
    await rows(`update api_keys set revoked_at = now() where id = 'key_1'`);
    await forget();
    assert.deepEqual(await left(), ['usr_auditor', 'usr_suspended']);
  });

  it('are deleted even if they are more than a page and come after kept ones', async () => {
    await rows('delete from users');
    const past = new Date(NOW_MS - 40 * DAY_MS).toISOString();
    await rows(`insert into users (id, name, sign_in_name, status, created_at, left_at, operator_role)
select 'usr_' || n, 'n', 'n' || n, 'active', now(), '${past}', case when n <= 250 then 'auditor' end from generate_series(1, 700) n`);
    await forget();
    assert.equal((await left()).length, 250);
  });

  it('are recorded if two accounts remove a user at once', async () => {
    await rows('delete from users');
    await leave('usr_twice', LONG_AGO, []);
    await Promise.all(['acct_a', 'acct_b'].map((id) => members().remove(id, 'usr_twice', false, LONG_AGO, 'kept')));
    await forget();
    assert.deepEqual(await left(), []);
  });

  it('are found through an index, and their keys through another', async () => {
    // Other tests may have left one index fuller than its table, which makes another one look cheaper.
    await database.script('reindex table api_keys');
    const plan = await sql<{ 'QUERY PLAN': string }>(database, `explain (costs off) ${forgetPage.text}`, [
      LONG_AGO,
      new Date(0),
      '',
      LONG_AGO,
    ]);
    const lines = plan.map((row) => row['QUERY PLAN'].trim());
    for (const [scan, condition] of [
      ['users_by_leaving', 'Index Cond: ((left_at <'],
      ['api_keys_by_person', 'Index Cond: (user_id = p.id)'],
      ['users_pkey', 'Index Cond: (id = ANY ('],
    ] as const) {
      const at = lines.findIndex((line) => line.includes(scan));
      assert.ok(lines[at + 1]?.startsWith(condition), `${scan}:\n${lines.join('\n')}`);
    }
  });
});
