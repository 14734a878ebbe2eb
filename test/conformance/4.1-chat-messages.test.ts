import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  chatResponse,
  chatStream,
  event,
  json,
  liveResponse,
  messagesResponse,
  messagesStream,
  type ReceivedRequest,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import {
  assertError,
  assertUntouched,
  chatAddress,
  codingAddresses,
  type DeadEnds,
  messagesAddress,
  requestTo,
  responseWell,
  send,
  startDeadEnds,
} from './calls.ts';
import { codingErrorPlans, codingErrorRules } from './coding-errors.ts';
import { generalErrorRules, NOON } from './general-errors.ts';
import { assertCounted, createSubscriber, plansText, snapshotOf } from './plans.ts';
import { notTestable } from './rule.ts';

/** JSON that changes if it is parsed and serialised. */
const ODD_MEMBERS =
  ' "big" : 9223372036854775807 ,\r\n\t"precise":0.10, "tiny": -1.50E-07,"twice":1,"twice":[ ],"escapes":"\\u0041\\/ 北京 😀" ';

/** The Coding addresses of this section; other sections test those of responses. */
const codingCalls = codingAddresses.filter(({ upstreamPath }) => !upstreamPath.includes('responses'));

describe('4.1 chat completions and messages creation', () => {
  let deadEnds: DeadEnds;
  /** A provider of the messages protocol without a configured vendor. */
  let plain: ScriptedProvider;
  let gateway: TestGateway;
  let account: TestAccount;
  let spentNano = 0n;

  const clock = createTestClock(NOON);
  before(async () => {
    deadEnds = await startDeadEnds();
    plain = await startProvider();
    gateway = await startGateway({
      clock,
      providers: `${deadEnds.options.providers}
  plain: { protocol: messages, baseUrl: "${plain.url}", apiKey: plain-secret-key-1 }`,
      models: `${deadEnds.options.models}
  test-plain:
    operations: [messages]
    price: { input: "3", output: "13" }
    routes: [{ provider: plain, model: x }]`,
      plans: plansText(codingErrorPlans),
    });
    account = await gateway.createAccount();
  });
  after(async () => {
    await gateway?.stop();
    await plain?.close();
    await deadEnds?.silent.close();
  });

  /** Asserts the charges since the last call of this function. */
  async function assertPaid(costNano: bigint): Promise<void> {
    spentNano += costNano;
    await assertSpent(account, spentNano);
  }

  const lastRequest = (provider: ScriptedProvider = gateway.provider): ReceivedRequest => provider.requests.at(-1)!;

  for (const address of [chatAddress, messagesAddress]) {
    const { path, family } = address;
    const usage =
      family === 'chat' ? '"prompt_tokens":11,"completion_tokens":7' : '"input_tokens":11,"output_tokens":7';
    const paid = costNano({ input: 11, output: 7 });

    it(`4.1 ${path} passes the request body to the provider byte for byte, but for the name of the model`, async () => {
      const body = (model: string) => ` {${ODD_MEMBERS},"model" : "${model}","max_tokens":20,\n"messages": [ {} ]}\r\n`;
      responseWell(gateway, address);
      const response = await call(gateway.url + path, account.key, body(address.model));
      assert.equal(response.status, 200, response.text);
      assert.equal(lastRequest().path, address.upstreamPath);
      assert.equal(lastRequest().body.toString(), body(address.upstreamModel));
      await assertPaid(address.costNano);
    });

    it(`4.1 ${path} passes the success body to the client byte for byte, with status 200 and as JSON`, async () => {
      const body = `\n{ ${ODD_MEMBERS}, "usage":{${usage}, "new_fact":1.0} , "id":null}  `;
      gateway.provider.respond = json(200, body);
      const response = await send(gateway, account, address);
      assert.equal(response.status, 200);
      assert.equal(response.headers['content-type'], 'application/json');
      assert.equal(response.text, body);
      await assertPaid(paid);
    });

    it(`4.1 ${path} treats a missing "stream", false and null as non-streaming`, async () => {
      for (const stream of [undefined, false, null]) {
        responseWell(gateway, address);
        const response = await send(gateway, account, address, { stream });
        assert.equal(response.status, 200);
        assert.deepEqual(response.json, address.response);
        await assertPaid(address.costNano);
      }
    });

    it(`4.1 ${path} with "stream" passes the provider's event stream byte for byte, whatever its events are`, async () => {
      const events =
        family === 'chat'
          ? [
              ': a comment\r\n\r\n',
              ...chatStream(['Zür', 'ich 北京 😀'], null).slice(0, -1),
              'data: {"choices":[],"novelty":{"a":1.0}}\r\n\r\n',
              `data: {"choices": [ ], "usage":{${usage}}}\n\n`,
              'data: [DONE]\n\n',
            ]
          : [
              ': a comment\r\n\r\n',
              ...messagesStream(['Zür', 'ich 北京 😀'], { input_tokens: 11, output_tokens: 7 }).slice(0, -1),
              'event: novelty\r\ndata: { "type":"novelty", "a":1.0 }\r\n\r\n',
              event('message_stop'),
            ];
      const bytes = Buffer.from(events.join(''));
      // Cut in the middle of characters and of line ends.
      gateway.provider.respond = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
        for (let at = 0; at < bytes.length; at += 7) response.write(bytes.subarray(at, at + 7));
        response.end();
      };
      const options = family === 'chat' ? { stream_options: { include_usage: true } } : {};
      const response = await send(gateway, account, address, { stream: true, ...options });
      assert.equal(response.status, 200);
      assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(response.text, bytes.toString());
      await assertPaid(paid);
    });

    it(`4.1 ${path} gives a provider that refuses a stream its status, and not with a stream`, async () => {
      gateway.provider.respond = json(429, { error: { message: 'Slow down.', type: 'rate_limit_error' } });
      const response = await send(gateway, account, address, { stream: true });
      const expected = { status: 429, code: 'upstream_error', type: 'rate_limit_error', message: 'Slow down.' };
      assertError(response, family, expected);
      await assertPaid(0n);
    });

    for (const { rule, show } of generalErrorRules) {
      it(`4.1 ${path} responds with ${rule}`, () => show(gateway, address, deadEnds.silent));
    }
  }

  it('4.1 a chat stream whose client did not request usage has none, and is still charged by it', async () => {
    const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
    gateway.provider.respond = sse(chatStream(['Hello'], usage));
    const response = await send(gateway, account, chatAddress, { stream: true });
    assert.equal(response.text, chatStream(['Hello'], null).join(''));
    assert.deepEqual(JSON.parse(lastRequest().body.toString()).stream_options, { include_usage: true });
    await assertPaid(costNano({ input: 11, output: 7 }));
  });

  it('4.1 messages take the header altproto-version, whatever its value, and the provider gets it', async () => {
    for (const version of ['2023-06-01', '2026-10-21', 'next']) {
      responseWell(gateway, messagesAddress);
      const response = await send(gateway, account, messagesAddress, {}, { 'altproto-version': version });
      assert.equal(response.status, 200);
      assert.equal(lastRequest().headers['anthropic-version'], version);
      assert.equal(lastRequest().headers['altproto-version'], undefined);
      await assertPaid(messagesAddress.costNano);
    }
  });

  it('4.1 messages without a version use 2023-06-01', async () => {
    responseWell(gateway, messagesAddress);
    assert.equal((await send(gateway, account, messagesAddress)).status, 200);
    assert.equal(lastRequest().headers['anthropic-version'], '2023-06-01');
    await assertPaid(messagesAddress.costNano);
  });

  it('4.1 a version and betas under the name of the vendor arrive as well as those under the name of the gateway', async () => {
    responseWell(gateway, messagesAddress);
    const headers = { 'anthropic-version': '2026-10-21', 'anthropic-beta': 'one,two' };
    assert.equal((await send(gateway, account, messagesAddress, {}, headers)).status, 200);
    assert.equal(lastRequest().headers['anthropic-version'], '2026-10-21');
    assert.equal(lastRequest().headers['anthropic-beta'], 'one,two');
    await assertPaid(messagesAddress.costNano);
  });

  it('4.1 a provider whose vendor is not named gets the version under the name of the gateway', async () => {
    plain.respond = json(200, messagesAddress.response);
    for (const [headers, version] of [
      [{ 'altproto-version': '2026-10-21' }, '2026-10-21'],
      [{}, '2023-06-01'],
    ] as const) {
      const response = await send(gateway, account, messagesAddress, { model: 'test-plain' }, headers);
      assert.equal(response.status, 200, response.text);
      assert.equal(lastRequest(plain).headers['altproto-version'], version);
      await assertPaid(messagesAddress.costNano);
    }
  });

  it('4.1 a version on the chat address is nothing to chat completions', async () => {
    responseWell(gateway, chatAddress);
    assert.equal((await send(gateway, account, chatAddress, {}, { 'altproto-version': '2026-10-21' })).status, 200);
    assert.equal(lastRequest().headers['altproto-version'], undefined);
    await assertPaid(chatAddress.costNano);
  });

  it('4.1 messages take the key as x-api-key too, which stays here as every credential does', async () => {
    responseWell(gateway, messagesAddress);
    const response = await fetch(gateway.url + messagesAddress.path, {
      method: 'POST',
      headers: { 'x-api-key': account.key, 'content-type': 'application/json' },
      body: JSON.stringify(requestTo(messagesAddress)),
    });
    assert.equal(response.status, 200);
    await response.arrayBuffer();
    assert.doesNotMatch(JSON.stringify(lastRequest().headers), new RegExp(account.key));
    assert.equal(lastRequest().headers['x-api-key'], 'provider-secret-key-2');
    await assertPaid(messagesAddress.costNano);
  });

  it('4.1 a Coding address responds with 402 insufficient_package without a plan, and never draws on the balance', async () => {
    const rich = await gateway.createAccount();
    for (const address of codingCalls) {
      for (const stream of [false, true]) {
        await assertUntouched(gateway, rich, async () => {
          assertError(await send(gateway, rich, address, { stream }), address.family, {
            status: 402,
            code: 'insufficient_package',
            type: address.family === 'chat' ? 'insufficient_quota' : 'billing_error',
            retry: 'false',
          });
        });
      }
    }
  });

  it('4.1 a Coding address responds with 401 invalid_api_key, 404 model_not_found and 400 invalid_request_error as others do', async () => {
    const other = await gateway.createAccount();
    for (const address of codingCalls) {
      const { family } = address;
      await assertUntouched(gateway, other, async () => {
        const refused = { type: 'authentication_error', retry: 'false' } as const;
        const badKey = await send(gateway, { key: 'no-key' }, address);
        assertError(badKey, family, { status: 401, code: 'invalid_api_key', ...refused });
        assertError(await send(gateway, other, address, { model: 'no-such-model' }), family, {
          status: 404,
          code: 'model_not_found',
          type: family === 'chat' ? 'invalid_request_error' : 'not_found_error',
          param: 'model',
          retry: 'false',
        });
        assertError(await send(gateway, other, address, { messages: 'Hello' }), family, {
          status: 400,
          code: 'invalid_request_error',
          type: 'invalid_request_error',
          param: 'messages',
          retry: 'false',
        });
      });
    }
  });

  for (const address of codingCalls) {
    const { path, family } = address;
    const responseLive: Respond =
      family === 'chat' ? chatResponse() : messagesResponse({ input_tokens: 12, output_tokens: 8 });

    it(`4.1 ${path} with an active plan relays a non-streaming response and counts the call and its tokens against the plan`, async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      const body = (model: string) => ` {${ODD_MEMBERS},"model" : "${model}","max_tokens":20,\n"messages": [ {} ]}\r\n`;
      const text = `\n${JSON.stringify(address.response, null, 2)} `;
      gateway.provider.respond = json(200, text);
      const response = await call(gateway.url + path, subscriber.key, body(address.model));
      assert.equal(response.status, 200, response.text);
      assert.equal(response.headers['content-type'], 'application/json');
      assert.equal(response.text, text);
      assert.equal(lastRequest().path, address.upstreamPath);
      assert.equal(lastRequest().body.toString(), body(address.upstreamModel));
      await assertCounted(gateway, subscriber, { calls: 1, tokens: address.tokens! });
    });

    it(`4.1 ${path} with an active plan streams if it is asked to, and counts the call and its tokens against the plan`, async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      gateway.provider.respond = responseLive;
      const response = await send(gateway, subscriber, address, { stream: true });
      assert.equal(response.status, 200);
      assert.match(response.headers['content-type'] ?? '', /^text\/event-stream\b/);
      const words = ['Hello', ' there'];
      const events =
        family === 'chat' ? chatStream(words, null) : messagesStream(words, { input_tokens: 12, output_tokens: 8 });
      assert.equal(response.text, events.join(''));
      await assertCounted(gateway, subscriber, { calls: 1, tokens: address.tokens! });
    });

    it(`4.1 ${path} counts a stream that the provider breaks off after it has begun, with the observed tokens`, async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      const events =
        family === 'chat'
          ? chatStream(['Hello'], null)
          : messagesStream(['Hello'], { input_tokens: 12, output_tokens: 8 });
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const started = startCall(gateway.url + path, subscriber.key, requestTo(address, { stream: true }));
      await live.opened;
      await live.write(events.slice(0, family === 'chat' ? 2 : 4).join(''));
      const response = await started.response;
      await response.until('Hello');
      live.reset();
      await response.ended();
      const { fiveHour, weekly, pkg } = await snapshotOf(gateway, subscriber);
      assert.deepEqual([fiveHour.used, weekly.used], [1, 1]);
      const { status, chargeYuan, usage } = await subscriber.lastCall();
      assert.deepEqual([status, chargeYuan, usage.source], ['aborted', null, 'estimated']);
      assert.equal(pkg.usedTokens, usage.inputTokens + usage.outputTokens);
      await assertSpent(subscriber, 0n);
    });

    it(`4.1 ${path} passes an error of the provider through in its own protocol, and does not count the call`, async () => {
      const subscriber = await createSubscriber(gateway, 'roomy');
      for (const stream of [false, true]) {
        gateway.provider.respond = json(429, { error: { message: 'Slow down.', type: 'rate_limit_error' } });
        assertError(await send(gateway, subscriber, address, { stream }), family, {
          status: 429,
          code: 'upstream_error',
          type: 'rate_limit_error',
          message: 'Slow down.',
        });
      }
      await assertCounted(gateway, subscriber, { calls: 0, tokens: 0 });
    });

    for (const { code, rule, show } of codingErrorRules) {
      it(`4.1 ${path} responds with ${code} if ${rule}`, () =>
        show({ gateway, clock, silent: deadEnds.silent }, address));
    }
  }

  it('4.1 the messages addresses of the Coding Plan take altproto-version too, and treat none as 2023-06-01', async () => {
    const subscriber = await createSubscriber(gateway, 'roomy');
    const ofMessages = codingCalls.filter(({ family }) => family === 'messages');
    for (const address of ofMessages) {
      for (const [headers, version] of [
        [{ 'altproto-version': '2026-10-21' }, '2026-10-21'],
        [{}, '2023-06-01'],
      ] as const) {
        responseWell(gateway, address);
        assert.equal((await send(gateway, subscriber, address, {}, headers)).status, 200);
        assert.equal(lastRequest().headers['anthropic-version'], version);
      }
    }
    const calls = 2 * ofMessages.length;
    await assertCounted(gateway, subscriber, { calls, tokens: calls * messagesAddress.tokens! });
  });

  notTestable(
    '4.1 request fields other than those that are read here',
    'the contract does not show them; they pass through to the provider byte for byte',
  );
});
