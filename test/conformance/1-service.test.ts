import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call } from '../support/client.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatResponse, chatStream, liveResponse, type Respond } from '../support/provider.ts';
import {
  type Address,
  addresses,
  askAddress,
  askFor,
  assertRefusal,
  badKey,
  noPlan,
  responseAnything,
  workOf,
} from './addresses.ts';
import { assertCounted, assertPlanUse, createSubscriber, plansText, subscribe } from './plans.ts';

const find = (path: string): Address => addresses.find((address) => address.path === path)!;
const balanceAddresses = addresses.filter(({ context }) => context === 'balance');
const codingAddresses = addresses.filter(({ context }) => context === 'coding');
const freeAddresses = addresses.filter(({ context }) => context === 'free');
const labelOf = ({ method, path }: Address): string => `${method} ${path}`;

describe('1 What the service does', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      plans: plansText({
        roomy: {},
        'no-five-hours': { fiveHourCalls: 0 },
        'no-week': { weeklyCalls: 0 },
        'no-tokens': { quotaTokens: 0 },
        'three-in-five-hours': { fiveHourCalls: 3 },
        'two-a-week': { weeklyCalls: 2 },
        'nineteen-tokens': { quotaTokens: 19 },
        'one-at-once': { concurrency: 1 },
      }),
    });
    gateway.provider.respond = responseAnything;
  });
  after(() => gateway.stop());

  /** Runs the action with another provider response; returns the number of provider calls. */
  async function whileProvider(respond: Respond, work: () => Promise<void>): Promise<number> {
    const asked = gateway.provider.requests.length;
    gateway.provider.respond = respond;
    try {
      await work();
    } finally {
      gateway.provider.respond = responseAnything;
    }
    return gateway.provider.requests.length - asked;
  }

  /** An account that may call the address, with a balance or a plan. */
  const createPayer = ({ context }: Address): Promise<TestAccount> =>
    context === 'coding' ? createSubscriber(gateway, 'roomy') : gateway.createAccount();

  async function assertServed(path: string): Promise<void> {
    const account = await gateway.createAccount();
    const address = find(path);
    const response = await askAddress(gateway.url, address, account.key);
    assert.equal(response.status, 200, response.text);
    assert.equal(typeof response.json, 'object');
    await assertSpent(account, workOf(address).costNano ?? 0n);
  }

  it('1 paths under /v1 are of the chat-style family, paths under /altproto and /v1/coding/altproto and /v1/messages of the messages-style one', async () => {
    for (const address of addresses) {
      if (address.auth === 'none' || address.envelope === 'usage' || address.envelope === 'cohere') continue;
      const isMessages = /^(\/altproto|\/v1\/coding\/altproto|\/v1\/messages)\//.test(`${address.path}/`);
      const response = await askAddress(gateway.url, address, null);
      assertRefusal(response, isMessages ? 'messages' : 'chat', badKey);
    }
  });

  for (const [operation, path] of [
    ['chat completions', '/v1/chat/completions'],
    ['messages creation', '/v1/messages'],
    ['responses compaction', '/v1/responses/compact'],
    ['responses input-token estimation', '/v1/responses/input_tokens'],
    ['image generation', '/v1/images/generations'],
    ['image editing', '/v1/images/edits'],
    ['embeddings', '/v1/embeddings'],
    ['rerank', '/v1/rerank'],
    ['message input-token estimation', '/v1/messages/count_tokens'],
    ['a public model catalog', '/v1/public/models'],
    ['model detail lookup', '/altproto/v1/models/{model_id}'],
    ['balance queries', '/v1/user/balance'],
    ['usage queries', '/v1/coding/user/balance'],
  ] as const) {
    it(`1 the service offers ${operation}`, () => assertServed(path));
  }

  for (const address of balanceAddresses) {
    const { envelope, work } = address;
    it(`1 ${labelOf(address)} needs a positive balance, and without one does not call the provider`, async () => {
      const refusal = {
        status: ['compact', 'imageGeneration', 'imageEdit'].includes(work) ? 429 : 402,
        code: 'insufficient_balance',
        type: 'insufficient_quota',
        messagesType: 'billing_error',
      };
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      const indebted = await gateway.createAccount({ balanceYuan: '0' });
      const { status } = await gateway.admin('POST', `/accounts/${indebted.id}/adjustments`, {
        amountYuan: '-0.000000001',
        memo: 'test',
      });
      assert.equal(status, 201);
      const asked = gateway.provider.requests.length;
      for (const account of [poor, indebted]) {
        const before = await account.money();
        assertRefusal(await askAddress(gateway.url, address, account.key), envelope, refusal);
        assert.deepEqual(await account.money(), before);
      }
      assert.equal(gateway.provider.requests.length, asked);
    });

    it(`1 ${labelOf(address)} is admitted by any positive balance and charged what was used, once`, async () => {
      const account = await gateway.createAccount({ balanceYuan: '0.000000001' });
      const response = await askAddress(gateway.url, address, account.key);
      assert.equal(response.status, 200, response.text);
      assert.deepEqual(await account.money(), { balanceNano: 1n - workOf(address).costNano!, heldNano: 0n });
    });
  }

  for (const address of [...balanceAddresses, ...codingAddresses]) {
    const { envelope } = address;
    it(`1 ${labelOf(address)} converts every provider error into the gateway's envelope, with safe headers and without charge`, async () => {
      const account = await createPayer(address);
      const refuse: Respond = (_request, response) => {
        response.writeHead(418, {
          'content-type': 'text/html',
          server: 'vendor',
          'set-cookie': 'session=secret',
          'x-vendor-account': 'operator',
          'x-ratelimit-remaining-requests': '3',
          'retry-after': '9',
        });
        response.end('<html>teapot</html>');
      };
      const asked = await whileProvider(refuse, async () => {
        const response = await askAddress(gateway.url, address, account.key);
        assertRefusal(response, envelope, { status: 418, code: 'upstream_error', type: 'invalid_request_error' });
        assert.deepEqual(Object.keys(response.headers).sort(), [
          'connection',
          'content-length',
          'content-type',
          'date',
          'keep-alive',
          'request-id',
          'retry-after',
          'x-error-code',
          // The gateway's own, in addition to the contract (docs/calls.md).
          ...(address.context === 'coding'
            ? ['x-faregate-call-id', 'x-faregate-calls-left']
            : ['x-faregate-available-yuan', 'x-faregate-call-id', 'x-faregate-charge-yuan']),
          'x-ratelimit-remaining-requests',
          'x-request-id',
        ]);
      });
      assert.equal(asked, 1);
      await assertSpent(account, 0n);
      if (address.context === 'coding') await assertPlanUse(gateway, account, { calls: 0, tokens: 0 });
    });

    it(`1 ${labelOf(address)} marks a 502, a 504 and a broken connection as not retryable, and does not retry them itself`, async () => {
      const account = await createPayer(address);
      const responsesWith =
        (status: number): Respond =>
        (_request, response) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
        };
      const breaksOff: Respond = (_request, response) => void response.socket!.destroy();
      const endsEarly: Respond = (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"id":"x",');
        response.socket!.end();
      };
      for (const [respond, status] of [
        [responsesWith(502), 502],
        [responsesWith(504), 504],
        [breaksOff, 502],
        [endsEarly, 502],
      ] as const) {
        const asked = await whileProvider(respond, async () => {
          const response = await askAddress(gateway.url, address, account.key);
          assert.equal(response.status, status, response.text);
          assert.equal(response.headers['x-should-retry'], 'false');
        });
        assert.equal(asked, 1);
      }
      await assertSpent(account, 0n);
      // The success that was aborted had begun.
      if (address.context === 'coding') await assertPlanUse(gateway, account, { calls: 1, tokens: 0 });
    });
  }

  it('1 a successful call is charged by its usage, not by its request', async () => {
    const account = await gateway.createAccount();
    const chat = find('/v1/chat/completions');
    let spent = 0n;
    for (const [prompt, completion] of [
      [1, 1],
      [20_000, 3],
      [7, 90],
    ] as const) {
      const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
      await whileProvider(chatResponse(usage), async () => {
        const body = { ...workOf(chat).body, max_tokens: 50 };
        assert.equal((await askAddress(gateway.url, chat, account.key, { body })).status, 200);
      });
      spent += costNano({ input: prompt, output: completion });
      await assertSpent(account, spent);
    }
  });

  it('1 a partly received result is not retried: the stream ends with an error event', async () => {
    const account = await gateway.createAccount();
    const chat = find('/v1/chat/completions');
    const live = liveResponse();
    const asked = await whileProvider(live.respond, async () => {
      const responding = call(gateway.url + chat.path, account.key, { ...workOf(chat).body, stream: true });
      await live.opened;
      await live.write(chatStream(['Hello', ' there']).slice(0, 3).join(''));
      live.reset();
      const response = await responding;
      assert.equal(response.status, 200);
      const last = response.text.trimEnd().split('\n\n').at(-1)!;
      assert.equal(JSON.parse(last.replace(/^data: /, '')).error.code, 'upstream_error');
      assert.ok(!response.text.includes('[DONE]'));
    });
    assert.equal(asked, 1);
    const { usage } = await account.endedCall();
    assert.equal(usage.source, 'estimated');
  });

  for (const address of codingAddresses) {
    it(`1 ${labelOf(address)} never switches to the balance: without a plan it is refused, whatever the balance`, async () => {
      const account = await gateway.createAccount();
      const asked = gateway.provider.requests.length;
      const response = await askAddress(gateway.url, address, account.key);
      assertRefusal(response, address.envelope, noPlan(workOf(address).codingStatus!));
      assert.equal(gateway.provider.requests.length, asked);
      await assertSpent(account, 0n);
    });
  }

  for (const address of codingAddresses) {
    it(`1 ${labelOf(address)} never switches to the balance: with its plan used up it is refused, whatever the balance`, async () => {
      for (const planId of ['no-five-hours', 'no-week', 'no-tokens']) {
        const account = await createSubscriber(gateway, planId);
        const asked = gateway.provider.requests.length;
        const response = await askAddress(gateway.url, address, account.key);
        assert.ok(response.status === 402 || response.status === 429, response.text);
        assert.equal(gateway.provider.requests.length, asked);
        await assertCounted(gateway, account, { calls: 0, tokens: 0 });
      }
    });

    it(`1 ${labelOf(address)} is counted against the plan and never deducts balance, whether there is one, none, or a debt`, async () => {
      const rich = await gateway.createAccount();
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      const indebted = await gateway.createAccount({ balanceYuan: '0' });
      await gateway.admin('POST', `/accounts/${indebted.id}/adjustments`, { amountYuan: '-1', memo: 'test' });
      for (const account of [rich, poor, indebted]) {
        await subscribe(gateway, account, 'roomy');
        const before = await account.money();
        const response = await askAddress(gateway.url, address, account.key);
        assert.equal(response.status, 200, response.text);
        await assertPlanUse(gateway, account, { calls: 1, tokens: workOf(address).tokens! });
        assert.deepEqual(await account.money(), before);
        const { context, chargeYuan } = await account.lastCall();
        assert.deepEqual([context, chargeYuan], ['coding', null]);
      }
    });
  }

  for (const address of balanceAddresses) {
    it(`1 ${labelOf(address)} never switches to the Coding Plan: a plan is no help without a balance, and with one is not counted`, async () => {
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      await subscribe(gateway, poor, 'roomy');
      const refused = await askAddress(gateway.url, address, poor.key);
      assert.equal(refused.headers['x-error-code'], 'insufficient_balance');
      await assertPlanUse(gateway, poor, { calls: 0, tokens: 0 });

      const rich = await createSubscriber(gateway, 'roomy');
      assert.equal((await askAddress(gateway.url, address, rich.key)).status, 200);
      await assertPlanUse(gateway, rich, { calls: 0, tokens: 0 });
      await assertSpent(rich, workOf(address).costNano!);
    });
  }

  it('1 a Coding Plan has a five-hour window, a weekly window, a concurrency cap and a token quota, each a separate limit', async () => {
    const chat = find('/v1/coding/chat/completions');
    for (const [planId, calls, code] of [
      ['three-in-five-hours', 3, 'package_5h_quota_exhausted'],
      ['two-a-week', 2, 'package_weekly_quota_exhausted'],
      ['nineteen-tokens', 2, 'insufficient_package'],
    ] as const) {
      const account = await createSubscriber(gateway, planId);
      for (let i = 0; i < calls; i++) {
        assert.equal((await askAddress(gateway.url, chat, account.key)).status, 200);
      }
      const response = await askAddress(gateway.url, chat, account.key);
      assert.equal(response.headers['x-error-code'], code, response.text);
      await assertCounted(gateway, account, { calls, tokens: calls * workOf(chat).tokens! });
    }
    const account = await createSubscriber(gateway, 'one-at-once');
    const live = liveResponse();
    await whileProvider(live.respond, async () => {
      const responding = askAddress(gateway.url, chat, account.key, { body: { ...workOf(chat).body, stream: true } });
      await live.opened;
      const second = await askAddress(gateway.url, chat, account.key);
      assert.equal(second.headers['x-error-code'], 'package_concurrency_limited', second.text);
      await live.write(chatStream(['Hello']).join(''));
      live.end();
      assert.equal((await responding).status, 200);
    });
    assert.equal((await askAddress(gateway.url, chat, account.key)).status, 200);
    await assertCounted(gateway, account, { calls: 2, tokens: 2 * workOf(chat).tokens! });
  });

  it('1 the address decides the context: the same account and request are paid at one and refused or counted at the other', async () => {
    const account = await gateway.createAccount();
    const subscriber = await createSubscriber(gateway, 'roomy');
    let tokens = 0;
    let calls = 0;
    let costNano = 0n;
    for (const [balance, coding] of [
      ['/v1/chat/completions', '/v1/coding/chat/completions'],
      ['/v1/responses', '/v1/coding/responses'],
      ['/v1/messages', '/altproto/v1/messages'],
      ['/v1/messages', '/v1/coding/altproto/messages'],
      ['/v1/responses/compact', '/v1/coding/responses/compact'],
    ] as const) {
      const before = await account.money();
      assert.equal((await askAddress(gateway.url, find(coding), account.key)).status >= 400, true);
      assert.deepEqual(await account.money(), before);
      assert.equal((await askAddress(gateway.url, find(balance), account.key)).status, 200);
      const { balanceNano } = await account.money();
      assert.equal(before.balanceNano - balanceNano, workOf(find(balance)).costNano);

      assert.equal((await askAddress(gateway.url, find(coding), subscriber.key)).status, 200);
      assert.equal((await askAddress(gateway.url, find(balance), subscriber.key)).status, 200);
      calls += 1;
      tokens += workOf(find(coding)).tokens!;
      costNano += workOf(find(balance)).costNano!;
      await assertPlanUse(gateway, subscriber, { calls, tokens });
      await assertSpent(subscriber, costNano);
    }
  });

  it('1 queries and local estimates are free, need no balance, and make no provider call', async () => {
    const poor = await gateway.createAccount({ balanceYuan: '0' });
    const rich = await gateway.createAccount();
    const asked = gateway.provider.requests.length;
    for (const address of freeAddresses) {
      for (const account of [poor, rich]) {
        const response = await askAddress(gateway.url, address, account.key);
        const isOfNoPlan = /^coding.*Detail$/.test(address.work);
        assert.equal(response.status, isOfNoPlan ? 404 : 200, `${labelOf(address)}: ${response.text}`);
      }
    }
    assert.equal(gateway.provider.requests.length, asked);
    assert.deepEqual(await poor.money(), { balanceNano: 0n, heldNano: 0n });
    await assertSpent(rich, 0n);
    for (const account of [poor, rich] as TestAccount[]) assert.equal(await account.lastCall(), undefined);
  });

  it('1 queries and local estimates are free for the plan as well: they count no call and work after the plan is used up', async () => {
    for (const planId of ['roomy', 'no-five-hours']) {
      const account = await createSubscriber(gateway, planId);
      const asked = gateway.provider.requests.length;
      for (const address of freeAddresses) {
        const response = await askAddress(gateway.url, address, account.key);
        assert.equal(response.status, 200, `${labelOf(address)}: ${response.text}`);
      }
      assert.equal(gateway.provider.requests.length, asked);
      await assertCounted(gateway, account, { calls: 0, tokens: 0 });
      assert.equal(await account.lastCall(), undefined);
    }
  });

  it('1 of the inconsistencies: the legacy /coding/ addresses are Coding Plan in full, and never deduct balance', async () => {
    const legacy = addresses.filter(({ path }) => path.includes('/coding/'));
    const without = await gateway.createAccount();
    for (const address of legacy) {
      const response = await askAddress(gateway.url, address, without.key);
      assert.notEqual(response.headers['x-error-code'], 'not_found', labelOf(address));
      assert.notEqual(response.status, 405);
    }
    await assertSpent(without, 0n);
    const subscriber = await createSubscriber(gateway, 'roomy');
    for (const address of legacy) {
      const response = await askAddress(gateway.url, address, subscriber.key);
      assert.equal(response.status, 200, `${labelOf(address)}: ${response.text}`);
    }
    await assertSpent(subscriber, 0n);
  });

  it('1 of the inconsistencies: /v1/embeddings and /v1/rerank are public', async () => {
    await assertServed('/v1/embeddings');
    await assertServed('/v1/rerank');
  });

  it('1 of the inconsistencies: POST /altproto/v1/messages is Coding Plan, as its page says', async () => {
    const account = await gateway.createAccount();
    const response = await askAddress(gateway.url, find('/altproto/v1/messages'), account.key);
    assertRefusal(response, 'messages', noPlan(402));
    await assertSpent(account, 0n);
    await subscribe(gateway, account, 'roomy');
    assert.equal((await askAddress(gateway.url, find('/altproto/v1/messages'), account.key)).status, 200);
    await assertCounted(gateway, account, { calls: 1, tokens: workOf(find('/altproto/v1/messages')).tokens! });
  });

  it('1 an unknown address gets a response without a key and without a provider call', async () => {
    const asked = gateway.provider.requests.length;
    assert.equal((await askFor(gateway.url, '/v1/videos')).status, 404);
    assert.equal(gateway.provider.requests.length, asked);
  });
});
