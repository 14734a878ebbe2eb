import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { runCommand } from '../support/command.ts';
import { createTestDatabase } from '../support/database.ts';
import { PRICE, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { type MetricsText, readMetrics } from '../support/openmetrics.ts';
import {
  chatCompletion,
  json,
  type ReceivedRequest,
  type ScriptedProvider,
  startProvider,
} from '../support/provider.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';

/** Limits of providers, routes and credentials: the choice passes over what has reached one. */

const clock = createTestClock('2026-11-20T04:00:00Z');
/** After this time, every bucket is empty, and every cooldown is over. */
const REST_MS = 10 * 60_000;
/** A call with 11 tokens in and 7 out costs the operator 0.018 yuan. */
const COST = 'cost: { input: "1000", output: "1000" }';

const settings = (url: string) => ({
  providers: `
  whole: { protocol: chat, baseUrl: "${url}/v1", apiKey: whole, limits: { requestsPerMinute: 2 } }
  spare: { protocol: chat, baseUrl: "${url}/v1", apiKey: spare }
  pooled:
    protocol: chat
    baseUrl: "${url}/v1"
    apiKeys:
      - { value: pool-1, limits: { requestsPerMinute: 1 } }
      - { value: pool-2, limits: { concurrentCalls: 1 } }
  refusing: { protocol: chat, baseUrl: "${url}/v1", apiKeys: [refused, { value: accepted, limits: { requestsPerMinute: 1 } }], limits: { requestsPerMinute: 9 } }
  vendor: { protocol: chat, baseUrl: "${url}/v1", apiKeys: [vendor-1, vendor-2], vendorLimits: follow }
  costly:
    protocol: chat
    baseUrl: "${url}/v1"
    apiKeys: [{ value: cost-1, limits: { dailyCostYuan: "0.018" } }, { value: cost-2, limits: { monthlyCostYuan: "0.036" } }]
`,
  models: `
  of-provider: { operations: [chat], price: ${PRICE}, routes: [{ provider: whole, model: a }, { provider: spare, model: b, priority: 1 }] }
  only: { operations: [chat], price: ${PRICE}, routes: [{ provider: whole, model: c }] }
  fallen: { operations: [chat], price: ${PRICE}, fallbacks: [unlimited], routes: [{ provider: whole, model: d }] }
  slow: { operations: [chat], price: ${PRICE}, fallbacks: [only], routes: [{ provider: spare, model: s }] }
  of-route: { operations: [chat], price: ${PRICE}, routes: [{ provider: spare, model: e, limits: { tokensPerMinute: 20 } }] }
  of-credentials: { operations: [chat], price: ${PRICE}, affinity: off, routes: [{ provider: pooled, model: g }] }
  of-refusing: { operations: [chat], price: ${PRICE}, affinity: off, routes: [{ provider: refusing, model: j }] }
  of-vendor: { operations: [chat], price: ${PRICE}, affinity: off, routes: [{ provider: vendor, model: h }] }
  by-cost: { operations: [chat], price: ${PRICE}, affinity: off, routes: [{ provider: costly, model: i, ${COST} }] }
  unlimited: { operations: [chat], price: ${PRICE}, routes: [{ provider: spare, model: z }] }
`,
  noticeSettings: 'notices: { allowNetworks: [127.0.0.0/8] }',
  usageIntervalMs: 20,
  clock,
});

interface RecordedCall {
  readonly route: { readonly provider: string };
  readonly attempts: readonly object[];
}

const credentialOf = ({ headers }: ReceivedRequest): string => headers.authorization!.replace('Bearer ', '');

describe('limits of providers, routes and credentials', { timeout: 120_000 }, () => {
  let upstream: ScriptedProvider;
  let receiver: Receiver;
  let gateway: TestGateway;
  let account: TestAccount;

  before(async () => {
    upstream = await startProvider();
    receiver = await startReceiver();
    gateway = await startGateway(settings(upstream.url));
    const endpoint = { url: receiver.url, events: ['provider.budget_nearly_used'] };
    assert.equal((await gateway.admin('POST', '/webhooks', endpoint)).status, 201);
  });
  after(async () => {
    await gateway?.stop();
    await receiver?.close();
    await upstream?.close();
  });
  beforeEach(async () => {
    clock.advance(REST_MS);
    account = await gateway.createAccount();
    upstream.requests.length = 0;
    upstream.respond = json(200, chatCompletion());
  });

  const send = (model: string, on = gateway, { key } = account): Promise<ClientResponse> =>
    call(`${on.url}/v1/chat/completions`, key, body(model));
  const used = (): string[] => upstream.requests.map(credentialOf);
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  const limitOf = async (of: string, provider: string, credential: string | null = null): Promise<any> => {
    const { limits } = (await gateway.admin('GET', '/routes')).body;
    const isAsked = (each: Record<string, unknown>) =>
      each.of === of && each.provider === provider && each.credential === credential;
    return limits.find(isAsked);
  };

  const scrape = async (): Promise<MetricsText> => {
    const headers = { authorization: `Bearer ${gateway.localToken}` };
    const text = await (await fetch(`${gateway.url}/metrics`, { headers })).text();
    assert.doesNotMatch(text, /(pool|cost|vendor)-\d/);
    return readMetrics(text);
  };

  it('of a provider send calls over the next route, and the record shows no failure', async () => {
    for (let i = 0; i < 3; i++) assert.equal((await send('of-provider')).status, 200);
    assert.deepEqual(used(), ['whole', 'whole', 'spare']);
    await account.endedCall(3);
    const { data } = (await gateway.admin('GET', `/calls?accountId=${account.id}`)).body;
    const records = data.map(({ route, attempts }: RecordedCall) => [route.provider, attempts.length]);
    assert.deepEqual(records.sort(), [
      ['spare', 0],
      ['whole', 0],
      ['whole', 0],
    ]);
    clock.advance(30_000);
    await send('of-provider');
    assert.equal(used().at(-1), 'whole');
  });

  it('refuse a call, with nothing charged, if no route is left', async () => {
    await send('only');
    await send('only');
    const { status, headers, json: error } = await send('only');
    assert.deepEqual([status, headers['retry-after']], [503, '30']);
    assert.equal(error.error.code, 'MODEL_ROUTING_NO_HEALTHY_ROUTE');
    assert.match(error.error.message, /limit that the operator has set/);
    assert.equal(upstream.requests.length, 2);
    assert.equal((await account.money()).heldNano, 0n);
    assert.deepEqual((await limitOf('provider', 'whole')).rates, [
      { kind: 'requestsPerMinute', max: 2, used: 2, freeAt: new Date(clock.nowMs() + 30_000).toISOString() },
    ]);
  });

  it('leave the call to a fallback of the model', async () => {
    await send('fallen');
    await send('fallen');
    const response = await send('fallen');
    assert.deepEqual([response.status, response.headers['x-faregate-model']], [200, 'unlimited']);
  });

  it('are those of the present for a fallback of a call that began long ago', async () => {
    const arrived = Promise.withResolvers<() => void>();
    upstream.respond = (...args) => arrived.resolve(() => void json(429, {})(...args));
    const slow = send('slow');
    const refuse = await arrived.promise;
    clock.advance(5 * 60_000);
    upstream.respond = json(200, chatCompletion());
    for (let i = 0; i < 2; i++) assert.equal((await send('only')).status, 200);
    refuse();
    assert.equal((await slow).status, 429);
    assert.equal((await send('only')).status, 503);
  });

  it('of tokens count what calls used', async () => {
    assert.equal((await send('of-route')).status, 200);
    assert.equal((await limitOf('route', 'spare')).rates[0].used, 18);
    assert.equal((await send('of-route')).status, 200);
    assert.equal((await send('of-route')).status, 503);
  });

  it('give back the tokens and the place of a call that the provider refused', async () => {
    upstream.respond = json(400, { error: { message: 'no', type: 'invalid_request_error' } });
    for (let i = 0; i < 5; i++) assert.equal((await send('of-route')).status, 400);
    assert.equal((await limitOf('route', 'spare')).rates[0].used, 0);
  });

  it('of credentials send calls with another credential, and refuse them if none is left', async () => {
    upstream.respond = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"begun"}}]}\n\n');
    };
    const url = `${gateway.url}/v1/chat/completions`;
    const calls = [1, 2].map(() => startCall(url, account.key, { ...body('of-credentials'), stream: true }));
    for (const { response } of calls) await (await response).until('begun');
    assert.deepEqual(used().sort(), ['pool-1', 'pool-2']);
    assert.equal((await send('of-credentials')).status, 503);
    const inFlight = async () => (await limitOf('credential', 'pooled', 'apiKeys.1')).rates[0].used;
    assert.equal(await inFlight(), 1);
    for (const each of calls) each.drop();
    await until(async () => (await inFlight()) === 0);
    upstream.respond = json(200, chatCompletion());
    assert.equal((await send('of-credentials')).status, 200);
    assert.equal(used().at(-1), 'pool-2');
  });

  it('count each request of a call, and leave refused credentials alone if the others are used up', async () => {
    upstream.respond = (request, response) =>
      (credentialOf(request) === 'refused' ? json(401, {}) : json(200, chatCompletion()))(request, response);
    assert.equal((await send('of-refusing')).status, 200);
    assert.deepEqual(used(), ['refused', 'accepted']);
    assert.equal((await limitOf('provider', 'refusing')).rates[0].used, 2);
    const refused = await send('of-refusing');
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, '60']);
    assert.equal(used().length, 2);
  });

  it('of a vendor, by its headers, send calls with another credential before the vendor refuses one', async () => {
    upstream.respond = (request, response) => {
      const remaining = credentialOf(request) === 'vendor-1' ? '0' : '5';
      const headers = {
        'x-ratelimit-limit-requests': '60',
        'x-ratelimit-remaining-requests': remaining,
        'x-ratelimit-reset-requests': '40s',
      };
      json(200, chatCompletion(), headers)(request, response);
    };
    for (let i = 0; i < 4; i++) assert.equal((await send('of-vendor')).status, 200);
    assert.equal(used().filter((name) => name === 'vendor-1').length, 1);
    const { data } = (await gateway.admin('GET', '/routes')).body;
    const route = data.find((each: { provider: string }) => each.provider === 'vendor');
    const [first, second] = route.credentials;
    const resetAt = new Date(clock.nowMs() + 40_000).toISOString();
    assert.deepEqual([first.state, first.triedAgainAt, first.status], ['resting', resetAt, null]);
    assert.deepEqual(first.vendorLimits, [{ of: 'requests', max: 60, remaining: 0, resetAt }]);
    assert.equal(second.vendorLimits[0].remaining, 5);
    const left = { provider: 'vendor', credential: 'apiKeys.1', provider_model: 'h', limit: 'requests' };
    const metrics = await scrape();
    assert.equal(metrics.sum('faregate_provider_vendor_limit_remaining', left), 5);
    assert.equal(metrics.samples.filter(({ name }) => name === 'faregate_provider_vendor_limit_remaining').length, 2);
    clock.advance(40_000);
    for (let i = 0; i < 2; i++) await send('of-vendor');
    assert.equal(used().filter((name) => name === 'vendor-1').length, 2);
  });

  it('of costs count each call once, and hold across a restart, until the day or the month ends', async () => {
    clock.set('2026-11-29T04:00:00Z');
    for (let i = 0; i < 2; i++) await send('by-cost');
    const budget = async (index: number) => (await limitOf('credential', 'costly', `apiKeys.${index}`)).budgets[0];
    await until(async () => (await budget(0)).usedYuan === '0.018' && (await budget(1)).usedYuan === '0.018');
    assert.deepEqual(await budget(0), {
      kind: 'day',
      maxYuan: '0.018',
      usedYuan: '0.018',
      endsAt: '2026-11-29T16:00:00.000Z',
    });
    await send('by-cost');
    assert.equal(used().at(-1), 'cost-2');
    await until(async () => (await budget(1)).usedYuan === '0.036');
    const day = { provider: 'costly', of: 'credential', name: 'apiKeys.0', limit: 'dailyCostYuan' };
    const metrics = await scrape();
    assert.equal(metrics.sum('faregate_provider_limit_used', day), 0.018);
    assert.equal(
      metrics.sum('faregate_provider_limit_max', { ...day, name: 'apiKeys.1', limit: 'monthlyCostYuan' }),
      0.036,
    );
    const { limits } = (await gateway.admin('GET', '/routes')).body;
    const all = limits.flatMap(({ rates, budgets }: Record<string, readonly object[]>) => [...rates!, ...budgets!]);
    assert.equal(metrics.samples.filter(({ name }) => name === 'faregate_provider_limit_used').length, all.length);
    const environment = { FAREGATE_ADMIN_TOKEN: gateway.localToken };
    const listed = await runCommand(['--gateway', gateway.url, 'route', 'list'], environment);
    assert.match(listed.stdout, /^LIMIT OF +LIMIT +USED +MAX +UNTIL$/m);
    assert.match(listed.stdout, /^costly apiKeys\.0 +yuan of the day +0\.018 +0\.018 +2026-11-\d\d \d\d:00\b.*$/m);
    assert.match(listed.stdout, /^spare\/of-route\/e +tokens per minute +0 +20$/m);
    const refused = await send('by-cost');
    assert.deepEqual([refused.status, refused.headers['retry-after']], [503, undefined]);
    assert.match(refused.json.error.message, /free again at 2026-11-30 00:00 \+08:00/);

    await using again = await startGateway({
      ...settings(upstream.url),
      stored: gateway.stored,
      database: gateway.stored.openAnother(),
    });
    assert.equal((await send('by-cost', again)).status, 503);
    const notified = async (...nodes: readonly TestGateway[]) => {
      for (const { gateway: node } of nodes) await node.notices.settle();
      return receiver.received.map(({ body: { data } }) => [data.credential, data.period, data.percent, data.usedYuan]);
    };
    const ofMonth = [
      ['apiKeys.0', 'day', 100, '0.018'],
      ['apiKeys.1', 'month', 100, '0.036'],
    ];
    assert.deepEqual((await notified(gateway, again)).sort(), ofMonth);

    clock.set('2026-11-29T17:00:00Z');
    assert.equal((await send('by-cost')).status, 200);
    assert.equal(used().at(-1), 'cost-1');
    await until(async () => {
      const { usedYuan, endsAt } = await budget(0);
      return usedYuan === '0.018' && endsAt === '2026-11-30T16:00:00.000Z';
    });
    assert.equal((await send('by-cost')).status, 503);
    assert.deepEqual((await notified(again, gateway)).at(-1), ['apiKeys.0', 'day', 100, '0.018']);
    assert.equal(receiver.received.length, 3);
    clock.set('2026-11-30T17:00:00Z');
    await until(async () => (await send('by-cost')).status === 200);
  });
});

