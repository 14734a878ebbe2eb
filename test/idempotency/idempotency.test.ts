import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { ROW_BYTES } from '../../src/accounting/repeats/stored-response-capacity.ts';
import { parseConfig } from '../../src/config/load.ts';
import { type CallOptions, type ClientResponse, call, type StartedCall, startCall } from '../support/client.ts';
import { createTestClock, type TestClock } from '../support/clock.ts';
import { createTestDatabase } from '../support/database.ts';
import {
  embeddingList,
  form,
  imagesResult,
  imageUsage,
  jsonBody,
  png,
  rerankResult,
  type TypedBody,
} from '../support/endpoints.ts';
import { families, requestOf } from '../support/families.ts';
import {
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
  type TestGatewayOptions,
  testConfigText,
} from '../support/gateway.ts';
import { chatCompletion, chatStream, json, message, type Respond, sse } from '../support/provider.ts';
import { startProxy } from '../support/proxy.ts';
import { compactionResult, RESPONSES_COST, responseObject, responsesUsage, usageOf } from '../support/responses.ts';
import { partitionsOfFile } from '../support/scope.ts';

/** Repeats of calls that carry an Idempotency-Key: one call to a provider, one charge, one response. */

const NOON = '2026-11-20T04:00:00Z';
const DAY_MS = 24 * 3_600_000;
const PLANS = `
plans:
  coder: { name: Coder, fiveHourCalls: 1000, weeklyCalls: 5000, concurrency: 10, quotaTokens: 1000000, periodDays: 30, models: [test-both], inputByteLimit: 1MiB, outputTokenLimit: 100 }
`;
const AWAY = '  away: { protocol: chat, baseUrl: "http://127.0.0.1:1/v1", apiKey: provider-secret-key-3 }';
const AWAY_MODEL =
  '  test-away: { operations: [chat], price: { input: "1", output: "1" }, routes: [{ provider: away, model: x }] }';

interface Kind {
  readonly name: string;
  readonly path: string;
  /** A request; the text makes it a different one. */
  readonly request: (text: string) => TypedBody;
  readonly response: object;
  /** What it costs on the balance; 0 on a plan. */
  readonly cost: bigint;
}

const chatBody = (text: string): TypedBody =>
  jsonBody({ model: 'test-both', max_tokens: 50, messages: [{ role: 'user', content: text }] });
const imageResponse = imagesResult(1, { usage: imageUsage({ text: 3, image: 5 }, 7) });
const imageCost = 3n * 3_000n + 5n * 17_000n + 7n * 19_000n;

let boundaries = 0;
const edit = (text: string): TypedBody =>
  form(
    [
      ['model', 'test-images'],
      ['prompt', text],
      ['image', png(8, 8), 'in.png'],
    ],
    // Like SDKs, which use another one for each attempt.
    `boundary-${++boundaries}`,
  );

const kinds: readonly Kind[] = [
  {
    name: 'chat',
    path: '/v1/chat/completions',
    request: chatBody,
    response: chatCompletion(),
    cost: costNano({ input: 11, output: 7 }),
  },
  {
    name: 'messages',
    path: '/v1/messages',
    request: chatBody,
    response: message(),
    cost: costNano({ input: 12, output: 8 }),
  },
  {
    name: 'embeddings',
    path: '/v1/embeddings',
    request: (input) => jsonBody({ model: 'test-embeddings', input }),
    response: embeddingList({ prompt_tokens: 5, total_tokens: 5 }),
    cost: costNano({ input: 5 }),
  },
  {
    name: 'rerank',
    path: '/v1/rerank',
    request: (query) => jsonBody({ model: 'test-rerank-calls', query, documents: ['one', 'two'] }),
    response: rerankResult({}),
    cost: 17_000n,
  },
  {
    name: 'responses',
    path: '/v1/responses',
    request: (input) => jsonBody({ model: 'test-responses', input }),
    response: responseObject({ usage: responsesUsage }),
    cost: RESPONSES_COST,
  },
  {
    name: 'compactions',
    path: '/v1/responses/compact',
    request: (input) => jsonBody({ model: 'test-responses', input }),
    response: compactionResult({ usage: usageOf(11, 7) }),
    cost: RESPONSES_COST,
  },
  {
    name: 'image generations',
    path: '/v1/images/generations',
    request: (prompt) => jsonBody({ model: 'test-images', prompt }),
    response: imageResponse,
    cost: imageCost,
  },
  {
    name: 'image edits, with another boundary each time',
    path: '/v1/images/edits',
    request: edit,
    response: imageResponse,
    cost: imageCost,
  },
  { name: 'coding chat', path: '/v1/coding/chat/completions', request: chatBody, response: chatCompletion(), cost: 0n },
  { name: 'coding messages', path: '/altproto/coding/v1/messages', request: chatBody, response: message(), cost: 0n },
];

