import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createLedgerStore } from '../../src/accounting/ledger/ledger-store.ts';
import { createChangesStore } from '../../src/changes/changes-store.ts';
import type { Database, DatabasePool } from '../../src/db/database.ts';
import type { DirectoryPool, PartitionPool } from '../../src/db/home-pools.ts';
import { CODING_CHAT } from '../plans/coding.ts';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { LOCAL_TOKEN, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { handleOf } from '../support/home-pools.ts';
import { CHAT, coderAnd } from '../support/limited-calls.ts';
import { ask, createPerson } from '../support/people.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/**
 * A gateway whose handle for each home fails statements about tables of the other home. All test gateways have such handles
 * (`support/gateway.ts`) and would not notice every wrong statement; this test covers the flows that need both.
 */

const HELLO = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
const SETTINGS = `
notices: { lowBalanceYuan: "99.999999", allowNetworks: [127.0.0.0/8] }
retention: { calls: 30d }
`;

describe('connections of a home', () => {
  it('are not accepted in place of the other home’s', () => {
    // Only compilation is tested; nothing here runs.
    const stores = (directory: DirectoryPool, partition: PartitionPool, both: DatabasePool) => [
      createChangesStore(directory),
      createChangesStore(both),
      // @ts-expect-error
      createChangesStore(partition),
      createLedgerStore(partition),
      createLedgerStore(both),
      // @ts-expect-error
      createLedgerStore(directory),
    ];
    assert.equal(stores.length, 3);
  });
});

describe(`a gateway with a separate handle per home`, { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-01-31T12:00:00Z');
  let stored: TestDatabase;
  let receiver: Receiver;
  let g: TestGateway;
  let account: TestAccount;

  const start = (database: Database): Promise<TestGateway> =>
    startGateway({
      stored,
      database,
      clock,
      plans: coderAnd(),
      noticeSettings: SETTINGS,
      usageIntervalMs: 5,
    });
  before(async () => {
    stored = await createTestDatabase();
    receiver = await startReceiver();
    receiver.respond = status(204);
    g = await start(stored.database);
    assert.equal((await g.admin('POST', '/webhooks', { url: receiver.url })).status, 201);
    account = await g.createAccount();
  });
  after(async () => {
    await g.stop();
    await receiver.close();
    await stored.remove();
  });

  const get = async (path: string) => {
    const response = await g.admin('GET', path);
    assert.equal(response.status, 200, JSON.stringify(response.body));
    return response.body;
  };
  const post = async (path: string, body: object = {}) => {
    const response = await g.admin('POST', path, body);
    assert.ok(response.status < 300, JSON.stringify(response.body));
    return response.body;
  };
  const query = async (path: string): Promise<number> =>
    (await fetch(g.url + path, { headers: { authorization: `Bearer ${account.key}` } })).status;

  it('fails statements sent to the wrong one', async () => {
    const found: unknown[] = [];
    const directory = handleOf('directory', g.database, (error) => found.push(error));
    const store = createLedgerStore(directory.pool('admin'));
    await assert.rejects(store.listEntries(account.id, null, 1), /ledger_entries in the directory/);
    assert.equal(found.length, 1);
  });

  it('serves calls on the balance and on a plan, and shows the remainders', async () => {
    await post(`/accounts/${account.id}/subscriptions`, { planId: 'coder' });
    const limits = { dailyCalls: 90, totalSpendCapYuan: '9', requestsPerMinute: 50 };
    assert.equal((await g.admin('PATCH', `/keys/${account.keyId}`, limits)).status, 200);
    for (const path of [CHAT, CODING_CHAT, CHAT]) {
      assert.equal((await call(g.url + path, account.key, HELLO)).status, 200);
    }
    await g.observed.callsEnded(account.id, 3);
    for (const path of ['/v1/user/balance', '/v1/coding/user/balance', '/v1/models']) {
      assert.equal(await query(path), 200, path);
    }
  });

  it('lists calls and sums them by account and key', async () => {
    await until(async () => (await get(`/usage?accountId=${account.id}`)).data[0]?.calls === 3);
    const [found] = (await get('/usage?groupBy=account,key')).data;
    assert.deepEqual([found.accountName, found.keyName], ['tester', 'test']);
    const { data } = await get(`/calls?keyId=${account.keyId}`);
    assert.equal(data.length, 3);
    assert.equal((await get(`/calls?requestId=${data[0].requestId}`)).data.length, 1);
    assert.deepEqual((await get('/calls?status=in_flight')).data, []);
    const charged = data.find((each: { chargeYuan: string | null }) => each.chargeYuan !== null);
    await post(`/calls/${charged.id}/refunds`, { amountYuan: '0.000001' });
    assert.equal((await get(`/accounts/${account.id}/statement?month=2026-01`)).accountId, account.id);
    assert.equal((await get(`/accounts/${account.id}/ledger`)).data.length, 4);
    assert.equal((await call(g.url + CHAT, 'sk-fg-none', HELLO)).status, 401);
    assert.equal((await get('/accounts?search=tester')).data.length, 1);
  });

  it('creates, finds, replaces and revokes keys', async () => {
    const made = await post(`/accounts/${account.id}/keys`, { name: 'limited', dailyCalls: 5 });
    assert.equal((await post('/keys/search', { key: made.key })).data[0].dailyCalls, 5);
    const next = await post(`/keys/${made.id}/replacement`);
    assert.equal((await call(g.url + CHAT, next.key, HELLO)).status, 200);
    assert.equal((await g.admin('DELETE', `/keys/${next.id}`)).status, 204);
    assert.equal((await call(g.url + CHAT, next.key, HELLO)).status, 401);
  });

  it('redeems vouchers, and manages users', async () => {
    const { id, codes } = await post('/vouchers', { name: 'spring', count: 2, amountYuan: '5' });
    const owner = await createPerson(g, { memberships: [{ accountId: account.id, role: 'owner' }] });
    for (const code of codes) {
      const redeemed = await ask(g, 'POST', '/vouchers', { code }, owner.headers);
      assert.ok(redeemed.status < 300, JSON.stringify(redeemed.body));
    }
    for (const path of ['/account', '/calls', '/usage', '/keys', '/members', '/plan']) {
      assert.equal((await ask(g, 'GET', path, undefined, owner.headers)).status, 200, path);
    }
    assert.equal((await get(`/vouchers/${id}/redemptions`)).data.length, 2);
    assert.ok((await get('/changes')).data.length > 5);
  });

  it('sends notices', async () => {
    await post(`/accounts/${account.id}/adjustments`, { amountYuan: '-20', memo: 'a mistake' });
    await until(async () => {
      await g.gateway.notices.settle();
      return receiver.received.some(({ body }) => body.type === 'balance.low');
    });
  });

  it('audits and exports the database', async () => {
    assert.equal((await post('/audit')).isSound, true);
    const headers = { authorization: `Bearer ${LOCAL_TOKEN}` };
    const text = await (await fetch(`${g.url}/admin/v1/export`, { method: 'POST', headers })).text();
    assert.match(text, /\n\{"account_end":.*\n\{"end":.*\n$/s);
    assert.ok((await (await fetch(`${g.url}/metrics`, { headers })).text()).includes('faregate_'));
  });

  it('runs housekeeping, and drops call records of past months', async () => {
    await g.stop();
    clock.set('2026-03-10T00:00:00Z');
    g = await start(stored.openAnother());
    await until(async () => (await get(`/calls?accountId=${account.id}`)).data.length === 0);
    const { observed } = g;
    const kept = ['ended-keys.read-progress', 'nodes.forget'];
    for (const name of kept) assert.ok(observed.statement(name).done > 0, name);
    assert.equal((await get(`/usage?accountId=${account.id}`)).data[0].calls, 4);
    assert.equal((await post('/audit')).isSound, true);
  });
});
