import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { CODING_CHAT, grant } from '../plans/coding.ts';
import type { ClientResponse } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { bodyAt, CHAT, coderAnd, MESSAGES, responseAnything, send } from '../support/limited-calls.ts';
import { chatCompletion, chatStream, chatUsage, json, sse } from '../support/provider.ts';

/** Requests and tokens a minute, of accounts and keys, for all models and for one. */

const NOON = '2026-11-20T04:00:00.000Z';
const PLANS = coderAnd();

async function limit(g: TestGateway, address: string, limits: object): Promise<object> {
  const { status, body } = await g.admin('PATCH', address, limits);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const limitAccount = (g: TestGateway, account: TestAccount, limits: object) =>
  limit(g, `/accounts/${account.id}`, limits);
const limitKey = (g: TestGateway, account: TestAccount, limits: object) => limit(g, `/keys/${account.keyId}`, limits);

/** The rate-limit headers, without their prefixes. */
function ratesIn({ headers }: ClientResponse, prefix: string): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
    ),
  );
}

async function tokensUsed(g: TestGateway, account: TestAccount): Promise<number> {
  const [row] = await g.database.query<{ n: number }>(
    {
      name: 'test.tokens-used',
      text: `select (tokens_used / 60000)::int as n from rate_limits where account_id = $1 and key_id = '' and model = ''`,
    },
    [account.id],
  );
  return row!.n;
}