/** Headers that depend on the time or the connection. */
const OF_THE_MOMENT = [
  'date',
  'connection',
  'keep-alive',
  'x-faregate-available-yuan',
  'x-faregate-calls-left',
  'x-faregate-repeated',
];

/** What remains of the plan after the first call; a repeat does not report it. */
const PLAN_WINDOWS = /^(anthropic-ratelimit-unified|x-codex)-/;

function lasting(response: ClientResponse): object {
  const headers = Object.entries(response.headers).filter(
    ([name]) => !OF_THE_MOMENT.includes(name) && !PLAN_WINDOWS.test(name),
  );
  return { status: response.status, body: response.text, headers: Object.fromEntries(headers) };
}

/** Asserts that a response repeats an earlier one. */
function assertRepeated(repeat: ClientResponse, first: ClientResponse): void {
  assert.deepEqual(lasting(repeat), lasting(first));
  assert.equal(first.headers['x-faregate-repeated'], undefined);
  assert.equal(repeat.headers['x-faregate-repeated'], 'true');
}

function assertConflict(response: ClientResponse, message = /used for another request/): void {
  assert.equal(response.status, 409, response.text);
  assert.equal(response.headers['x-error-code'], 'conflict_error');
  assert.equal(response.headers['x-should-retry'], 'false');
  assert.match(response.json.error.message, message);
  assert.equal(response.json.error.type, 'conflict_error');
  if ('param' in response.json.error) assert.equal(response.json.error.param, 'Idempotency-Key');
}

let keys = 0;
const newKey = (): string => `key-${++keys}`;

/** One gateway with what a test file needs of it. */
function use(options: TestGatewayOptions = {}) {
  const used = {} as { g: TestGateway; clock: TestClock; account: TestAccount };
  before(async () => {
    used.clock = createTestClock(NOON);
    used.g = await startGateway({ clock: used.clock, plans: PLANS, providers: AWAY, models: AWAY_MODEL, ...options });
  });
  after(() => used.g?.stop());
  return {
    used,
    /** Uses these settings from now on, by default those of the start. */
    reload(settings: TestGatewayOptions = {}): void {
      const text = testConfigText(used.g.provider.url, { plans: PLANS, ...settings });
      used.g.gateway.reload(parseConfig(text, 'test.yaml', {}));
    },
    /** Has ¥100, and an active plan if the test needs one. */
    async newAccount(hasPlan = false): Promise<TestAccount> {
      const account = await used.g.createAccount();
      if (!hasPlan) return account;
      const granted = await used.g.admin('POST', `/accounts/${account.id}/subscriptions`, { planId: 'coder' });
      assert.equal(granted.status, 201, JSON.stringify(granted.body));
      return account;
    },
    start(
      account: Pick<TestAccount, 'key'>,
      path: string,
      { contentType, body }: TypedBody,
      key: string,
      more: CallOptions = {},
    ): StartedCall {
      const headers = { 'content-type': contentType, 'idempotency-key': key, ...more.headers };
      return startCall(used.g.url + path, account.key, body, { ...more, headers });
    },
    send(
      account: Pick<TestAccount, 'key'>,
      path: string,
      { contentType, body }: TypedBody,
      key: string,
      more: CallOptions = {},
    ): Promise<ClientResponse> {
      const headers = { 'content-type': contentType, 'idempotency-key': key, ...more.headers };
      return call(used.g.url + path, account.key, body, { ...more, headers });
    },
    /** From now on the provider takes calls and responds when the test says so. */
    holdResponses(respond: Respond): () => void {
      const held = Promise.withResolvers<void>();
      used.g.provider.respond = async (request, response) => {
        await held.promise;
        await respond(request, response);
      };
      return held.resolve;
    },
  };
}

async function countRecords(g: TestGateway, account: TestAccount): Promise<number> {
  const { body } = await g.admin('GET', `/calls?accountId=${account.id}`);
  return body.data.length;
}

/** The windows and tokens of the account's plan. */
async function planOf(g: TestGateway, account: TestAccount): Promise<unknown> {
  const response = await fetch(`${g.url}/v1/coding/user/balance`, {
    headers: { authorization: `Bearer ${account.key}` },
  });
  return response.json();
}

const reset: Respond = (_request, response) => void response.socket!.resetAndDestroy();

