import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { coderAnd } from '../support/limited-calls.ts';
import { chatResponse, chatUsage, json } from '../support/provider.ts';
import { type ReceivedNotice, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { sql } from '../support/sql.ts';
import { until } from '../support/until.ts';

/** Notices of a gateway, from calls, top-ups, keys and providers to signed requests at receivers. */

const CHAT = { model: 'test-chat', messages: [{ role: 'user', content: 'Say hello.' }] };
const DAY_MS = 86_400_000;
const CALL_YUAN = Number(costNano({ input: chatUsage.prompt_tokens, output: chatUsage.completion_tokens })) / 1e9;

describe(`notices of a gateway`, { timeout: 120_000 }, () => {
  const clock = createTestClock('2026-11-20T12:00:00Z');
  let g: TestGateway;
  let receiver: Receiver;
  before(async () => {
    g = await startGateway({
      clock,
      usageIntervalMs: 5,
      routing: '{ breaker: { failures: 2, probeAfter: 10s } }',
      plans: coderAnd({ tiny: { weeklyCalls: 5, models: ['test-chat'] } }),
      noticeSettings: `notices: { lowBalanceYuan: "1", allowNetworks: [127.0.0.0/8] }`,
    });
    receiver = await startReceiver();
    const { status: code } = await g.admin('POST', '/webhooks', { url: receiver.url });
    assert.equal(code, 201);
    // Keys are scanned from this instant on.
    await g.gateway.notices.settle();
  });
  after(async () => {
    await receiver.close();
    await g.stop();
  });
  beforeEach(() => {
    receiver.received.length = 0;
    receiver.respond = status(204);
    g.provider.respond = chatResponse();
  });

  async function chat({ key }: TestAccount, path = '/v1/chat/completions'): Promise<number> {
    return (await call(`${g.url}${path}`, key, CHAT)).status;
  }

  /** Runs the node's finders until the receiver has a number of notices of a kind. */
  async function received(type: string, count: number): Promise<ReceivedNotice[]> {
    const ofType = () => receiver.received.filter(({ body }) => body.type === type);
    await until(async () => {
      await g.gateway.notices.settle();
      return ofType().length >= count;
    });
    return ofType();
  }

  /** Runs the node's finders until everything so far is processed. */
  async function looked(): Promise<void> {
    await until(async () => {
      const [row] = await sql<{ n: number }>(
        g.database,
        'select ((select count(*) from usage_queue) + (select count(*) from account_changes))::int as n',
      );
      await g.gateway.notices.settle();
      return row!.n === 0;
    });
  }

  it('report a falling balance once, and again after a top-up', async () => {
    const account = await g.createAccount({ balanceYuan: String(1 + CALL_YUAN) });
    await looked();
    assert.equal(receiver.received.length, 0);
    assert.equal(await chat(account), 200);
    await looked();
    assert.equal(receiver.received.length, 0);
    assert.equal(await chat(account), 200);
    const [notice] = await received('balance.low', 1);
    const left = (await g.admin('GET', `/accounts/${account.id}`)).body.balanceYuan;
    assert.deepEqual(notice!.body.data, { accountId: account.id, balanceYuan: left, thresholdYuan: '1' });
    assert.equal(await chat(account), 200);
    await looked();
    assert.equal(receiver.received.length, 1);
    await g.admin('POST', `/accounts/${account.id}/top-ups`, { amountYuan: '1' });
    await looked();
    await g.admin('POST', `/accounts/${account.id}/adjustments`, { amountYuan: '-1.5', memo: 'a mistake' });
    await received('balance.low', 2);
  });

  it('use the account’s own threshold', async () => {
    const account = await g.createAccount({ balanceYuan: '50' });
    const path = `/accounts/${account.id}/low-balance`;
    const asked = { accountId: account.id, thresholdYuan: null, defaultThresholdYuan: '1', hasMail: false };
    assert.deepEqual((await g.admin('GET', path)).body, asked);
    assert.deepEqual((await g.admin('PUT', path, { thresholdYuan: '60' })).body, { ...asked, thresholdYuan: '60' });
    const [notice] = await received('balance.low', 1);
    assert.equal(notice!.body.data.thresholdYuan, '60');
    assert.equal((await g.admin('PUT', path, { thresholdYuan: '-1' })).status, 400);
    assert.equal((await g.admin('PUT', '/accounts/acct_none/low-balance', { thresholdYuan: '1' })).status, 404);
  });

  it('report the used percentage of a plan', async () => {
    const account = await g.createAccount();
    const granted = await g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'tiny' });
    assert.equal(granted.status, 201, JSON.stringify(granted.body));
    for (let i = 0; i < 4; i++) assert.equal(await chat(account, '/v1/coding/chat/completions'), 200);
    const [notice] = await received('plan.nearly_used', 1);
    const { measure, percent, used, limit, planId } = notice!.body.data;
    assert.deepEqual([measure, percent, used, limit, planId], ['weekly_calls', 80, 4, 5, 'tiny']);
    assert.equal(await chat(account, '/v1/coding/chat/completions'), 200);
    assert.equal((await received('plan.nearly_used', 2))[1]!.body.data.percent, 100);
  });

  it('report keys seven days and one day before they expire, except revoked ones', async () => {
    const account = await g.createAccount();
    const at = (days: number): string => new Date(clock.nowMs() + days * DAY_MS).toISOString();
    const make = async (name: string, days: number) =>
      (await g.admin('POST', `/accounts/${account.id}/keys`, { name, expiresAt: at(days) })).body;
    await make('short', 3);
    const kept = await make('kept', 10);
    const revoked = await make('revoked', 10);
    await g.admin('DELETE', `/keys/${revoked.id}`);
    const told = async (): Promise<string[]> => {
      clock.advance(61_000);
      await g.gateway.notices.settle();
      return receiver.received.map(({ body }) => `${body.data.name} ${body.data.daysLeft}`);
    };
    assert.deepEqual(await told(), []);
    clock.advance(3 * DAY_MS);
    assert.deepEqual(await told(), ['kept 7']);
    assert.deepEqual(receiver.received[0]!.body.data, {
      accountId: account.id,
      keyId: kept.id,
      name: 'kept',
      prefix: kept.prefix,
      expiresAt: kept.expiresAt,
      daysLeft: 7,
    });
    assert.deepEqual(await told(), ['kept 7']);
    clock.advance(6 * DAY_MS);
    assert.deepEqual(await told(), ['kept 7', 'kept 1']);
    clock.advance(2 * DAY_MS);
    assert.deepEqual(await told(), ['kept 7', 'kept 1']);
    assert.doesNotMatch(JSON.stringify(receiver.received), new RegExp(kept.key));
  });

  it('report a route that stays down to operators', async () => {
    const account = await g.createAccount();
    g.provider.respond = json(500, { error: { message: 'broken' } });
    for (let i = 0; i < 2; i++) await chat(account);
    await g.gateway.notices.settle();
    assert.equal(receiver.received.length, 0);
    clock.advance(61_000);
    const [notice] = await received('route.down', 1);
    const { model, provider, providerModel, isModelDown } = notice!.body.data;
    assert.deepEqual([model, provider, providerModel, isModelDown], ['test-chat', 'chatty', 'upstream-chat', true]);
    clock.advance(61_000);
    await g.gateway.notices.settle();
    assert.equal(receiver.received.length, 1);
    g.provider.respond = chatResponse();
    assert.equal(await chat(account), 200);
  });

  it('report a provider that refuses their account to operators, without the credential’s value', async () => {
    const account = await g.createAccount();
    g.provider.respond = json(402, { error: { message: 'pay first', code: 'insufficient_balance' } });
    await chat(account);
    const [notice] = await received('provider.refused_account', 1);
    const { provider, credential, status: code } = notice!.body.data;
    assert.deepEqual([provider, credential, code], ['chatty', 'apiKey', 402]);
    assert.doesNotMatch(notice!.text, /provider-secret/);
    clock.advance(61_000);
    g.provider.respond = chatResponse();
    await chat(account);
  });

  describe('at an endpoint of an account', () => {
    let own: Receiver;
    let account: TestAccount;
    let endpoint: { id: string; secret: string };
    before(async () => {
      own = await startReceiver();
      account = await g.createAccount({ balanceYuan: '2' });
      const made = await g.admin('POST', '/webhooks', {
        url: own.url,
        accountId: account.id,
        events: ['balance.low'],
      });
      assert.equal(made.status, 201);
      endpoint = made.body;
    });
    after(() => own.close());

    it('concern only this account', async () => {
      const other = await g.createAccount({ balanceYuan: '2' });
      for (const { id } of [other, account])
        await g.admin('PUT', `/accounts/${id}/low-balance`, { thresholdYuan: '3' });
      await received('balance.low', 2);
      assert.deepEqual(
        own.received.map(({ body }) => body.data.accountId),
        [account.id],
      );
    });

    it('are sent, listed and resent', async () => {
      clock.advance(1_000);
      const tested = await g.admin('POST', `/webhooks/${endpoint.id}/test`);
      assert.equal(tested.status, 201);
      await g.gateway.notices.settle();
      await until(() => own.received.some(({ id }) => id === tested.body.noticeId));
      const path = `/webhooks/${endpoint.id}/deliveries`;
      await until(async () => (await g.admin('GET', path)).body.data[0].status === 'delivered');
      const { data } = (await g.admin('GET', path)).body;
      assert.deepEqual(
        data.map(({ event, attempts, lastStatus }: Record<string, unknown>) => [event, attempts, lastStatus]),
        [
          ['webhook.test', 1, 204],
          ['balance.low', 1, 204],
        ],
      );
      const first = await g.admin('GET', `${path}?limit=1`);
      const next = await g.admin('GET', `${path}?limit=1&cursor=${first.body.nextCursor}`);
      assert.equal(next.body.data[0].event, 'balance.low');
      const again = { noticeId: data[1].noticeId };
      assert.deepEqual((await g.admin('POST', `/webhooks/${endpoint.id}/redeliver`, again)).body, again);
      await until(() => own.received.filter(({ id }) => id === again.noticeId).length === 2);
      const unknown = await g.admin('POST', `/webhooks/${endpoint.id}/redeliver`, { noticeId: 'ntc_none' });
      assert.equal(unknown.status, 404);
    });

    it('have a secret that is shown once', async () => {
      assert.match(endpoint.secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
      const { body } = await g.admin('GET', `/webhooks/${endpoint.id}`);
      assert.equal('secret' in body, false);
      assert.equal(JSON.stringify((await g.admin('GET', '/webhooks')).body).includes('whsec_'), false);
    });
  });

  it('have endpoints created once per Idempotency-Key, in a limited number', async () => {
    const account = await g.createAccount();
    const make = (url: string, key?: string) =>
      g.admin('POST', '/webhooks', { url, accountId: account.id }, key === undefined ? {} : { 'idempotency-key': key });
    const first = await make('https://receiver.example/a', 'one');
    const again = await make('https://receiver.example/a', 'one');
    assert.deepEqual(again.body, first.body);
    assert.equal((await make('https://receiver.example/b', 'one')).status, 409);
    for (let i = 0; i < 4; i++) assert.equal((await make(`https://receiver.example/${i}`)).status, 201);
    assert.equal((await make('https://receiver.example/more')).status, 409);
    const listed = await g.admin('GET', `/webhooks?accountId=${account.id}&limit=2`);
    assert.equal(listed.body.data.length, 2);
    assert.equal((await g.admin('DELETE', `/webhooks/${first.body.id}`)).status, 204);
    assert.equal((await g.admin('GET', `/webhooks/${first.body.id}`)).status, 404);
  });

  const refused: Record<string, object> = {
    'a private address': { url: 'https://10.0.0.1/' },
    'metadata of a cloud': { url: 'https://169.254.169.254/latest' },
    'http to the internet': { url: 'http://93.184.215.14/' },
    'a credential in the address': { url: 'https://user:password@receiver.example/' },
    'another scheme': { url: 'file:///etc/passwd' },
    'an invalid URL': { url: 'receiver' },
    'an unknown event': { url: 'https://receiver.example/', events: ['call.ended'] },
    'an event that accounts do not receive': {
      url: 'https://receiver.example/',
      accountId: 'a',
      events: ['route.down'],
    },
  };
  for (const [what, body] of Object.entries(refused)) {
    it(`refuse ${what}`, async () => {
      const response = await g.admin('POST', '/webhooks', body);
      assert.equal(response.status, 400, JSON.stringify(response.body));
      assert.ok(['url', 'events', 'events.0'].includes(response.body.error.param));
    });
  }

  it('are not sent while an endpoint is disabled, which then cannot be tested', async () => {
    const made = await g.admin('POST', '/webhooks', { url: receiver.url, events: ['key.expiring'] });
    const path = `/webhooks/${made.body.id}`;
    const disabled = await g.admin('PATCH', path, { status: 'disabled' });
    assert.deepEqual([disabled.body.status, disabled.body.statusReason], ['disabled', 'Disabled manually.']);
    assert.equal((await g.admin('POST', `${path}/test`)).status, 409);
    const active = await g.admin('PATCH', path, { status: 'active', events: null });
    assert.deepEqual([active.body.status, active.body.statusReason, active.body.events], ['active', null, null]);
    await g.admin('DELETE', path);
  });

  it('can be managed only by owners in the account API', async () => {
    const account = await g.createAccount();
    const other = await g.createAccount();
    const ownerKey = (await g.admin('POST', `/accounts/${account.id}/keys`, { name: 'own', scopes: ['account'] })).body
      .key;
    const ask = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${g.url}/account/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${ownerKey}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    };
    const made = await ask('POST', '/webhooks', { url: receiver.url });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.equal(made.body.accountId, account.id);
    const theirs = (await g.admin('POST', '/webhooks', { url: receiver.url, accountId: other.id })).body.id;
    const operators = (await g.admin('GET', '/webhooks?limit=500')).body.data.find(
      ({ accountId }: { accountId: string | null }) => accountId === null,
    ).id;
    for (const id of [theirs, operators, 'whk_none']) {
      for (const [method, rest, body] of [
        ['GET', ''],
        ['PATCH', '', { status: 'disabled' }],
        ['DELETE', ''],
        ['POST', '/test'],
        ['GET', '/deliveries'],
        ['POST', '/redeliver', { noticeId: 'ntc_1' }],
      ] as const) {
        assert.equal((await ask(method, `/webhooks/${id}${rest}`, body)).status, 404, `${method} ${rest}`);
      }
    }
    assert.deepEqual(
      (await ask('GET', '/webhooks')).body.data.map(({ id }: { id: string }) => id),
      [made.body.id],
    );
    assert.equal((await ask('POST', `/webhooks/${made.body.id}/test`)).status, 201);
    await until(() => receiver.received.some(({ body }) => body.data.endpointId === made.body.id));
    const tests = [];
    for (let n = 0; n < 10; n++) tests.push((await ask('POST', `/webhooks/${made.body.id}/test`)).status);
    assert.deepEqual(tests, [...Array(9).fill(201), 429]);
    clock.advance(61_000);
    assert.equal((await ask('POST', `/webhooks/${made.body.id}/test`)).status, 201);
    assert.equal((await ask('POST', '/webhooks', { url: receiver.url, events: ['route.down'] })).status, 400);
    assert.equal((await ask('PUT', '/low-balance', { thresholdYuan: '5' })).body.thresholdYuan, '5');
    assert.equal((await ask('GET', '/low-balance')).body.thresholdYuan, '5');
    assert.equal((await ask('PATCH', `/webhooks/${made.body.id}`, { events: ['balance.low'] })).status, 200);
    assert.equal((await ask('GET', `/webhooks/${made.body.id}/deliveries`)).body.data.length, 11);
    assert.equal((await ask('DELETE', `/webhooks/${made.body.id}`)).status, 204);
    await g.admin('DELETE', `/webhooks/${theirs}`);
  });

  it('are deleted with their deliveries after their retention', async () => {
    clock.advance(40 * DAY_MS);
    await g.gateway.notices.settle();
    const [row] = await sql<{ n: number }>(
      g.database,
      `select (select count(*) from notice_deliveries)::int as n from (select count(*) from notices) counted`,
    );
    assert.equal(row!.n, 0);
  });
});