describe('limits of two nodes', { timeout: 120_000 }, () => {
  it('count the calls of both', async () => {
    const upstream = await startProvider();
    const stored = await createTestDatabase();
    clock.advance(REST_MS);
    const first = await startGateway({ ...settings(upstream.url), stored });
    const second = await startGateway({ ...settings(upstream.url), stored, database: stored.openAnother() });
    try {
      const account = await first.createAccount();
      const usedAt = async (node: TestGateway) => {
        const { limits } = (await node.admin('GET', '/routes')).body;
        return limits.find((each: { provider: string }) => each.provider === 'whole').rates[0].used;
      };
      const send = (node: TestGateway) => call(`${node.url}/v1/chat/completions`, account.key, body('only'));
      upstream.respond = json(200, chatCompletion());
      // Each node has read the counts of the other, so that later ones are new.
      await until(
        async () =>
          Number(
            (
              await stored.database.query({
                name: 't',
                text: "select count(*) as n from limit_uses where subject = 'provider whole'",
              })
            )[0]?.n,
          ) === 2,
      );
      assert.equal((await send(first)).status, 200);
      await until(async () => (await usedAt(second)) === 1);
      assert.equal((await send(second)).status, 200);
      await until(async () => (await usedAt(first)) === 2);
      assert.equal((await send(first)).status, 503);
      assert.equal((await send(second)).status, 503);
    } finally {
      await second.stop();
      await first.stop();
      await stored.remove();
      await upstream.close();
    }
  });
});

const body = (model: string) => ({ model, max_tokens: 10, messages: [{ role: 'user', content: 'Hello' }] });