describe(`idempotent repeats`, { timeout: 300_000 }, () => {
  const { used, newAccount, send, start, holdResponses } = use();

  for (const { name, path, request, response, cost } of kinds) {
    it(`${name}: a repeat gets the response of the first, byte for byte, free of charge`, async () => {
      const { g } = used;
      const account = await newAccount(path.includes('coding'));
      const { length } = g.provider.requests;
      g.provider.respond = json(200, response, { 'x-request-id': 'req_first', 'x-ratelimit-limit-requests': '7' });
      const key = newKey();
      const first = await send(account, path, request('Hello'), key);
      assert.equal(first.status, 200, first.text);
      assert.equal(first.text, JSON.stringify(response));
      const { id } = await account.lastCall();
      const plan = await planOf(g, account);

      g.provider.respond = json(500, 'must not be called');
      const repeat = await send(account, path, request('Hello'), key);
      assertRepeated(repeat, first);
      assert.equal(repeat.headers['x-request-id'], 'req_first');
      assert.equal(repeat.headers['request-id'], 'req_first');
      assert.equal(repeat.headers['x-ratelimit-limit-requests'], '7');
      assert.equal(repeat.headers['x-faregate-call-id'], id);
      assert.equal(repeat.headers['x-faregate-charge-yuan'] === undefined, cost === 0n);
      assert.equal(repeat.headers['x-faregate-available-yuan'], undefined);
      assert.equal(g.provider.requests.length, length + 1);
      assert.equal(await countRecords(g, account), 1);
      assert.deepEqual(await planOf(g, account), plan);
      await assertSpent(account, cost);

      assertConflict(await send(account, path, request('Something else'), key));
      await assertSpent(account, cost);
    });

    it(`${name}: a client that leaves does not end the call; a repeat while it runs waits for its response`, async () => {
      const { g } = used;
      const account = await newAccount(path.includes('coding'));
      const { length } = g.provider.requests;
      const letGo = holdResponses(json(200, response));
      const key = newKey();
      const left = start(account, path, request('Hello'), key);
      await g.provider.received(length + 1);
      left.drop();
      const repeats = [send(account, path, request('Hello'), key), send(account, path, request('Hello'), key)];
      // At once, although the first one still runs.
      assertConflict(await send(account, path, request('Something else'), key));
      letGo();
      for (const { status, text, headers } of await Promise.all(repeats)) {
        assert.deepEqual({ status, text }, { status: 200, text: JSON.stringify(response) });
        assert.equal(headers['x-faregate-repeated'], 'true');
      }
      assert.equal((await send(account, path, request('Hello'), key)).status, 200);
      assert.equal(g.provider.requests.length, length + 1);
      assert.equal(await countRecords(g, account), 1);
      await assertSpent(account, cost);
    });

    it(`${name}: if the outcome is unknown, a repeat gets the same error`, async () => {
      const { g } = used;
      const account = await newAccount(path.includes('coding'));
      const { length } = g.provider.requests;
      g.provider.respond = reset;
      const key = newKey();
      const first = await send(account, path, request('Hello'), key);
      assert.equal(first.status, 502);
      assert.equal(first.headers['x-should-retry'], 'false');
      g.provider.respond = json(200, response);
      assertRepeated(await send(account, path, request('Hello'), key), first);
      assert.equal(g.provider.requests.length, length + 1);
      assert.equal(await countRecords(g, account), 1);
      await assertSpent(account, 0n);
      assert.equal((await send(account, path, request('Hello'), newKey())).status, 200);
      await assertSpent(account, cost);
    });
  }

  for (const family of families) {
    const send1 = (account: TestAccount, key: string) => send(account, family.path, jsonBody(requestOf(false)), key);
    const envelope = { error: { message: 'No.', type: 'some_error' } };

    const kept: [what: string, respond: Respond, status: number][] = [
      ['502 from the provider', json(502, envelope), 502],
      ['504 from the provider', json(504, envelope, { 'retry-after': '7' }), 504],
      ['a 200 that is HTML', json(200, '<html>', { 'content-type': 'text/html' }), 502],
      ['a 200 without usage', json(200, family.whole(null)), 502],
      ['a 200 that breaks off', breaksOff, 502],
      ['a 201', json(201, family.whole()), 502],
    ];
    for (const [what, respond, status] of kept) {
      it(`${family.name}: ${what} is stored`, async () => {
        const { g } = used;
        const account = await newAccount();
        const { length } = g.provider.requests;
        g.provider.respond = respond;
        const key = newKey();
        const first = await send1(account, key);
        assert.equal(first.status, status, first.text);
        g.provider.respond = json(200, family.whole());
        assertRepeated(await send1(account, key), first);
        assert.equal(g.provider.requests.length, length + 1);
        await assertSpent(account, 0n);
      });
    }

    it(`${family.name}: the same error is repeated whatever characters the provider's message has`, async () => {
      const { g } = used;
      const account = await newAccount();
      // One half of a surrogate pair, which no database stores.
      const odd = 'Lost sight \\ud800 of it.';
      g.provider.respond = json(504, `{"error":{"message":"${odd}","param":"${odd}"}}`);
      const { length } = g.provider.requests;
      const key = newKey();
      const first = await send1(account, key);
      const again = await send1(account, key);
      assert.equal(g.provider.requests.length, length + 1);
      assert.deepEqual([first.status, again.status, again.headers['x-faregate-repeated']], [504, 504, 'true']);
      assert.equal(first.json.error.message, JSON.parse(`"${odd}"`));
      assert.equal(again.json.error.message, 'Lost sight \ufffd of it.');
      const { status, errorCode } = await account.lastCall();
      assert.deepEqual([status, errorCode], ['failed', 'upstream_error']);
      await assertSpent(account, 0n);
    });

    it(`${family.name}: a refusal of the operator's account is not stored, because the call did not run`, async () => {
      const { g } = used;
      const account = await newAccount();
      for (const status of [401, 402]) {
        const key = newKey();
        g.provider.respond = json(status, envelope);
        assert.equal((await send1(account, key)).status, 502);
        g.provider.respond = json(200, family.whole());
        const { status: then, headers } = await send1(account, key);
        assert.deepEqual([then, headers['x-faregate-repeated']], [200, undefined], String(status));
      }
    });

    it(`${family.name}: what the provider refuses is not stored`, async () => {
      const { g } = used;
      const account = await newAccount();
      const statuses = [400, 403, 404, 413, 422, 429, 500, 503, 529];
      for (const status of statuses) {
        const key = newKey();
        g.provider.respond = json(status, envelope);
        assert.equal((await send1(account, key)).status, status);
        g.provider.respond = json(200, family.whole());
        const { status: then, headers } = await send1(account, key);
        assert.deepEqual([then, headers['x-faregate-repeated']], [200, undefined], String(status));
      }
      await assertSpent(account, BigInt(statuses.length) * family.cost);
    });
  }

  it('what the gateway refuses is not stored: no money, no model, not in the plan, a bad body', async () => {
    const { g } = used;
    g.provider.respond = json(200, chatCompletion());
    const poor = await g.createAccount({ balanceYuan: '0' });
    const key = newKey();
    const path = '/v1/chat/completions';
    assert.equal((await send(poor, path, chatBody('Hello'), key)).status, 402);
    assert.equal((await send(poor, path, jsonBody({ model: 'nobody', messages: [] }), key)).status, 404);
    assert.equal((await send(poor, path, jsonBody({ messages: [] }), key)).status, 400);
    assert.equal((await send(poor, '/v1/coding/chat/completions', chatBody('Hello'), key)).status, 402);
    assert.equal((await g.admin('POST', `/accounts/${poor.id}/top-ups`, { amountYuan: '100' })).status, 201);
    const response = await send(poor, path, chatBody('Hello'), key);
    assert.deepEqual([response.status, response.headers['x-faregate-repeated']], [200, undefined]);
  });

  it('a call whose provider was not reached is not stored: the repeat runs', async () => {
    const account = await newAccount();
    const key = newKey();
    const body = jsonBody({ model: 'test-away', messages: [] });
    for (let i = 0; i < 2; i++) {
      const response = await send(account, '/v1/chat/completions', body, key);
      assert.deepEqual([response.status, response.headers['x-faregate-repeated']], [502, undefined]);
      assert.equal(response.headers['x-should-retry'], 'true');
    }
    assert.equal(await countRecords(used.g, account), 2);
  });

  it('a body is the same whatever its content encoding', async () => {
    const { g } = used;
    const account = await newAccount();
    g.provider.respond = json(200, chatCompletion());
    const key = newKey();
    const plain = chatBody('Hello');
    const first = await send(account, '/v1/chat/completions', plain, key);
    const packed = { ...plain, body: gzipSync(plain.body) };
    const repeat = await send(account, '/v1/chat/completions?x=1', packed, key, {
      headers: { 'content-encoding': 'gzip' },
    });
    assertRepeated(repeat, first);
  });

  it('a stored response is returned for a day, and then the call runs again', async () => {
    const { g, clock } = used;
    const account = await newAccount();
    g.provider.respond = json(200, chatCompletion());
    const key = newKey();
    const headers = [];
    for (const ms of [0, DAY_MS - 1, 1]) {
      clock.advance(ms);
      headers.push(
        (await send(account, '/v1/chat/completions', chatBody('Hello'), key)).headers['x-faregate-repeated'],
      );
    }
    assert.deepEqual(headers, [undefined, 'true', undefined]);
    await assertSpent(account, 2n * costNano({ input: 11, output: 7 }));
  });

  describe('with a database that fails', () => {
    afterEach(() => {
      for (const name of ['idempotency.claim-keys', 'idempotency.keep-response', 'settlement.end']) {
        used.g.observed.statement(name).recover();
        used.g.observed.statement(name).release();
      }
    });

    it('at the claim: an internal error at once, and the provider is not called', async () => {
      const { g } = used;
      const account = await newAccount();
      const claims = g.observed.statement('idempotency.claim-keys');
      const { asked } = claims;
      const { length } = g.provider.requests;
      claims.fail('before');
      const key = newKey();
      const response = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
      assert.equal(response.status, 500);
      assert.equal(response.headers['x-error-code'], 'internal_error');
      assert.equal(claims.asked, asked + 1);
      assert.equal(g.provider.requests.length, length);
      claims.recover();
      g.provider.respond = json(200, chatCompletion());
      assert.equal((await send(account, '/v1/chat/completions', chatBody('Hello'), key)).status, 200);
      await assertSpent(account, costNano({ input: 11, output: 7 }));
    });

    for (const name of ['idempotency.keep-response', 'settlement.end']) {
      it(`at ${name}: the response is delivered, and its repeat gets it and is not charged again`, async () => {
        const { g } = used;
        const account = await newAccount();
        const statement = g.observed.statement(name);
        const { asked } = statement;
        statement.fail('before');
        g.provider.respond = json(200, chatCompletion());
        const key = newKey();
        const response = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
        assert.equal(response.status, 200);
        assert.equal(statement.asked, asked + 1);
        statement.recover();
        assertRepeated(await send(account, '/v1/chat/completions', chatBody('Hello'), key), response);
        await assertSpent(account, costNano({ input: 11, output: 7 }));
      });
    }
  });
});