describe('limits by the minute', { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: PLANS });
    g.provider.respond = responseAnything;
  });
  after(() => g.stop());

  it('refuse one request too many with the chat envelope and headers, until one has drained', async () => {
    clock.set(NOON);
    const account = await g.createAccount();
    await limitAccount(g, account, { requestsPerMinute: 2, tokensPerMinute: 10_000 });
    const first = await send(g, account.key, CHAT);
    assert.equal(first.status, 200);
    assert.equal(first.headers['x-ratelimit-remaining-requests'], '1');
    assert.equal((await send(g, account.key, CHAT)).status, 200);
    const refused = await send(g, account.key, CHAT);
    assert.equal(refused.status, 429);
    assert.deepEqual(refused.json.error, {
      message: 'The limit of 2 requests per minute of this account is reached. Please try again in 30s.',
      type: 'rate_limit_error',
      param: null,
      code: 'rate_limit_exceeded',
    });
    assert.deepEqual([refused.headers['x-should-retry'], refused.headers['retry-after']], ['true', '30']);
    // Two calls were responded to, and each has used what its provider reported.
    assert.deepEqual(ratesIn(refused, 'x-ratelimit-'), {
      'limit-requests': '2',
      'remaining-requests': '0',
      'reset-requests': '1m0s',
      'limit-tokens': '10000',
      'remaining-tokens': String(10_000 - 2 * chatUsage.total_tokens),
      'reset-tokens': '216ms',
    });
    clock.advance(29_999);
    assert.equal((await send(g, account.key, CHAT)).headers['retry-after'], '1');
    clock.advance(1);
    assert.equal((await send(g, account.key, CHAT)).status, 200);
  });

  it('are reported to clients of messages in their own form, under the vendor and the name of the address', async () => {
    clock.set(NOON);
    const account = await g.createAccount();
    await limitKey(g, account, { requestsPerMinute: 1 });
    const first = await send(g, account.key, MESSAGES);
    assert.equal(first.status, 200);
    const refused = await send(g, account.key, MESSAGES);
    assert.equal(refused.status, 429);
    assert.equal(refused.json.error.type, 'rate_limit_error');
    assert.equal(refused.json.error.details.error_code, 'rate_limit_exceeded');
    assert.match(
      refused.json.error.message,
      /^The limit of 1 requests per minute of this API key is reached\. Please try again in 60s\.$/,
    );
    const rates = { 'requests-limit': '1', 'requests-remaining': '0', 'requests-reset': '2026-11-20T04:01:00Z' };
    for (const response of [first, refused]) {
      assert.deepEqual(ratesIn(response, 'anthropic-ratelimit-'), rates);
      assert.deepEqual(ratesIn(response, 'altproto-ratelimit-'), rates);
      assert.deepEqual(ratesIn(response, 'x-ratelimit-'), {});
    }
  });

  it("leave a provider's own headers unchanged, and add none to calls without limits", async () => {
    clock.set(NOON);
    const account = await g.createAccount();
    assert.deepEqual(ratesIn(await send(g, account.key, CHAT), 'x-ratelimit-'), {});
    await limitAccount(g, account, { requestsPerMinute: 50 });
    g.provider.respond = json(200, chatCompletion(), { 'x-ratelimit-remaining-tokens': '77' });
    assert.deepEqual(ratesIn(await send(g, account.key, CHAT), 'x-ratelimit-'), { 'remaining-tokens': '77' });
    g.provider.respond = json(400, { error: { message: 'No.' } }, { 'x-ratelimit-limit-requests': '5' });
    assert.deepEqual(ratesIn(await send(g, account.key, CHAT), 'x-ratelimit-'), { 'limit-requests': '5' });
    g.provider.respond = sse(chatStream(['Hello']));
    const streamed = await send(g, account.key, CHAT, { ...bodyAt(CHAT), stream: true });
    assert.deepEqual(ratesIn(streamed, 'x-ratelimit-'), {
      'limit-requests': '50',
      'remaining-requests': '47',
      'reset-requests': '4s',
    });
    g.provider.respond = responseAnything;
  });

  it('count on the balance and on a plan together, for one model by any of its names, and for the key as well', async () => {
    clock.set(NOON);
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    await limitAccount(g, account, { modelLimits: { 'test-chat-latest': { requestsPerMinute: 2 } } });
    assert.equal((await send(g, account.key, CHAT)).status, 200);
    assert.equal((await send(g, account.key, CODING_CHAT)).status, 200);
    const refused = await send(g, account.key, CODING_CHAT);
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '30']);
    assert.match(
      refused.json.error.message,
      /^The limit of 2 requests per minute of this account for test-chat is reached\./,
    );
    assert.equal((await send(g, account.key, MESSAGES)).status, 200);
    await limitKey(g, account, { modelLimits: { 'test-messages': { requestsPerMinute: 1 } } });
    assert.equal((await send(g, account.key, MESSAGES)).status, 200);
    const ofKey = await send(g, account.key, MESSAGES);
    assert.match(ofKey.json.error.message, /of this API key for test-messages is reached\. Please try again in 60s\.$/);
  });

  it('reserve the tokens that a call may use, and release what it has not used, also if it fails', async () => {
    clock.set(NOON);
    const account = await g.createAccount();
    await limitAccount(g, account, { tokensPerMinute: 60 });
    const gate = Promise.withResolvers<void>();
    const received = g.provider.requests.length;
    g.provider.respond = async (request, response) => {
      await gate.promise;
      await responseAnything(request, response);
    };
    const running = send(g, account.key, CHAT);
    await g.provider.received(received + 1);
    // The model may write 100 tokens: more than the limit of a minute, so all of that is reserved.
    assert.equal(await tokensUsed(g, account), 60);
    const refused = await send(g, account.key, CHAT);
    assert.match(
      refused.json.error.message,
      /^The limit of 60 tokens per minute of this account is reached\. Please try again in 1s\.$/,
    );
    gate.resolve();
    assert.equal((await running).status, 200);
    assert.equal(await tokensUsed(g, account), chatUsage.total_tokens);
    g.provider.respond = json(503, { error: { message: 'Later.' } });
    assert.equal((await send(g, account.key, CHAT)).status, 503);
    assert.equal(await tokensUsed(g, account), chatUsage.total_tokens);
    g.provider.respond = json(200, chatCompletion({ prompt_tokens: 30, completion_tokens: 100, total_tokens: 130 }));
    assert.equal((await send(g, account.key, CHAT)).status, 200);
    assert.equal(await tokensUsed(g, account), chatUsage.total_tokens + 130);
    const late = await send(g, account.key, CHAT);
    // 148 of 60: 89 have to drain, one each second.
    assert.deepEqual([late.status, late.headers['retry-after']], [429, undefined]);
    assert.equal(late.headers['x-faregate-reset-at'], '2026-11-20T04:01:28.001Z');
    g.provider.respond = responseAnything;
    clock.advance(88_001);
    assert.equal((await send(g, account.key, CHAT)).status, 200);
  });

  it('are set, read, changed one by one and taken away by the admin API', async () => {
    const account = await g.createAccount();
    const none = { requestsPerMinute: null, tokensPerMinute: null, modelLimits: {} };
    const shown = async (path: string): Promise<object> => {
      const { body } = await g.admin('GET', path);
      const { requestsPerMinute, tokensPerMinute, modelLimits } = 'data' in body ? body.data[0] : body;
      return { requestsPerMinute, tokensPerMinute, modelLimits };
    };
    for (const [address, read] of [
      [`/accounts/${account.id}`, `/accounts/${account.id}`],
      [`/keys/${account.keyId}`, `/accounts/${account.id}/keys`],
    ] as const) {
      assert.deepEqual(await shown(read), none);
      await limit(g, address, { requestsPerMinute: 5, modelLimits: { 'test-chat': { tokensPerMinute: 9 } } });
      await limit(g, address, { tokensPerMinute: 7, modelLimits: { 'test-chat': { requestsPerMinute: 8 } } });
      assert.deepEqual(await shown(read), {
        requestsPerMinute: 5,
        tokensPerMinute: 7,
        modelLimits: { 'test-chat': { requestsPerMinute: 8, tokensPerMinute: 9 } },
      });
      await limit(g, address, { requestsPerMinute: null, tokensPerMinute: null, modelLimits: { 'test-chat': null } });
      assert.deepEqual(await shown(read), none);
      for (const [body, param] of [
        [{ requestsPerMinute: 0 }, 'requestsPerMinute'],
        [{ tokensPerMinute: 1.5 }, 'tokensPerMinute'],
        [{ modelLimits: { 'no-such-model': { requestsPerMinute: 1 } } }, 'modelLimits'],
        [{ modelLimits: { 'test-chat': { requests: 1 } } }, 'modelLimits.test-chat.requests'],
      ] as const) {
        const refused = await g.admin('PATCH', address, body);
        assert.deepEqual([refused.status, refused.body.error.param], [400, param], JSON.stringify(refused.body));
      }
      // A model that is no longer configured leaves a limit that can be removed.
      await limit(g, address, { modelLimits: { 'no-such-model': null } });
    }
    const created = await g.admin('POST', `/accounts/${account.id}/keys`, { requestsPerMinute: 3 });
    assert.deepEqual([created.status, created.body.requestsPerMinute], [201, 3]);
  });

  it('in the configuration apply to each account without its own, from a reload on', async () => {
    clock.set(NOON);
    const [one, other] = [await g.createAccount(), await g.createAccount()];
    const before = await startGateway({
      clock,
      stored: g.stored,
      database: g.stored.openAnother(),
      plans: `${PLANS}\nlimits: { requestsPerMinute: 2, models: { test-messages: { requestsPerMinute: 1 } } }`,
    });
    try {
      before.provider.respond = responseAnything;
      await limitAccount(before, other, { requestsPerMinute: 3 });
      const statuses = async (account: TestAccount, paths: readonly string[]): Promise<number[]> => {
        const found = [];
        for (const path of paths) found.push((await send(before, account.key, path)).status);
        return found;
      };
      assert.deepEqual(await statuses(one, [MESSAGES, MESSAGES, CHAT, CHAT]), [200, 429, 200, 429]);
      assert.deepEqual(await statuses(other, [CHAT, CHAT, CHAT, CHAT]), [200, 200, 200, 429]);
      // A limit that is set beside them and removed again keeps their usage.
      await limitAccount(before, one, { tokensPerMinute: 1_000_000 });
      await limitAccount(before, one, { tokensPerMinute: null });
      assert.deepEqual(await statuses(one, [MESSAGES, CHAT]), [429, 429]);
    } finally {
      await before.stop();
    }
  });
});

