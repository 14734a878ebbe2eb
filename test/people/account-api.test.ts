import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { ADMIN_TOKEN, send, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { createPerson } from '../support/people.ts';
import { liveResponse } from '../support/provider.ts';
import { until } from '../support/until.ts';

/** What owners and members of an account can see and change. */

const hello = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] };
const MODELS = `
  by-hour:
    operations: [chat]
    price:
      input: "4"
      output: "16"
      timeOfDay: { id: night, timezone: Asia/Shanghai, peak: { hours: ["22:00-01:30"], input: "8", output: "32" }, offPeak: { input: "2", output: "8" } }
    routes: [{ provider: chatty, model: upstream }]
`;
const PLANS = `
plans:
  lite: { name: Lite, fiveHourCalls: 10, weeklyCalls: 20, concurrency: 2, quotaTokens: 1000, periodDays: 30, models: [test-chat], inputByteLimit: 1MiB, outputTokenLimit: 100 }
limits: { requestsPerMinute: 700, models: { test-chat: { tokensPerMinute: 900 } } }
`;

describe(`the account API`, { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T04:00:00Z');
  let g: TestGateway;
  let account: TestAccount;
  /** A key of the account, and keys of two members, all for calls and the account API. */
  let owner: string;
  let lin: { key: string; id: string; userId: string };
  let mo: { key: string; id: string; userId: string };
  before(async () => {
    g = await startGateway({ clock, plans: PLANS, models: MODELS, usageIntervalMs: 10 });
    account = await g.createAccount();
    owner = (await makeKey('owner')).key;
    lin = await makeKey('Lin', true);
    mo = await makeKey('Mo', true);
  });
  after(() => g.stop());

  async function makeKey(name: string, isOfMember = false): Promise<{ key: string; id: string; userId: string }> {
    const memberships = [{ accountId: account.id, role: 'member' }] as const;
    const userId = isOfMember ? (await createPerson(g, { name, memberships })).id : null;
    const body = { name, userId, scopes: ['calls', 'account'] };
    const made = await g.admin('POST', `/accounts/${account.id}/keys`, body);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made.body;
  }

  async function ask(key: string, method: string, path: string, sent?: object) {
    const authorization = `Bearer ${key}`;
    const { status, text } = await send(`${g.url}/account/v1${path}`, method, sent, { authorization });
    return { status, text, body: text === '' ? null : JSON.parse(text) };
  }

  const read = async (key: string, path: string) => {
    const response = await ask(key, 'GET', path);
    assert.equal(response.status, 200, `${path}: ${response.text}`);
    return response.body;
  };
  const chat = (key: string, body: object = hello) => call(`${g.url}/v1/chat/completions`, key, body);

  it('refuses an operator, who has no account, with the reason', async () => {
    const message = 'You belong to no account. Operators use the admin API.';
    const { status, body } = await ask(ADMIN_TOKEN, 'GET', '/account');
    assert.deepEqual([status, body], [403, { error: { code: 'permission_denied', message, param: null } }]);
  });

  it('shows amounts of money only to owners', async () => {
    const whole = await read(owner, '/account');
    assert.deepEqual([whole.id, whole.role, whole.balanceYuan], [account.id, 'owner', '100']);
    const part = await read(lin.key, '/account');
    const seen = ['createdAt', 'id', 'name', 'role', 'status', 'timezone', 'today', 'verified'];
    assert.deepEqual(Object.keys(part).sort(), seen);
  });

  it('lets owners set a cap in addition to the operator’s, which stays', async () => {
    const patch = (body: object) => ask(owner, 'PATCH', '/account', body);
    const change = await patch({ name: 'Acme', email: 'acme@example.com', ownDailySpendCapYuan: '0' });
    assert.deepEqual([change.status, change.body.name, change.body.email], [200, 'Acme', 'acme@example.com']);
    assert.deepEqual([change.body.ownDailySpendCapYuan, change.body.dailySpendCapInForceYuan], ['0', '0']);
    const capped = await chat(owner);
    assert.deepEqual([capped.status, capped.json.error.code], [429, 'balance_daily_limit_exceeded']);
    await g.admin('PATCH', `/accounts/${account.id}`, { dailySpendCapYuan: '0' });
    assert.equal((await patch({ ownDailySpendCapYuan: '50' })).body.dailySpendCapInForceYuan, '0');
    assert.equal((await chat(owner)).status, 429);
    await g.admin('PATCH', `/accounts/${account.id}`, { dailySpendCapYuan: null });
    assert.equal((await chat(owner)).status, 200);
    assert.equal((await patch({ ownDailySpendCapYuan: null })).body.dailySpendCapInForceYuan, null);
    assert.equal((await g.admin('GET', `/accounts/${account.id}`)).body.ownDailySpendCapYuan, null);
    for (const body of [{ verified: true }, { dailySpendCapYuan: '1' }, { priceFactorBasisPoints: 0 }]) {
      assert.equal((await patch(body)).status, 400, JSON.stringify(body));
    }
  });

  it('lets members create, replace and revoke their own keys, but not change limits', async () => {
    const made = await ask(lin.key, 'POST', '/keys', { name: 'laptop', dailyCalls: 5, scopes: ['calls', 'account'] });
    assert.deepEqual([made.status, made.body.userId, made.body.dailyCalls], [201, lin.userId, 5]);
    const others = await ask(lin.key, 'POST', '/keys', { userId: mo.userId });
    assert.deepEqual([others.status, others.body.error.param], [400, 'userId']);
    const unknown = await ask(owner, 'POST', '/keys', { userId: 'usr_nobody' });
    assert.deepEqual([unknown.status, unknown.body.error.param], [400, 'userId']);
    assert.equal((await ask(lin.key, 'PATCH', `/keys/${made.body.id}`, { dailyCalls: null })).status, 403);
    assert.equal((await ask(owner, 'PATCH', `/keys/${made.body.id}`, { dailyCalls: 6 })).body.dailyCalls, 6);

    const ends = new Date(clock.nowMs() + 60_000).toISOString();
    const short = (await ask(lin.key, 'POST', '/keys', { expiresAt: ends })).body;
    const next = await ask(lin.key, 'POST', `/keys/${short.id}/replacement`, { expiresAt: null });
    assert.deepEqual([next.status, next.body.expiresAt, next.body.userId], [201, ends, lin.userId]);
    assert.equal((await chat(short.key)).status, 401);

    for (const id of [mo.id, account.keyId, 'key_none']) {
      assert.equal((await ask(lin.key, 'DELETE', `/keys/${id}`)).status, 404, id);
      assert.equal((await ask(lin.key, 'POST', `/keys/${id}/replacement`, {})).status, 404, id);
    }
    for (const { id } of [made.body, next.body])
      assert.equal((await ask(lin.key, 'DELETE', `/keys/${id}`)).status, 204);
    const own = (await read(lin.key, '/keys')).data;
    assert.deepEqual(new Set(own.map((key: { userId: string }) => key.userId)), new Set([lin.userId]));
    const all = (await read(owner, '/keys')).data;
    assert.ok(all.some(({ userId }: { userId: string | null }) => userId === mo.userId));
    assert.ok(all.length > own.length);
  });

  it('limits a member to twenty active keys, even with concurrent requests', async () => {
    const asked = await Promise.all(Array.from({ length: 24 }, () => ask(mo.key, 'POST', '/keys', {})));
    const made = asked.filter(({ status }) => status === 201);
    assert.equal(made.length, 19);
    assert.deepEqual([...new Set(asked.map(({ status }) => status))].sort(), [201, 409]);
    const kept = await ask(mo.key, 'POST', `/keys/${made[0]!.body.id}/replacement`, { keepOldSeconds: 60 });
    assert.equal(kept.status, 409);
    assert.equal((await chat(made[0]!.body.key)).status, 200);
    assert.equal((await ask(mo.key, 'POST', `/keys/${made[0]!.body.id}/replacement`, {})).status, 201);
    assert.equal((await read(mo.key, '/keys?limit=500')).data.length, 21);
  });

  it('shows members only calls, refusals and usage of their own keys, and owners all', async () => {
    for (const { key } of [lin, mo]) assert.equal((await chat(key)).status, 200);
    const refused = { headers: { 'x-client-request-id': 'shared-id' } };
    for (const { key } of [lin, mo]) {
      await call(`${g.url}/v1/chat/completions`, key, { ...hello, model: 'nowhere' }, refused);
    }
    const keysOf = async (key: string, path: string) =>
      new Set((await read(key, path)).data.map(({ keyId }: { keyId: string }) => keyId));
    await until(async () => (await read(lin.key, '/calls')).data.length === 1);
    await until(async () => (await read(mo.key, '/refusals')).data.length > 0);
    await until(async () => (await read(lin.key, '/usage')).data[0]?.calls === 1);
    const only = new Set([lin.id]);
    const theirKeys = await keysOf(lin.key, '/refusals');
    assert.ok(theirKeys.has(lin.id) && !theirKeys.has(mo.id));
    for (const path of ['/calls', '/usage?groupBy=key', `/calls?keyId=${lin.id}`]) {
      assert.deepEqual(await keysOf(lin.key, path), only, path);
    }
    for (const path of [`/calls?keyId=${mo.id}`, `/usage?groupBy=key&keyId=${mo.id}`]) {
      assert.deepEqual(await keysOf(lin.key, path), new Set(), path);
    }
    const found = await read(lin.key, '/calls?requestId=shared-id');
    assert.deepEqual(new Set(found.refusals.map(({ keyId }: { keyId: string }) => keyId)), only);
    assert.ok((await keysOf(owner, '/calls')).has(mo.id));
    assert.equal((await read(owner, '/calls?requestId=shared-id')).refusals.length, 2);

    const [own] = (await read(lin.key, '/calls')).data;
    const [theirs] = (await read(mo.key, '/calls')).data;
    assert.equal((await read(lin.key, `/calls/${own.id}`)).chargeYuan, own.chargeYuan);
    assert.equal((await ask(lin.key, 'GET', `/calls/${theirs.id}`)).status, 404);
    assert.equal((await read(owner, `/calls/${theirs.id}`)).keyId, theirs.keyId);

    const live = liveResponse();
    const { respond } = g.provider;
    g.provider.respond = live.respond;
    const running = startCall(`${g.url}/v1/chat/completions`, mo.key, { ...hello, stream: true });
    await live.opened;
    g.provider.respond = respond;
    assert.deepEqual((await read(lin.key, '/calls?status=in_flight')).data, []);
    const open = (await read(mo.key, '/calls?status=in_flight')).data;
    assert.deepEqual([open.length, open[0].keyId, open[0].status], [1, mo.id, 'in_flight']);
    live.end();
    await (await running.response).ended();
  });

  it('lets owners create keys for members, and refuses keys of people who have left', async () => {
    const memberships = [{ accountId: account.id, role: 'member' }] as const;
    const kim = await createPerson(g, { name: 'Kim', memberships });
    const made = await ask(owner, 'POST', '/keys', { userId: kim.id, scopes: ['account'], dailyCalls: 3 });
    assert.deepEqual([made.status, made.body.userId], [201, kim.id]);
    assert.deepEqual((await read(made.body.key, '/keys')).data.length, 1);
    await g.admin('PATCH', `/users/${kim.id}`, { status: 'suspended' });
    assert.equal((await ask(made.body.key, 'GET', '/keys')).status, 401);
    await g.admin('PATCH', `/users/${kim.id}`, { status: 'active' });
    assert.equal((await ask(made.body.key, 'GET', '/keys')).status, 200);
    const removed = await g.admin('DELETE', `/accounts/${account.id}/members?userId=${kim.id}`);
    assert.equal(removed.status, 204);
    const left = await ask(made.body.key, 'GET', '/keys');
    assert.deepEqual([left.status, left.body.error.code], [401, 'invalid_api_key']);
  });

  it('shows the plan, available plans, models with prices, and effective limits', async () => {
    assert.equal((await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'lite' })).status, 201);
    await g.admin('PATCH', `/accounts/${account.id}`, { tokensPerMinute: 50_000, priceFactorBasisPoints: 8000 });
    for (const key of [owner, lin.key]) {
      const plan = await read(key, '/plan');
      assert.deepEqual([plan.planId, plan.fiveHour.limit, plan.weekly.remaining], ['lite', 10, 20]);
      assert.deepEqual((await read(key, '/subscriptions')).data[0].status, 'active');
      const [offered] = (await read(key, '/plans')).data;
      assert.deepEqual([offered.id, offered.activeSubscriptions], ['lite', undefined]);
      const models = await read(key, '/models');
      const chatModel = models.data.find(({ id }: { id: string }) => id === 'test-chat');
      assert.deepEqual([chatModel.price.inputYuanPerMillion, chatModel.isInPlan], ['3', true]);
      assert.equal(chatModel.timeOfDay, null);
      const byHour = models.data.find(({ id }: { id: string }) => id === 'by-hour');
      assert.deepEqual(byHour.timeOfDay, {
        timezone: 'Asia/Shanghai',
        peakHours: [{ fromMinute: 22 * 60, toMinute: 90 }],
        peak: { ...byHour.timeOfDay.peak, rule: 'peak', inputYuanPerMillion: '8' },
        offPeak: { ...byHour.timeOfDay.offPeak, rule: 'off_peak', inputYuanPerMillion: '2' },
      });
      assert.equal(models.priceFactorBasisPoints, 8000);
      assert.deepEqual(await read(key, '/limits'), {
        requestsPerMinute: 700,
        tokensPerMinute: 50_000,
        modelLimits: { 'test-chat': { requestsPerMinute: null, tokensPerMinute: 900 } },
      });
    }
    const body = { scopes: ['account'], allowedModels: ['test-rerank'] };
    const { key } = (await ask(owner, 'POST', '/keys', body)).body;
    assert.deepEqual(
      (await read(key, '/models')).data.map(({ id }: { id: string }) => id),
      ['test-rerank'],
    );
  });

  it('returns the current day in the billing time zone', async () => {
    for (const [instant, today] of [
      ['2026-11-20T15:59:59.999Z', '2026-11-20'],
      ['2026-11-20T16:00:00Z', '2026-11-21'],
    ] as const) {
      clock.set(instant);
      for (const key of [owner, lin.key]) {
        const read = (await ask(key, 'GET', '/account')).body;
        assert.deepEqual([read.timezone, read.today], ['Asia/Shanghai', today]);
      }
    }
  });

  it('hides providers, costs, nodes and memos', async () => {
    const memo = 'he pays late, be careful';
    await g.admin('POST', `/accounts/${account.id}/adjustments`, { amountYuan: '1', memo });
    await g.admin('PATCH', `/accounts/${account.id}`, { status: 'active', statusReason: memo });
    const { data } = await read(owner, '/calls');
    // Other calls were refunded or cost nothing, and their order is not deterministic.
    const { id } = data.find((call: { chargeYuan: string; refundedYuan: string }) => {
      return !['0', null].includes(call.chargeYuan) && call.refundedYuan === '0';
    });
    assert.equal((await g.admin('POST', `/calls/${id}/refunds`, { amountYuan: '0.00001', memo })).status, 201);
    const { refunds, refundedYuan } = await read(owner, `/calls/${id}`);
    assert.deepEqual([refunds.length, refunds[0].amountYuan, refundedYuan], [1, '0.00001', '0.00001']);
    const shown = [];
    for (const path of [
      '/account',
      '/keys',
      '/calls',
      `/calls/${id}`,
      '/refusals',
      '/ledger',
      '/statement?month=2026-11',
      '/usage?groupBy=day,model,key,status,context',
      '/plan',
      '/subscriptions',
      '/plans',
      '/models',
      '/limits',
    ]) {
      shown.push((await ask(owner, 'GET', path)).text);
    }
    for (const path of ['/usage?groupBy=model', '/statement?month=2026-11']) {
      const headers = { authorization: `Bearer ${owner}`, accept: 'text/csv' };
      const response = await fetch(`${g.url}/account/v1${path}`, { headers });
      assert.match(response.headers.get('content-type')!, /^text\/csv/);
      shown.push(await response.text());
    }
    assert.ok(shown.join('').includes('test-chat'));
    for (const hidden of [
      'chatty',
      'upstream-chat',
      memo,
      'costYuan',
      'marginYuan',
      'planRevenueYuan',
      'callsWithoutCost',
      'nodeId',
      'node_',
    ]) {
      assert.ok(!shown.join('\n').includes(hidden), hidden);
    }
    const grouped = await ask(owner, 'GET', '/usage?groupBy=provider');
    assert.deepEqual([grouped.status, grouped.body.error.param], [400, 'groupBy']);
  });
});