/** A success whose connection breaks in the middle of the body. */
function breaksOff(_request: unknown, response: Parameters<Respond>[1]): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"id":"x"', () => response.socket!.resetAndDestroy());
}

describe('the Idempotency-Key header', { timeout: 300_000 }, () => {
  const { used, newAccount, send, start, holdResponses, reload } = use();
  afterEach(() => reload());

  it('is refused if it is not 1 to 255 visible ASCII characters, before anything is called', async () => {
    const account = await newAccount();
    const { length } = used.g.provider.requests;
    for (const key of ['', 'a b', 'k'.repeat(256), 'schl\xfcssel']) {
      const response = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
      assert.equal(response.status, 400, key);
      assert.equal(response.json.error.param, 'Idempotency-Key');
    }
    assert.equal(used.g.provider.requests.length, length);
    used.g.provider.respond = json(200, chatCompletion());
    const longest = await send(account, '/v1/chat/completions', chatBody('Hello'), '~'.repeat(255));
    assert.equal(longest.status, 200);
  });

  it('is ignored on streams, estimates and queries, whatever it says', async () => {
    const { g } = used;
    const account = await newAccount();
    g.provider.respond = sse(chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 }));
    for (const key of ['stream', 'stream', 'not a key']) {
      const response = await send(account, '/v1/chat/completions', jsonBody(requestOf(true)), key);
      assert.deepEqual([response.status, response.headers['x-faregate-repeated']], [200, undefined]);
    }
    await assertSpent(account, 3n * costNano({ input: 11, output: 7 }));
    assert.equal((await send(account, '/v1/messages/count_tokens', chatBody('Hello'), 'not a key')).status, 200);
    const headers = { authorization: `Bearer ${account.key}`, 'idempotency-key': 'not a key' };
    assert.equal((await fetch(`${g.url}/v1/models`, { headers })).status, 200);
  });

  it('reaches no provider', async () => {
    const { headers } = used.g.provider.requests.at(-1)!;
    assert.equal(headers['idempotency-key'], undefined);
  });

  it('lets a hundred repeats wait; one more is refused and may be retried, and none is charged', async () => {
    const account = await newAccount();
    const letGo = holdResponses(json(200, chatCompletion()));
    const key = newKey();
    let isFull = false;
    const ask = async (): Promise<[status: number, retry: unknown]> => {
      const { status, headers } = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
      // Repeats beyond the limit are refused at once; the others wait.
      if (status === 409 && !isFull) {
        isFull = true;
        letGo();
      }
      return [status, headers['x-should-retry']];
    };
    const responses = await Promise.all(Array.from({ length: 102 }, ask));
    assert.deepEqual(
      responses.filter(([status]) => status !== 200),
      [[409, 'true']],
    );
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('repeats neither count against the limits of an API key nor are refused by them', async () => {
    const { g } = used;
    const account = await newAccount();
    const limited = await g.admin('PATCH', `/keys/${account.keyId}`, { dailyCalls: 1 });
    assert.equal(limited.status, 200, JSON.stringify(limited.body));
    g.provider.respond = json(200, chatCompletion());
    const key = newKey();
    const first = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
    assert.equal(first.status, 200, first.text);
    assert.equal((await send(account, '/v1/chat/completions', chatBody('Hello'), newKey())).status, 429);
    assertRepeated(await send(account, '/v1/chat/completions', chatBody('Hello'), key), first);
  });

  const large = chatCompletion(undefined, 'x'.repeat(1_025));
  const SMALL_ANSWERS = `${PLANS}\nidempotency: { answerLimit: 1KiB }`;
  const TOO_LARGE = /carried out and charged, but its response is too large/;

  it('repeats of a response that is too large to be stored get an error that says so; the response itself is delivered', async () => {
    reload({ plans: SMALL_ANSWERS });
    const account = await newAccount();
    used.g.provider.respond = json(200, large);
    const key = newKey();
    const first = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
    assert.equal(first.text, JSON.stringify(large));
    for (let i = 0; i < 2; i++) {
      const repeat = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
      assertConflict(repeat, TOO_LARGE);
      assert.equal(repeat.headers['x-faregate-call-id'], first.headers['x-faregate-call-id']);
      assert.equal(repeat.headers['x-faregate-charge-yuan'], first.headers['x-faregate-charge-yuan']);
    }
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('charges a response that is too large to be stored even if its client has left', async () => {
    reload({ plans: SMALL_ANSWERS });
    const account = await newAccount();
    const { length } = used.g.provider.requests;
    const letGo = holdResponses(json(200, large));
    const key = newKey();
    const left = start(account, '/v1/chat/completions', chatBody('Hello'), key);
    await used.g.provider.received(length + 1);
    left.drop();
    const repeat = send(account, '/v1/chat/completions', chatBody('Hello'), key);
    letGo();
    assertConflict(await repeat, TOO_LARGE);
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('repeats get that error for a response of more than 32 MiB too, most of which is delivered before it is charged', async () => {
    reload({ plans: SMALL_ANSWERS });
    const account = await newAccount();
    used.g.provider.respond = json(200, chatCompletion(undefined, 'x'.repeat(33 * 2 ** 20)));
    const key = newKey();
    const first = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
    assert.equal(first.status, 200);
    assertConflict(await send(account, '/v1/chat/completions', chatBody('Hello'), key), TOO_LARGE);
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  it('repeats of responses beyond what is stored for an account get an error that says so; those of another account are stored', async () => {
    const response = JSON.stringify(chatCompletion());
    reload({ plans: `${PLANS}\nidempotency: { accountLimit: ${2 * (response.length + ROW_BYTES)} }` });
    const [account, other] = [await newAccount(), await newAccount()];
    used.g.provider.respond = json(200, response);
    const keys = [newKey(), newKey(), newKey()];
    const first: ClientResponse[] = [];
    for (const key of keys) first.push(await send(account, '/v1/chat/completions', chatBody('Hello'), key));
    const repeats = keys.map((key) => send(account, '/v1/chat/completions', chatBody('Hello'), key));
    assertRepeated(await repeats[0]!, first[0]!);
    assertRepeated(await repeats[1]!, first[1]!);
    assertConflict(await repeats[2]!, /carried out and charged, but there was no capacity left to store its response/);
    await assertSpent(account, 3n * costNano({ input: 11, output: 7 }));
    const key = newKey();
    const fresh = await send(other, '/v1/chat/completions', chatBody('Hello'), key);
    assertRepeated(await send(other, '/v1/chat/completions', chatBody('Hello'), key), fresh);
  });

  it('stores responses of exactly the maximum size', async () => {
    const response = JSON.stringify(chatCompletion());
    reload({ plans: `${PLANS}\nidempotency: { answerLimit: ${response.length} }` });
    const account = await newAccount();
    used.g.provider.respond = json(200, response);
    const key = newKey();
    const first = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
    assertRepeated(await send(account, '/v1/chat/completions', chatBody('Hello'), key), first);
  });

  it('is ignored with keepFor: 0s and callHeaders: false, whatever it says', async () => {
    reload({ plans: `${PLANS}\nidempotency: { keepFor: 0s }`, server: 'callHeaders: false' });
    const { asked } = used.g.observed.statement('idempotency.claim-keys');
    const account = await newAccount();
    used.g.provider.respond = json(200, chatCompletion());
    for (const key of ['same', 'same', 'not a key']) {
      const response = await send(account, '/v1/chat/completions', chatBody('Hello'), key);
      assert.equal(response.status, 200);
      assert.equal(response.headers['x-faregate-repeated'], undefined);
    }
    await assertSpent(account, 3n * costNano({ input: 11, output: 7 }));
    assert.equal(used.g.observed.statement('idempotency.claim-keys').asked, asked);
  });

  it('stores the 504 of a provider that times out, since the call may have run', async () => {
    reload({ providerFields: 'timeouts: { firstByte: 50ms }' });
    const account = await newAccount();
    const { length } = used.g.provider.requests;
    used.g.provider.respond = () => undefined;
    const key = newKey();
    const first = await send(account, '/v1/messages', chatBody('Hello'), key);
    assert.equal(first.status, 504);
    used.g.provider.respond = json(200, message());
    assertRepeated(await send(account, '/v1/messages', chatBody('Hello'), key), first);
    assert.equal(used.g.provider.requests.length, length + 1);
    await assertSpent(account, 0n);
  });

  /** Makes a call through a network that breaks while the call is at the provider, and is restored at once. */
  async function throughBrokenNetwork<Result>(
    response: object,
    ask: (url: string) => Promise<Result>,
  ): Promise<Result> {
    const { g } = used;
    const proxy = await startProxy(g.url);
    const { length } = g.provider.requests;
    const letGo = holdResponses(json(200, response));
    try {
      const asked = ask(proxy.url.replace(/\/$/, ''));
      await g.provider.received(length + 1);
      const arrived = new Promise<void>((resolve) => g.gateway.app.server.once('request', () => resolve()));
      proxy.cut();
      await arrived;
      letGo();
      const result = await asked;
      assert.equal(g.provider.requests.length, length + 1, 'the provider was called again');
      return result;
    } finally {
      await proxy.close();
    }
  }

  it('lets the SDK of OpenAI retry after a lost connection: chat, embeddings, images and edits are charged once', async () => {
    const account = await newAccount();
    const options = () => ({ headers: { 'Idempotency-Key': newKey() }, maxRetries: 2 });
    const client = (baseURL: string) => new OpenAI({ apiKey: account.key, baseURL: `${baseURL}/v1` });
    const completion = await throughBrokenNetwork(chatCompletion(), (url) =>
      client(url).chat.completions.create(
        { model: 'test-chat', messages: [{ role: 'user', content: 'Hello' }] },
        options(),
      ),
    );
    assert.deepEqual({ ...completion }, chatCompletion());
    const embeddings = await throughBrokenNetwork(embeddingList({ prompt_tokens: 5, total_tokens: 5 }), (url) =>
      client(url).embeddings.create({ model: 'test-embeddings', input: 'Hello', encoding_format: 'float' }, options()),
    );
    assert.equal(embeddings.data.length, 1);
    const image = await throughBrokenNetwork(imageResponse, (url) =>
      client(url).images.generate({ model: 'test-images', prompt: 'A gate' }, options()),
    );
    assert.equal(image.data?.length, 1);
    const upload = await toFile(png(8, 8), 'in.png', { type: 'image/png' });
    const edited = await throughBrokenNetwork(imageResponse, (url) =>
      client(url).images.edit({ model: 'test-images', prompt: 'A gate', image: upload }, options()),
    );
    assert.equal(edited.data?.length, 1);
    await assertSpent(account, costNano({ input: 11, output: 7 }) + costNano({ input: 5 }) + 2n * imageCost);
    assert.equal(await countRecords(used.g, account), 4);
  });

  it('lets the SDK of Anthropic do the same: messages on the balance and on the Coding Plan count once', async () => {
    const account = await newAccount(true);
    const question = { model: 'test-both', max_tokens: 50, messages: [{ role: 'user' as const, content: 'Hello' }] };
    for (const base of ['', '/altproto/coding']) {
      const response = await throughBrokenNetwork(message(), (url) =>
        new Anthropic({ apiKey: account.key, baseURL: url + base }).messages.create(question, {
          headers: { 'Idempotency-Key': newKey() },
          maxRetries: 2,
        }),
      );
      assert.deepEqual({ ...response }, message());
    }
    await assertSpent(account, costNano({ input: 12, output: 8 }));
    assert.equal(await countRecords(used.g, account), 2);
  });

  it('gives SDKs a conflict that they do not retry', async () => {
    const account = await newAccount();
    used.g.provider.respond = json(200, chatCompletion());
    const options = { headers: { 'Idempotency-Key': newKey() }, maxRetries: 2 };
    const client = new OpenAI({ apiKey: account.key, baseURL: `${used.g.url}/v1` });
    const create = (content: string) =>
      client.chat.completions.create({ model: 'test-chat', messages: [{ role: 'user', content }] }, options);
    await create('Hello');
    let requests = 0;
    used.g.gateway.app.server.on('request', () => requests++);
    await assert.rejects(create('Something else'), OpenAI.ConflictError);
    assert.equal(requests, 1);
  });
});

describe('a gateway that stops and starts again', { timeout: 120_000 }, () => {
  it('repeats that wait at its end get the response of the call that runs; after the start it is still stored', async () => {
    const stored = await createTestDatabase();
    const clock = createTestClock(NOON);
    const first = await startGateway({ stored, clock });
    const account = await first.createAccount();
    const held = Promise.withResolvers<void>();
    first.provider.respond = async (request, response) => {
      await held.promise;
      return json(200, chatCompletion())(request, response);
    };
    const headers = { 'idempotency-key': 'over-the-restart' };
    const { body } = chatBody('Hello');
    const path = '/v1/chat/completions';
    const both = [call(first.url + path, account.key, body, { headers })];
    await first.provider.received(1);
    const arrived = new Promise((resolve) => first.gateway.app.server.once('request', resolve));
    both.push(call(first.url + path, account.key, body, { headers }));
    await arrived;
    // The shutdown waits for calls that count as in flight by now.
    const closing = first.gateway.close();
    held.resolve();
    const responses = await Promise.all(both);
    await closing;
    await first.provider.close();
    assert.deepEqual(
      responses.map(({ status, text }) => [status, text]),
      Array(2).fill([200, JSON.stringify(chatCompletion())]),
    );

    const second = await startGateway({ stored, clock, database: stored.openAnother() });
    try {
      const repeat = await call(second.url + path, account.key, body, { headers });
      assertRepeated(repeat, responses.find((response) => response.headers['x-faregate-repeated'] === undefined)!);
      assert.equal(second.provider.requests.length, 0);
    } finally {
      await second.stop();
      await stored.remove();
    }
  });
});

describe('a node that dies, or is considered dead', { timeout: 120_000 }, () => {
  const path = '/v1/chat/completions';
  const { body } = chatBody('Hello');
  let nodes: { g: TestGateway; clock: TestClock }[];
  before(async () => {
    const clocks = [createTestClock(NOON), createTestClock(NOON)];
    const stored = await createTestDatabase(partitionsOfFile);
    const databases = [stored.database, stored.openAnother()];
    nodes = [];
    for (const [i, clock] of clocks.entries()) {
      nodes.push({ clock, g: await startGateway({ stored, database: databases[i]!, clock }) });
    }
  });
  after(async () => {
    const [first, second] = nodes;
    await second?.g.stop();
    await first?.g.stop();
    await first?.g.stored.remove();
  });
  const ask = (node: number, account: TestAccount, key: string): Promise<ClientResponse> =>
    call(nodes[node]!.g.url + path, account.key, body, { headers: { 'idempotency-key': key } });

  it('the call of a node that is considered dead and responds late is not charged; the call that took over is', async () => {
    const [{ g: one }, { g: two, clock: later }] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    const account = await one.createAccount();
    const received = one.provider.requests.length;
    const held = Promise.withResolvers<void>();
    one.provider.respond = async (request, response) => {
      await held.promise;
      return json(200, chatCompletion(undefined, 'too late'))(request, response);
    };
    const first = ask(0, account, 'late');
    await one.provider.received(received + 1);
    later.advance(120_000);
    two.provider.respond = json(200, chatCompletion(undefined, 'in time'));
    const second = await ask(1, account, 'late');
    assert.match(second.text, /in time/);
    held.resolve();
    const lost = await first;
    assert.equal(lost.status, 500);
    assert.equal(lost.headers['x-error-code'], 'internal_error');
    assert.equal(lost.headers['x-should-retry'], 'false');
    assertRepeated(await ask(0, account, 'late'), second);
    await assertSpent(account, costNano({ input: 11, output: 7 }));
    later.advance(-120_000);
  });

  it('on a node that stops, no repeat waits for another node: it may be retried elsewhere', async () => {
    const [{ g: one }, { g: two }] = nodes as [(typeof nodes)[0], (typeof nodes)[0]];
    const account = await one.createAccount();
    const received = one.provider.requests.length;
    const held = Promise.withResolvers<void>();
    one.provider.respond = async (request, response) => {
      await held.promise;
      return json(200, chatCompletion())(request, response);
    };
    const first = ask(0, account, 'stop');
    await one.provider.received(received + 1);
    const claims = two.observed.statement('idempotency.claim-keys');
    const { done } = claims;
    const repeat = ask(1, account, 'stop');
    await claims.completed(done + 1);
    const closing = two.gateway.close();
    const response = await repeat;
    assert.equal(response.status, 503);
    assert.equal(response.headers['x-should-retry'], 'true');
    await closing;
    held.resolve();
    assert.equal((await first).status, 200);
    await two.provider.close();
    nodes.length = 1;
  });
});