describe(`calls that race for limits by the minute`, { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON);
  let g: TestGateway;
  before(async () => {
    g = await startGateway({ clock, plans: PLANS });
    g.provider.respond = responseAnything;
  });
  after(() => g.stop());

  it('are admitted up to the limit, at balance and coding addresses together, and then as fast as it drains', async () => {
    const account = await g.createAccount();
    await grant(g, account.id, 'coder');
    await limitAccount(g, account, { requestsPerMinute: 7 });
    const race = () =>
      Promise.all(Array.from({ length: 40 }, (_, i) => send(g, account.key, i % 2 === 0 ? CHAT : CODING_CHAT)));
    const admitted = (responses: readonly ClientResponse[]) => responses.filter(({ status }) => status === 200).length;
    const responses = await race();
    assert.equal(admitted(responses), 7);
    for (const { status, headers } of responses) {
      if (status !== 200) assert.deepEqual([status, headers['x-error-code']], [429, 'rate_limit_exceeded']);
    }
    clock.advance(30_000);
    assert.equal(admitted(await race()), 3);
  });
});

describe('limits by the minute on two nodes', { timeout: 60_000 }, () => {
  const clock = createTestClock(NOON);
  let first: TestGateway;
  let second: TestGateway;
  before(async () => {
    first = await startGateway({ clock });
    second = await startGateway({ clock, stored: first.stored, database: first.stored.openAnother() });
  });
  after(async () => {
    await second?.stop();
    await first?.stop();
  });

  it('are one limit, of whose changes the other node is notified', async () => {
    const account = await first.createAccount();
    assert.equal((await send(second, account.key, CHAT)).status, 200);
    await limitKey(first, account, { requestsPerMinute: 9 });
    // The clock stands still, so nothing in the second node's cache expires: it has to be notified.
    let response: ClientResponse;
    do response = await send(second, account.key, CHAT);
    while (response.headers['x-ratelimit-limit-requests'] === undefined);
    assert.equal(response.headers['x-ratelimit-remaining-requests'], '8');
    const responses = await Promise.all(
      Array.from({ length: 40 }, (_, i) => send(i % 2 === 0 ? first : second, account.key, CHAT)),
    );
    assert.equal(responses.filter(({ status }) => status === 200).length, 8);
  });
});
