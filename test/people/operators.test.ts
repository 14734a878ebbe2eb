import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createApiKey } from '../../src/accounting/accounts/key-format.ts';
import { call, startCall } from '../support/client.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatStream, chatUsage, liveResponse } from '../support/provider.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Suspending accounts, and finding keys and calls. */

const CALL_NANO = costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens });
const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };

describe(`operators`, { timeout: 60_000 }, () => {
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ plans: PLANS });
  });
  after(() => g.stop());

  const chat = (account: Pick<TestAccount, 'key'>) => call(`${g.url}/v1/chat/completions`, account.key, hello);
  const change = (id: string, body: object) => g.admin('PATCH', `/accounts/${id}`, body);
  const search = (body: object) => g.admin('POST', '/keys/search', body);

  it('suspend an account: calls in flight end and are charged, new ones are refused, keys are kept', async () => {
    const account = await g.createAccount();
    const live = liveResponse();
    const { respond } = g.provider;
    g.provider.respond = live.respond;
    const running = startCall(`${g.url}/v1/chat/completions`, account.key, { ...hello, stream: true });
    await live.opened;
    g.provider.respond = respond;

    const suspended = await change(account.id, { status: 'suspended', statusReason: 'invoice 7 is not paid' });
    assert.equal(suspended.status, 200);
    assert.deepEqual([suspended.body.status, suspended.body.statusReason], ['suspended', 'invoice 7 is not paid']);
    assert.ok(Number.isFinite(Date.parse(suspended.body.statusChangedAt)));
    const refused = await chat(account);
    assert.deepEqual([refused.status, refused.json.error.code], [401, 'invalid_api_key']);
    assert.match(refused.json.error.message, /suspended/);

    await live.write(chatStream(['Hello']).join(''));
    live.end();
    const response = await running.response;
    assert.equal(await response.ended(), true);
    assert.equal((await account.endedCall()).status, 'succeeded');
    await assertSpent(account, CALL_NANO);

    // Other changes keep status and reason; a reason belongs to a status.
    assert.equal((await change(account.id, { name: 'renamed' })).body.statusReason, 'invoice 7 is not paid');
    const alone = await change(account.id, { statusReason: 'why' });
    assert.deepEqual([alone.status, alone.body.error.param], [400, 'statusReason']);

    const resumed = await change(account.id, { status: 'active' });
    assert.deepEqual([resumed.body.status, resumed.body.statusReason], ['active', null]);
    assert.equal((await chat(account)).status, 200);
    const { data } = (await g.admin('GET', `/accounts/${account.id}/keys`)).body;
    assert.deepEqual([data.length, data[0].revokedAt], [1, null]);
  });

  it('find a pasted key with its owner and last use, never the key itself', async () => {
    const account = await g.createAccount();
    await change(account.id, { name: 'Finder', status: 'active', statusReason: 'looked at' });
    await g.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 9 });
    const found = await search({ key: account.key });
    assert.equal(found.status, 200);
    const [first, ...others] = found.body.data;
    assert.deepEqual(others, []);
    assert.deepEqual(
      [first.id, first.accountId, first.name, first.status],
      [account.keyId, account.id, 'test', 'active'],
    );
    assert.deepEqual([first.dailyCalls, first.lastUsedAt], [9, null]);
    assert.deepEqual(first.account, {
      id: account.id,
      name: 'Finder',
      email: null,
      verified: true,
      status: 'active',
      statusReason: 'looked at',
    });
    const text = JSON.stringify(found.body);
    assert.ok(!text.includes(account.key.slice('sk-fg-'.length + 4)));
    assert.ok(!/hash/i.test(text));

    assert.deepEqual((await search({ id: account.keyId })).body.data, found.body.data);
    assert.deepEqual((await search({ id: 'key_none' })).body.data, []);
    for (const prefix of [first.prefix, account.key.slice(0, 10), account.key.slice(0, 8)]) {
      const { body } = await search({ prefix });
      assert.ok(
        // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
        body.data.some((key: any) => key.id === account.keyId),
        prefix,
      );
    }
    assert.equal((await chat(account)).status, 200);
    await until(async () => (await search({ key: account.key })).body.data[0].lastUsedAt !== null);
    const listed = (await g.admin('GET', `/accounts/${account.id}/keys`)).body.data[0];
    assert.ok(Math.abs(Date.parse(listed.lastUsedAt) - Date.now()) < 600_000);

    await g.admin('DELETE', `/keys/${account.keyId}`);
    assert.equal((await search({ key: account.key })).body.data[0].status, 'revoked');
    const old = await g.admin('POST', `/accounts/${account.id}/keys`, { expiresAt: '2020-01-01T00:00:00Z' });
    assert.equal((await search({ key: old.body.key })).body.data[0].status, 'expired');
  });

  it('get an empty list for an unknown key, and an error without the key for a mistyped one', async () => {
    const unknown = createApiKey((bytes) => bytes.fill(7));
    assert.deepEqual((await search({ key: unknown })).body, { data: [], nextCursor: null });
    const typo = `${unknown.slice(0, -1)}${unknown.endsWith('a') ? 'b' : 'a'}`;
    for (const [body, param] of [
      [{ key: typo }, 'key'],
      [{ key: typo.slice(0, 19) }, 'key'],
      [{ prefix: unknown }, 'prefix'],
      [{ prefix: unknown.slice(0, 11) }, 'prefix'],
      [{ prefix: 'sk-fg-A' }, 'prefix'],
      [{ prefix: 'sk-fg-A%' }, 'prefix'],
      [{ prefix: 'Ab12' }, 'prefix'],
      [{}, null],
      [{ key: unknown, prefix: unknown.slice(0, 10) }, null],
    ] as const) {
      const { status, body: response } = await search(body);
      assert.deepEqual([status, response.error.param], [400, param], JSON.stringify(response));
      assert.ok(!response.error.message.includes(unknown.slice(6, 19)), response.error.message);
    }
  });

  it('find a prefix through an index', async () => {
    const plan = await sql<{ 'QUERY PLAN': string }>(
      g.database,
      `explain select id from api_keys k
where k.prefix collate "C" >= 'sk-fg-Ab' and k.prefix collate "C" < 'sk-fg-Ab' || U&'\\+10FFFF'`,
    );
    assert.match(plan.map((row) => row['QUERY PLAN']).join('\n'), /api_keys_by_prefix/);
  });

  it('see calls in flight with account, route and reservation', async () => {
    const account = await g.createAccount();
    await change(account.id, { name: 'Busy' });
    const live = liveResponse();
    const { respond } = g.provider;
    const list = async (query = '') => {
      const { status, body } = await g.admin('GET', `/calls?status=in_flight&accountId=${account.id}${query}`);
      assert.equal(status, 200);
      return body;
    };
    assert.deepEqual(await list(), { data: [], nextCursor: null });
    g.provider.respond = live.respond;
    const running = startCall(`${g.url}/v1/chat/completions`, account.key, { ...hello, stream: true });
    await live.opened;
    g.provider.respond = respond;
    const { data } = await list();
    assert.equal(data.length, 1);
    const { id, requestId, nodeId, heldYuan, startedAt, reservedAt, ...rest } = data[0];
    assert.match(id, /^call_/);
    assert.match(requestId, /^req_/);
    assert.match(nodeId, /^node_/);
    assert.ok(Number(heldYuan) > 0);
    assert.equal(heldYuan, (await g.admin('GET', `/accounts/${account.id}`)).body.heldYuan);
    assert.ok(Date.parse(startedAt) <= Date.parse(reservedAt));
    assert.deepEqual(rest, {
      accountId: account.id,
      accountName: 'Busy',
      keyId: account.keyId,
      keyName: 'test',
      context: 'balance',
      operation: 'chat',
      model: 'test-chat',
      route: { provider: 'chatty', model: 'upstream-chat' },
      isStream: true,
      status: 'in_flight',
      heldTokens: null,
      clientAddress: null,
      program: null,
      endUser: null,
      tags: [],
    });
    for (const [query, found] of [
      [`&keyId=${account.keyId}`, 1],
      ['&keyId=key_other', 0],
      ['&model=test-chat', 1],
      ['&model=test-messages', 0],
      [`&cursor=${id}`, 0],
      ['&from=2020-01-01T00:00:00Z', 1],
      ['&to=2020-01-01T00:00:00Z', 0],
    ] as const) {
      assert.equal((await list(query)).data.length, found, query);
    }
    await live.write(chatStream(['Hello']).join(''));
    live.end();
    await (await running.response).ended();
    await account.endedCall();
    assert.deepEqual((await list()).data, []);
  });

  it('see plans with their subscriptions, and the remainder of one', async () => {
    const plans = async () => (await g.admin('GET', '/plans')).body.data;
    const remainder = async (id: string) => (await g.admin('GET', `/accounts/${id}/plan`)).body;
    const [before] = await plans();
    assert.deepEqual(before, {
      id: 'coder',
      name: 'Coder',
      activeSubscriptions: 0,
      hasMoreSubscriptions: false,
      fiveHourCalls: 1,
      weeklyCalls: 5,
      concurrency: 3,
      quotaTokens: 1000,
      periodDays: 30,
      models: ['test-chat'],
      inputByteLimit: 1024 * 1024,
      outputTokenLimit: 100,
    });
    const account = await g.createAccount();
    const none = await remainder(account.id);
    assert.deepEqual([none.isUsable, none.planId, none.fiveHour], [false, null, null]);
    assert.equal(none.message, 'This account has no Coding Plan.');
    const granted = await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'coder' });
    assert.equal(granted.status, 201);
    const later = await g.createAccount();
    const startsAt = new Date(Date.now() + 86_400_000).toISOString();
    await g.admin('POST', `/accounts/${later.id}/subscriptions`, { planId: 'coder', startsAt });
    assert.equal((await plans())[0].activeSubscriptions, 1);
    assert.match((await remainder(later.id)).message, /^The plan Coder begins at /);

    assert.equal((await call(`${g.url}/v1/coding/chat/completions`, account.key, hello)).status, 200);
    const { fiveHour, weekly, quota, concurrency, ...rest } = await remainder(account.id);
    assert.deepEqual(rest, {
      accountId: account.id,
      planId: 'coder',
      planName: 'Coder',
      isUsable: false,
      usableAgainAt: fiveHour.roomAt,
      message: null,
    });
    assert.deepEqual([fiveHour.limit, fiveHour.used, fiveHour.remaining], [1, 1, 0]);
    assert.ok(Date.parse(fiveHour.roomAt) > Date.now());
    assert.equal(fiveHour.moreAt, fiveHour.roomAt);
    assert.deepEqual([weekly.limit, weekly.used, weekly.remaining], [5, 1, 4]);
    assert.deepEqual([quota.limitTokens, quota.usedTokens, quota.remainingTokens], [1000, 18, 982]);
    assert.deepEqual(concurrency, { limit: 3, inFlight: 0 });
    assert.equal(Date.parse(quota.resetAt) - Date.parse(quota.startedAt), 30 * 86_400_000);

    await g.admin('DELETE', `/subscriptions/${granted.body.id}`);
    assert.equal((await plans())[0].activeSubscriptions, 0);
    assert.equal((await g.admin('GET', '/accounts/acct_of_nobody/plan')).status, 404);
  });
});

const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 1, weeklyCalls: 5, concurrency: 3, quotaTokens: 1000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
