import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { call, type StartedCall, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { liveResponse } from '../support/provider.ts';
import { type RawResponse, sendRaw } from '../support/raw.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { assertWait } from '../support/waits.ts';
import {
  assertError,
  balanceAddresses,
  type CallAddress,
  callAddresses,
  chatAddress,
  codingAddresses,
  messagesAddress,
  requestTo,
  responseWell,
  send,
} from './calls.ts';
import { NOON } from './general-errors.ts';
import { assertCounted, createSubscriber, padded, plansText, subscribe } from './plans.ts';

const BODY_BYTES_MAX = 64 * 1024;
const CODING_BYTES_MAX = 16 * 1024;
/** The largest request size of any plan. */
const fits = { inputByteLimit: `${CODING_BYTES_MAX / 1024}KiB` };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const compaction = callAddresses.find(({ path }) => path === '/v1/responses/compact')!;

/** Addresses that estimate tokens, with a valid request. */
const estimates = [
  { path: '/v1/responses/input_tokens', family: 'chat', isCoding: false },
  { path: '/v1/messages/count_tokens', family: 'messages', isCoding: false },
  { path: '/v1/coding/responses/input_tokens', family: 'chat', isCoding: true },
  { path: '/altproto/v1/messages/count_tokens', family: 'messages', isCoding: true },
  { path: '/altproto/coding/v1/messages/count_tokens', family: 'messages', isCoding: true },
  { path: '/v1/coding/altproto/messages/count_tokens', family: 'messages', isCoding: true },
] as const;
const estimateFields = { model: 'test-responses', input: 'Hello', messages: [{ role: 'user', content: 'Hello' }] };

describe('8 limits', () => {
  const clock = createTestClock(NOON);
  let gateway: TestGateway;
  /** A configuration without limits. */
  let roomy: TestGateway;
  let account: TestAccount;
  let spentNano = 0n;
  before(async () => {
    gateway = await startGateway({
      clock,
      server: `bodyLimit: ${BODY_BYTES_MAX / 1024}KiB`,
      billing: 'dailySpendCapYuan: "0.0003"',
      models: `
  test-small:
    contextLength: "100"
    maxOutputTokens: "50"
    operations: [chat, messages]
    price: { input: "3", output: "13" }
    routes: [{ provider: chatty, model: x }, { provider: messy, model: x }]`,
      plans: plansText({
        'two-in-five-hours': { ...fits, fiveHourCalls: 2 },
        'two-a-week': { ...fits, weeklyCalls: 2 },
        'two-at-once': { ...fits, concurrency: 2 },
        'daily-tokens': { ...fits, quotaTokens: 20, periodDays: 1 },
        'small-input': { inputByteLimit: '2KiB' },
        'large-input': { ...fits },
      }),
    });
    roomy = await startGateway({ clock });
    account = await gateway.createAccount({ dailySpendCapYuan: '1000' });
  });
  after(async () => {
    await gateway?.stop();
    await roomy?.stop();
  });

  async function assertPaid(costNano: bigint): Promise<void> {
    spentNano += costNano;
    await assertSpent(account, spentNano);
  }

  const post = (
    path: string,
    body: Buffer,
    more: { chunkBytes?: number; encoding?: string } = {},
  ): Promise<RawResponse> =>
    sendRaw(gateway.url, {
      path,
      headers: [
        ['authorization', `Bearer ${account.key}`],
        ['content-type', 'application/json'],
        ...(more.encoding === undefined ? [] : [['content-encoding', more.encoding] as const]),
      ],
      body,
      ...(more.chunkBytes === undefined ? {} : { chunkBytes: more.chunkBytes }),
    });

  const tooLarge = (family: CallAddress['family']) =>
    ({
      status: 413,
      code: 'request_too_large',
      type: family === 'chat' ? 'invalid_request_error' : 'request_too_large',
      retry: 'false',
    }) as const;

  it('8 a prompt_cache_key of 64 characters passes compact, one of 65 is 400 invalid_request_error', async () => {
    responseWell(gateway, compaction);
    assert.equal((await send(gateway, account, compaction, { prompt_cache_key: '😀'.repeat(64) })).status, 200);
    await assertPaid(compaction.costNano);
    for (const prompt_cache_key of ['k'.repeat(65), '😀'.repeat(65)]) {
      assertError(await send(gateway, account, compaction, { prompt_cache_key }), 'chat', {
        status: 400,
        code: 'invalid_request_error',
        type: 'invalid_request_error',
        param: 'prompt_cache_key',
        retry: 'false',
      });
    }
    await assertPaid(0n);
  });

  it('8 the public catalog may be cached for at most 60 seconds', async () => {
    const response = await fetch(`${gateway.url}/v1/public/models`);
    const maxAge = /(?:^|[ ,])max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '')?.[1];
    assert.ok(maxAge !== undefined && Number(maxAge) <= 60, String(response.headers.get('cache-control')));
    await response.arrayBuffer();
  });

  it('8 a token estimate of plain text is within about 10 % of the tokens', async () => {
    const text =
      'The gate lets through, measures, and charges what was really used; nobody pays for less or more. '.repeat(200);
    const tokens = countTokens(text);
    const estimate = async (path: string, body: object): Promise<number> =>
      (await call(roomy.url + path, (await roomy.createAccount()).key, body)).json.input_tokens;
    const responses = await estimate('/v1/responses/input_tokens', { model: 'test-responses', input: text });
    const messages = [{ role: 'user', content: text }];
    const counted = await estimate('/v1/messages/count_tokens', { model: 'test-messages', messages });
    for (const estimated of [responses, counted]) {
      const ratio = estimated / tokens;
      assert.ok(ratio >= 0.9 && ratio <= 1.11, `${estimated} estimated for ${tokens}`);
    }
  });

  it('8 the limit of JSON bodies holds at every address: a body of just that size passes, one byte more is 413', async () => {
    for (const address of balanceAddresses) {
      responseWell(gateway, address);
      const fits = await post(address.path, padded(requestTo(address), BODY_BYTES_MAX));
      assert.equal(fits.status, 200, fits.body.toString());
      await assertPaid(address.costNano);
    }
    const calls = gateway.provider.requests.length;
    for (const address of callAddresses) {
      const body = padded(requestTo(address), BODY_BYTES_MAX + 1);
      assertError(await post(address.path, body), address.family, tooLarge(address.family));
    }
    for (const { path, family } of estimates.filter(({ isCoding }) => !isCoding)) {
      assert.equal((await post(path, padded(estimateFields, BODY_BYTES_MAX))).status, 200);
      assertError(await post(path, padded(estimateFields, BODY_BYTES_MAX + 1)), family, tooLarge(family));
    }
    assert.equal(gateway.provider.requests.length, calls);
    await assertPaid(0n);
  });

  it('8 the limit of JSON bodies applies without a Content-Length too, and to decompressed bodies', async () => {
    const { path, family } = chatAddress;
    const fits = padded(requestTo(chatAddress), BODY_BYTES_MAX);
    const over = padded(requestTo(chatAddress), BODY_BYTES_MAX + 1);
    responseWell(gateway, chatAddress);
    for (const more of [{ chunkBytes: 5_000 }, { encoding: 'gzip' }]) {
      const encoded = (body: Buffer) => ('encoding' in more ? gzipSync(body) : body);
      assert.equal((await post(path, encoded(fits), more)).status, 200);
      await assertPaid(chatAddress.costNano);
      assertError(await post(path, encoded(over), more), family, tooLarge(family));
      await assertPaid(0n);
    }
  });

  it('8 the limit of JSON bodies is 64 MiB if none is configured', { skip: inFullRunsOnly }, async () => {
    const rich = await roomy.createAccount();
    responseWell(roomy, chatAddress);
    const fits = await call(roomy.url + chatAddress.path, rich.key, padded(requestTo(chatAddress), 64 * 2 ** 20));
    assert.equal(fits.status, 200, fits.text);
    assert.equal(
      roomy.provider.requests.at(-1)!.body.length,
      64 * 2 ** 20 + 'upstream-chat'.length - 'test-chat'.length,
    );
    await assertSpent(rich, chatAddress.costNano);
    const refused = await sendRaw(roomy.url, {
      path: chatAddress.path,
      headers: [
        ['authorization', `Bearer ${rich.key}`],
        ['content-type', 'application/json'],
        ['content-length', String(64 * 2 ** 20 + 1)],
      ],
      body: '',
    });
    assertError(refused, 'chat', tooLarge('chat'));
    await assertSpent(rich, chatAddress.costNano);
  });

  it('8 the Coding input byte limit applies to the Coding token estimates: the limit of the largest plan; one byte more is 413', async () => {
    for (const { path, family } of estimates.filter(({ isCoding }) => isCoding)) {
      assert.equal((await post(path, padded(estimateFields, CODING_BYTES_MAX))).status, 200, path);
      assertError(await post(path, padded(estimateFields, CODING_BYTES_MAX + 1)), family, {
        ...tooLarge(family),
        code: 'package_input_too_large',
      });
    }
    await assertPaid(0n);
  });

  it('8 the daily cap is the configured one, unless the account has one of its own', async () => {
    responseWell(gateway, chatAddress);
    // One call costs 0.000124 yuan, so the third one reaches 0.0003.
    const usual = await gateway.createAccount();
    for (const status of [200, 200, 200, 429]) assert.equal((await send(gateway, usual, chatAddress)).status, status);
    const frugal = await gateway.createAccount({ dailySpendCapYuan: '0.0001' });
    for (const status of [200, 429]) assert.equal((await send(gateway, frugal, chatAddress)).status, status);
    for (let calls = 0; calls < 4; calls++) {
      assert.equal((await send(gateway, account, chatAddress)).status, 200);
      await assertPaid(chatAddress.costNano);
    }
    await assertSpent(usual, 3n * chatAddress.costNano);
    await assertSpent(frugal, chatAddress.costNano);
  });

  it('8 the daily cap holds for a day of the billing time zone', async () => {
    const capped = await gateway.createAccount({ dailySpendCapYuan: '0.0001' });
    responseWell(gateway, chatAddress);
    try {
      for (const status of [200, 429]) assert.equal((await send(gateway, capped, chatAddress)).status, status);
      clock.set('2026-11-20T15:59:59.999Z');
      const refused = await send(gateway, capped, chatAddress);
      assert.equal(refused.status, 429);
      assert.equal(refused.headers['retry-after'], '1');
      clock.set('2026-11-20T16:00:00Z');
      assert.equal((await send(gateway, capped, chatAddress)).status, 200);
    } finally {
      clock.set(NOON);
    }
    await assertSpent(capped, 2n * chatAddress.costNano);
  });

  it('8 the service itself limits no rate of requests: two hundred calls at once are all responded', async () => {
    const eager = await roomy.createAccount();
    responseWell(roomy, chatAddress);
    const responses = await Promise.all(Array.from({ length: 200 }, () => send(roomy, eager, chatAddress)));
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    await assertSpent(eager, 200n * chatAddress.costNano);
  });

  it('8 the limits of a model’s context and output are its provider’s to enforce: longer requests pass unchanged', async () => {
    for (const address of [chatAddress, messagesAddress]) {
      responseWell(gateway, address);
      const fields = { max_tokens: 1_000_000, messages: [{ role: 'user', content: 'long '.repeat(1_000) }] };
      const response = await send(gateway, account, address, { model: 'test-small', ...fields });
      assert.equal(response.status, 200, response.text);
      assert.deepEqual(JSON.parse(gateway.provider.requests.at(-1)!.body.toString()), { model: 'x', ...fields });
      await assertPaid(address.costNano);
    }
  });

  describe('Coding windows', () => {
    const chat = codingAddresses.find(({ upstreamPath }) => upstreamPath === '/v1/chat/completions')!;
    const { tokens } = chat;

    /** Asserts the results of consecutive calls: 200, or the code of a refusal with the seconds to wait. */
    async function assertResponses(subscriber: TestAccount, ...expected: readonly (200 | readonly [string, number])[]) {
      responseWell(gateway, chat);
      for (const each of expected) {
        const response = await send(gateway, subscriber, chat);
        if (each === 200) {
          assert.equal(response.status, 200);
          continue;
        }
        assert.equal(response.headers['x-error-code'], each[0]);
        assertWait(response, each[1]);
      }
    }

    afterEach(() => clock.set(NOON));

    it('8 the five-hour window is rolling: a call counts for five hours and not a millisecond more', async () => {
      const subscriber = await createSubscriber(gateway, 'two-in-five-hours');
      await assertResponses(subscriber, 200);
      clock.advance(HOUR_MS);
      await assertResponses(subscriber, 200, ['package_5h_quota_exhausted', 4 * 3_600]);
      clock.advance(4 * HOUR_MS - 1);
      await assertResponses(subscriber, ['package_5h_quota_exhausted', 1]);
      clock.advance(1);
      await assertResponses(subscriber, 200, ['package_5h_quota_exhausted', 3_600]);
      clock.advance(HOUR_MS);
      await assertResponses(subscriber, 200, ['package_5h_quota_exhausted', 4 * 3_600]);
      await assertSpent(subscriber, 0n);
    });

    it('8 the weekly window rolls every seven days from the activation, not from the first call and not by the calendar', async () => {
      const subscriber = await createSubscriber(gateway, 'two-a-week');
      clock.advance(6 * DAY_MS);
      await assertResponses(subscriber, 200, 200, ['package_weekly_quota_exhausted', 24 * 3_600]);
      clock.advance(DAY_MS - 1);
      await assertResponses(subscriber, ['package_weekly_quota_exhausted', 1]);
      clock.advance(1);
      await assertResponses(subscriber, 200, 200, ['package_weekly_quota_exhausted', 7 * 24 * 3_600]);
      await assertSpent(subscriber, 0n);
    });

    it('8 the concurrency cap is the plan’s: that many calls at once, whatever keys and addresses they come by', async () => {
      const subscriber = await createSubscriber(gateway, 'two-at-once');
      const { body: second } = await gateway.admin('POST', `/accounts/${subscriber.id}/keys`, { name: 'second' });
      const messages = codingAddresses.find(({ path }) => path === '/altproto/v1/messages')!;
      const live = [
        liveResponse({ 'content-type': 'application/json' }),
        liveResponse({ 'content-type': 'application/json' }),
      ];
      const started: StartedCall[] = [];
      for (const [index, [address, key]] of (
        [
          [chat, subscriber.key],
          [messages, second.key],
        ] as const
      ).entries()) {
        gateway.provider.respond = live[index]!.respond;
        started.push(startCall(gateway.url + address.path, key, requestTo(address)));
        await live[index]!.opened;
      }
      const calls = gateway.provider.requests.length;
      for (const address of codingAddresses) {
        for (const key of [subscriber.key, second.key]) {
          const refused = await send(gateway, { key }, address);
          assert.equal(refused.headers['x-error-code'], 'package_concurrency_limited');
        }
      }
      assert.equal(gateway.provider.requests.length, calls);
      for (const [index, address] of [chat, messages].entries()) {
        await live[index]!.write(JSON.stringify(address.response));
        live[index]!.end();
        assert.ok(await (await started[index]!.response).ended());
      }
      await assertResponses(subscriber, 200, 200, 200);
      await assertCounted(gateway, subscriber, { calls: 5, tokens: 4 * tokens! + messages.tokens! });
    });

    it('8 the token quota is of the plan’s period: once used up, it is reset when the next period begins', async () => {
      const subscriber = await gateway.createAccount();
      const id = await subscribe(gateway, subscriber, 'daily-tokens');
      assert.equal((await gateway.admin('POST', `/subscriptions/${id}/renewals`)).status, 201);
      // Each call uses 18 of 20 tokens: the last one may exceed the limit, the next is refused.
      await assertResponses(subscriber, 200, 200, ['insufficient_package', 24 * 3_600]);
      clock.advance(DAY_MS - 1);
      await assertResponses(subscriber, ['insufficient_package', 1]);
      clock.advance(1);
      await assertResponses(subscriber, 200, 200, ['insufficient_package', 24 * 3_600]);
      await assertSpent(subscriber, 0n);
    });
  });

  it('8 the Coding input byte limit applies to calls: the limit of the account’s own plan; one byte more is 413', async () => {
    const small = await createSubscriber(gateway, 'small-input');
    const large = await createSubscriber(gateway, 'large-input');
    let calls = 0;
    for (const address of codingAddresses) {
      responseWell(gateway, address);
      const postAs = (payer: TestAccount, body: Buffer) => call(gateway.url + address.path, payer.key, body);
      const limits = [
        [small, 2 * 1024],
        [large, CODING_BYTES_MAX],
      ] as const;
      for (const [payer, bytesMax] of limits) {
        assert.equal((await postAs(payer, padded(requestTo(address), bytesMax))).status, 200, address.path);
        const asked = gateway.provider.requests.length;
        const refused = await postAs(payer, padded(requestTo(address), bytesMax + 1));
        assertError(refused, address.family, { ...tooLarge(address.family), code: 'package_input_too_large' });
        assert.equal(gateway.provider.requests.length, asked);
      }
      calls += 1;
    }
    const tokens = codingAddresses.reduce((sum, address) => sum + address.tokens!, 0);
    for (const payer of [small, large]) await assertCounted(gateway, payer, { calls, tokens });
  });

  it('8 the Coding input byte limit applies to the decompressed body of a call', async () => {
    const subscriber = await createSubscriber(gateway, 'small-input');
    const [address] = codingAddresses;
    responseWell(gateway, address!);
    const headers = { 'content-encoding': 'gzip' };
    for (const [sizeBytes, status] of [
      [2 * 1024, 200],
      [2 * 1024 + 1, 413],
    ] as const) {
      const body = gzipSync(padded(requestTo(address!), sizeBytes));
      assert.equal((await call(gateway.url + address!.path, subscriber.key, body, { headers })).status, status);
    }
    await assertCounted(gateway, subscriber, { calls: 1, tokens: address!.tokens! });
  });

  it('8 a body over the platform’s limit is 413 request_too_large at Coding calls too, with a plan or without', async () => {
    const subscriber = await createSubscriber(gateway, 'large-input');
    const asked = gateway.provider.requests.length;
    for (const address of codingAddresses) {
      const body = padded(requestTo(address), BODY_BYTES_MAX + 1);
      const refused = await call(gateway.url + address.path, subscriber.key, body);
      assertError(refused, address.family, tooLarge(address.family));
    }
    assert.equal(gateway.provider.requests.length, asked);
    await assertCounted(gateway, subscriber, { calls: 0, tokens: 0 });
  });
});
