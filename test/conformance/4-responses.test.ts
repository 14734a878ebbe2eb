import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type ClientResponse, startCall } from '../support/client.ts';
import { estimatedInput } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import {
  event,
  json,
  liveResponse,
  type Respond,
  type ScriptedProvider,
  sse,
  startProvider,
} from '../support/provider.ts';
import { sendRaw } from '../support/raw.ts';
import {
  Address,
  assertRefused,
  assertWithheld,
  badKey,
  compactionItem,
  invalid,
  RESPONSES_COST,
  responseObject,
  responsesResponse,
  responsesStream,
  responsesUsage,
} from '../support/responses.ts';
import { assertCounted, createSubscriber, plansText } from './plans.ts';

const PATH = '/v1/responses';
const MODEL = 'test-responses';
const CODING = ['/v1/coding/responses'];

const models = `
  test-shared:
    affinity: off
    operations: [responses]
    price: { input: "3", cachedInput: "0.7", cacheWrite: "5", cacheWrite1h: "11", output: "13" }
    routes: [{ provider: chatty, model: shared-first }, { provider: second, model: shared-second }]
`;

/** The contract specifies only the address. Its formats are the vendor's current ones. */
describe('4 POST /v1/responses', () => {
  let gateway: TestGateway;
  let second: ScriptedProvider;
  let randomSource = 0;
  let responses: Address;
  /** Begins with ¥100 in every test. */
  let account: TestAccount;

  before(async () => {
    second = await startProvider();
    gateway = await startGateway({
      randomSource: () => randomSource,
      providers: `  second: { protocol: chat, baseUrl: ${second.url}/v1, apiKey: provider-secret-key-3 }`,
      models,
      plans: plansText({ roomy: {} }),
    });
    responses = new Address(gateway, PATH);
  });
  beforeEach(async () => {
    account = await gateway.createAccount();
    gateway.provider.respond = responsesResponse();
  });
  afterEach(() => gateway.observed.statement('settlement.end').release());
  after(async () => {
    await gateway.stop();
    await second.close();
  });

  const send = (respond: Respond, rest: object = {}): Promise<ClientResponse> => {
    gateway.provider.respond = respond;
    return responses.send(account, { model: MODEL, input: 'Hello', ...rest });
  };
  const stream = (respond: Respond): Promise<ClientResponse> => send(respond, { stream: true });
  const lastSent = () => gateway.provider.requests.at(-1)!;

  describe('requests', () => {
    it('4 a body reaches the provider byte for byte but for the model', async () => {
      const body = `\r\n{ "stream":null,"input" :[{"content":"h\\u00e9\\/"}], "x":1.0e2,"model"\t: "test-responses-latest" ,"x":[ ],"metadata":{"model":"${MODEL}"}}\n`;
      await responses.takes(account, Buffer.from(body));
      const { path, headers, body: sent } = lastSent();
      assert.equal(sent.toString(), body.replace('test-responses-latest', 'upstream-responses'));
      assert.equal(path, '/v1/responses');
      assert.equal(headers.authorization, 'Bearer provider-secret-key-1');
    });

    it('4 the request of a stream is forwarded byte for byte, because its usage needs no option', async () => {
      const body = `{"model":"${MODEL}","input":"x","stream":true,"stream_options":{"include_obfuscation":false}}`;
      await responses.takes(account, body);
      assert.equal(lastSent().body.toString(), body.replace(MODEL, 'upstream-responses'));
    });

    it('4 fields of the vendor and unknown fields pass', () =>
      responses.takes(account, {
        model: MODEL,
        input: [{ role: 'user', content: [{ type: 'input_text', text: 'x' }] }],
        instructions: 'Be brief.',
        store: false,
        include: ['reasoning.encrypted_content'],
        reasoning: { effort: 'low' },
        text: { verbosity: 'low' },
        tools: [{ type: 'function', name: 'f', parameters: {} }],
        conversation: null,
        client_metadata: { a: 1 },
      }));

    it('4 input is a string, an array or absent', async () => {
      for (const input of [null, '', [], [{}]]) await responses.takes(account, { model: MODEL, input });
      gateway.provider.respond = responsesResponse({ id: 'resp_0' });
      await responses.takes(account, { model: MODEL, input: 'x' });
      await responses.takes(account, { model: MODEL, previous_response_id: 'resp_0' });
      for (const input of [1, {}, true]) await responses.refuses(account, { model: MODEL, input }, invalid('input'));
    });

    it('4 model is required and a string', async () => {
      for (const model of [undefined, null, '', 7, ['x']]) {
        await responses.refuses(account, { model, input: 'x' }, invalid('model'));
      }
    });

    it('4 stream is a boolean or null', async () => {
      await responses.takes(account, { model: MODEL, input: 'x', stream: null });
      for (const value of ['true', 1, {}]) {
        await responses.refuses(account, { model: MODEL, input: 'x', stream: value }, invalid('stream'));
      }
    });

    it('4 max_output_tokens is an integer or null', async () => {
      for (const value of [16, 0, null]) {
        await responses.takes(account, { model: MODEL, input: 'x', max_output_tokens: value });
      }
      for (const value of [-1, 1.5, '16', {}]) {
        const body = { model: MODEL, input: 'x', max_output_tokens: value };
        await responses.refuses(account, body, invalid('max_output_tokens'));
      }
    });

    it('4 background true is 400, because it would have no usage to bill', async () => {
      for (const rest of [{}, { stream: true }]) {
        const body = { model: MODEL, input: 'x', background: true, ...rest };
        await responses.refuses(account, body, invalid('background'));
      }
      for (const background of [false, null]) await responses.takes(account, { model: MODEL, input: 'x', background });
      await responses.refuses(account, { model: MODEL, background: 'true' }, invalid('background'));
    });

    it('4 previous_response_id is a string or null', async () => {
      await responses.takes(account, { model: MODEL, previous_response_id: null });
      await responses.refuses(account, { model: MODEL, previous_response_id: 7 }, invalid('previous_response_id'));
    });

    it('4 a key that is read must not appear twice', async () => {
      for (const [name, value] of Object.entries({
        stream: true,
        background: false,
        max_output_tokens: 5,
        input: 'x',
      })) {
        const member = `"${name}":${JSON.stringify(value)}`;
        await responses.refuses(account, `{"model":"${MODEL}",${member},${member}}`, invalid(name));
      }
    });

    it('4 the body is one JSON object', async () => {
      for (const body of ['', '[]', 'null', `{"model":"${MODEL}"`]) {
        await responses.refuses(account, body, invalid(null));
      }
    });

    it('4 a model that does not exist is 404 model_not_found, one without responses 400', async () => {
      const refusal = { code: 'model_not_found', param: 'model' };
      await responses.refuses(account, { model: 'nowhere', input: 'x' }, { status: 404, ...refusal });
      await responses.refuses(account, { model: 'test-chat', input: 'x' }, { status: 400, ...refusal });
    });

    it('4 a model of the other protocol is 404 MODEL_ROUTING_PROTOCOL_UNSUPPORTED', async () => {
      await responses.refuses(
        account,
        { model: 'test-messages', input: 'x' },
        { status: 404, code: 'MODEL_ROUTING_PROTOCOL_UNSUPPORTED', param: 'model' },
      );
    });

    it('4 the credential is a Bearer key', async () => {
      const body = { model: MODEL, input: 'x' };
      for (const authorization of ['Bearer sk-wrong', 'Basic eDp5', '']) {
        assertRefused(await responses.send(account, body, { authorization }), badKey);
      }
      const onlyApiKey = await sendRaw(gateway.url, {
        path: PATH,
        headers: [
          ['x-api-key', account.key],
          ['content-type', 'application/json'],
        ],
        body: JSON.stringify(body),
      });
      assert.equal(onlyApiKey.status, 401);
      await assertSpent(account, 0n);
    });

    it('4 another method is 405, another content type 415', async () => {
      const response = await fetch(gateway.url + PATH, { headers: { authorization: `Bearer ${account.key}` } });
      assert.equal(response.status, 405);
      const typed = await responses.send(account, { model: MODEL }, { 'content-type': 'text/plain' });
      assertRefused(typed, { status: 415, code: 'unsupported_media_type' });
    });

    for (const path of [PATH, ...CODING]) {
      it(`4 a WebSocket upgrade of ${path} is refused at once with 426`, async () => {
        const calls = gateway.provider.requests.length;
        const { status, headers, body } = await sendRaw(gateway.url, {
          method: 'GET',
          path,
          headers: [
            ['authorization', `Bearer ${account.key}`],
            ['connection', 'Upgrade'],
            ['upgrade', 'websocket'],
            ['sec-websocket-version', '13'],
            ['sec-websocket-key', 'dGhlIHNhbXBsZSBub25jZQ=='],
          ],
        });
        assert.equal(status, 426);
        assert.equal(headers.connection, 'close');
        assert.equal(JSON.parse(body.toString()).error.code, 'invalid_request_error');
        assert.equal(gateway.provider.requests.length, calls);
      });
    }
  });

  describe('money', () => {
    it('4 a balance that is used up is 402 insufficient_balance', async () => {
      const poor = await gateway.createAccount({ balanceYuan: '0' });
      for (const isStream of [false, true]) {
        const response = await responses.refuses(
          poor,
          { model: MODEL, input: 'x', stream: isStream },
          { status: 402, code: 'insufficient_balance', type: 'insufficient_quota' },
        );
        assert.equal(response.headers['x-should-retry'], 'false');
      }
    });

    it('4 the spend cap of the day is 429 balance_daily_limit_exceeded', async () => {
      const capped = await gateway.createAccount({ dailySpendCapYuan: '0.0001' });
      await responses.takes(capped, { model: MODEL, input: 'x' });
      await responses.refuses(
        capped,
        { model: MODEL, input: 'x' },
        { status: 429, code: 'balance_daily_limit_exceeded', type: 'usage_limit_reached' },
      );
    });

    for (const path of CODING) {
      it(`4 ${path} is 402 insufficient_package without a plan, after body and model are checked`, async () => {
        const coding = new Address(gateway, path);
        const refusal = { status: 402, code: 'insufficient_package', type: 'insufficient_quota' };
        await coding.refuses(account, { model: MODEL, input: 'x' }, refusal);
        await coding.refuses(account, { model: MODEL, background: true }, invalid('background'));
        await coding.refuses(account, { model: 'nowhere' }, { status: 404, code: 'model_not_found', param: 'model' });
      });
    }
    for (const path of CODING) {
      it(`4 ${path} with a plan returns a non-streaming response and counts the call and its tokens against the plan`, async () => {
        const subscriber = await createSubscriber(gateway, 'roomy');
        const text = ` ${JSON.stringify(responseObject({ x: '\u2028é' }), null, 3)}\r\n`;
        gateway.provider.respond = json(200, text);
        const response = await new Address(gateway, path).send(subscriber, { model: MODEL, input: 'Hello' });
        assert.equal(response.status, 200);
        assert.equal(response.text, text);
        assert.equal(lastSent().path, PATH);
        await assertCounted(gateway, subscriber, { calls: 1, tokens: 18 });
      });

      it(`4 ${path} with a plan streams if it is asked to, and counts the call and its tokens against the plan`, async () => {
        const subscriber = await createSubscriber(gateway, 'roomy');
        const events = responsesStream();
        gateway.provider.respond = sse(events);
        const body = { model: MODEL, input: 'Hello', stream: true };
        const response = await new Address(gateway, path).send(subscriber, body);
        assert.equal(response.status, 200);
        assert.match(response.headers['content-type'] ?? '', /^text\/event-stream\b/);
        assert.equal(response.text, events.join(''));
        await assertCounted(gateway, subscriber, { calls: 1, tokens: 18 });
      });

      it(`4 ${path} counts cached, written and reasoning tokens once each`, async () => {
        const subscriber = await createSubscriber(gateway, 'roomy');
        const usage = {
          input_tokens: 1_000,
          input_tokens_details: { cached_tokens: 600, cache_write_tokens: 100 },
          output_tokens: 50,
          output_tokens_details: { reasoning_tokens: 40 },
          total_tokens: 1_050,
        };
        gateway.provider.respond = responsesResponse({ usage });
        await new Address(gateway, path).takes(subscriber, { model: MODEL, input: 'Hello' });
        await assertCounted(gateway, subscriber, { calls: 1, tokens: 1_050 });
      });
    }

    it('4 cached and written tokens have prices of their own, reasoning is part of the output', async () => {
      const usage = {
        input_tokens: 1_000,
        input_tokens_details: {
          cached_tokens: 600,
          cache_write_tokens: 100,
          cache_write_tokens_details: { ttl_30m_tokens: 70, ttl_12h_tokens: 30 },
        },
        output_tokens: 50,
        output_tokens_details: { reasoning_tokens: 40 },
        total_tokens: 1_050,
      };
      const cost = costNano({ input: 300, cached: 600, written: 70, written1h: 30, output: 50 });
      await send(json(200, responseObject({ usage })));
      await assertSpent(account, cost);
      await stream(sse(responsesStream({ response: { usage } })));
      await assertSpent(account, 2n * cost);
    });

    it('4 a call that is compacted by a trigger item passes, and is billed as one call', async () => {
      const input = [{ role: 'user', content: 'Hello' }, { type: 'compaction_trigger' }];
      const events = responsesStream({ items: [compactionItem] });
      const response = await send(sse(events), { input, stream: true });
      assert.equal(response.text, events.join(''));
      assert.deepEqual(JSON.parse(lastSent().body.toString()).input, input);
      await assertSpent(account, RESPONSES_COST);
      const { body } = await gateway.admin('GET', `/calls?accountId=${account.id}`);
      assert.equal(body.data.length, 1);
    });
  });

  describe('whole responses', () => {
    it('4 a response arrives byte for byte, and is charged by its usage', async () => {
      const text = ` ${JSON.stringify(responseObject({ x: '\u2028é', created_at: 1.5 }), null, 3).replace('1.5', '1.50E0')}\r\n`;
      const response = await send(json(200, text));
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
      await assertSpent(account, RESPONSES_COST);
      const { operation, model, status, usage } = await account.lastCall();
      assert.deepEqual([operation, model, status, usage.source], ['responses', MODEL, 'succeeded', 'observed']);
    });

    it('4 an incomplete response is billed', async () => {
      const text = JSON.stringify(
        responseObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
      );
      assert.equal((await send(json(200, text))).text, text);
      await assertSpent(account, RESPONSES_COST);
    });

    it('4 a response without trusted usage is 502 upstream_error, and nothing is charged', async () => {
      for (const overrides of [
        { usage: undefined },
        { usage: null },
        { usage: { output_tokens: 7 } },
        { usage: { ...responsesUsage, input_tokens: -1 } },
        { status: 'failed', usage: null, error: { code: 'server_error', message: 'x' } },
        { status: 'queued', usage: null },
        { object: 'chat.completion' },
      ]) {
        await assertWithheld(account, await send(json(200, responseObject(overrides))));
      }
    });

    it('4 a response other than a JSON object is 502 upstream_error, and free', async () => {
      for (const text of ['', '[]', '<html></html>', JSON.stringify(responseObject()).slice(0, -1)]) {
        await assertWithheld(account, await send(json(200, text)));
      }
    });

    it('4 an error of the provider has its status and words in the envelope of the gateway, and costs nothing', async () => {
      for (const rest of [{}, { stream: true }]) {
        const error = {
          message: 'Your input exceeds the context window.',
          type: 'x',
          code: null,
          param: null,
          more: 1,
        };
        const response = await send(json(400, { error }), rest);
        assertRefused(response, { status: 400, code: 'invalid_request_error' });
        assert.equal(response.json.error.message, error.message);
      }
      await assertSpent(account, 0n);
    });

    it('4 limits and the request id of the provider are kept, and no other header of it', async () => {
      const kept = {
        'x-request-id': 'req_of_the_provider',
        'retry-after': '3',
        'x-ratelimit-remaining-tokens': '9',
        'x-ratelimit-reset-requests': '1s',
      };
      for (const isStream of [false, true]) {
        const headers = { ...kept, 'set-cookie': 'a=b', 'x-internal-host': 'node-7' };
        const respond = isStream ? sse(responsesStream(), headers) : json(200, responseObject(), headers);
        const response = await send(respond, { stream: isStream });
        for (const [name, value] of Object.entries(kept)) assert.equal(response.headers[name], value);
        for (const name of ['set-cookie', 'x-internal-host']) assert.equal(response.headers[name], undefined);
      }
    });

    it('4 an x-request-id is generated if the provider gives none', async () => {
      const received = [await send(json(200, responseObject())), await stream(sse(responsesStream()))];
      const [first, other] = received.map(({ headers }) => headers['x-request-id']);
      assert.ok(first && other && first !== other);
    });
  });

  describe('streams', () => {
    it('4 a stream arrives byte for byte, whatever its events are, and is charged by its last one', async () => {
      const others = [
        'response.queued',
        'response.refusal.delta',
        'response.reasoning_summary_part.added',
        'response.reasoning_summary_text.delta',
        'response.function_call_arguments.delta',
        'response.function_call_arguments.done',
        'response.web_search_call.searching',
        'response.image_generation_call.partial_image',
        'response.mcp_call.failed',
        'response.compaction.compacting',
        'response.made_up',
      ].map((type) => event(type, { sequence_number: 99, delta: 'Hé 你好 😀', obfuscation: 'xyz' }));
      const events = responsesStream();
      const text = [
        ': ping\n\n',
        ...events.slice(0, -1),
        ...others,
        'event: response.output_text.delta\r\ndata:{"type":"response.output_text.delta",\r\ndata: "delta":"x"}\r\n\r\n',
        'id: 7\nretry: 10\n\n',
        events.at(-1)!,
        ': bye\n\n',
        'data: [DONE]\n\n',
      ].join('');
      const response = await stream(sse([text], { 'content-type': 'text/event-stream; charset=utf-8' }));
      assert.equal(response.status, 200);
      assert.equal(response.text, text);
      assert.equal(response.headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(response.headers['x-accel-buffering'], 'no');
      await assertSpent(account, RESPONSES_COST);
      const { isStream, status, usage } = await account.lastCall();
      assert.deepEqual([isStream, status, usage.source], [true, 'succeeded', 'observed']);
    });

    it('4 events leave as they come', async () => {
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const body = { model: MODEL, input: 'Hello', stream: true };
      const started = startCall(gateway.url + PATH, account.key, body);
      await live.opened;
      const events = responsesStream();
      let sent = '';
      for (const each of events.slice(0, -1)) {
        await live.write(each);
        sent += each;
        const response = await started.response;
        // The provider continues only after this has arrived.
        await response.until(sent);
      }
      await live.write(events.at(-1)!);
      live.end();
      const response = await started.response;
      assert.equal(await response.ended(), true);
      assert.equal(response.text, events.join(''));
      await assertSpent(account, RESPONSES_COST);
    });

    for (const terminal of ['response.completed', 'response.incomplete', 'response.failed'] as const) {
      it(`4 ${terminal} leaves only after the charge is durable`, async () => {
        const events = responsesStream({ terminal });
        const ends = gateway.observed.statement('settlement.end');
        const { asked } = ends;
        ends.hold();
        gateway.provider.respond = sse([events.join('')]);
        const body = { model: MODEL, input: 'Hello', stream: true };
        const started = startCall(gateway.url + PATH, account.key, body);
        await ends.reached(asked + 1);
        const response = await started.response;
        const withoutEnd = events.slice(0, -1).join('');
        await response.until(withoutEnd);
        // Other output of the gateway would have arrived by now.
        for (let i = 0; i < 20; i++) await (await fetch(`${gateway.url}/healthz`)).text();
        assert.equal(response.text, withoutEnd);
        assert.equal((await account.money()).balanceNano, 100_000_000_000n);

        ends.release();
        assert.equal(await response.ended(), true);
        assert.equal(response.text, events.join(''));
        await assertSpent(account, RESPONSES_COST);
      });
    }

    it('4 a terminal event of several megabytes arrives byte for byte, and is charged by its usage', async () => {
      const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'A'.repeat(5_000_000) };
      const text = responsesStream({ items: [image] }).join('');
      const response = await stream(sse([text]));
      assert.ok(response.text === text);
      await assertSpent(account, RESPONSES_COST);
      assert.equal((await account.lastCall()).usage.source, 'observed');
    });

    it('4 response.incomplete is the end of a success, billed by its usage', async () => {
      const events = responsesStream({
        terminal: 'response.incomplete',
        response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
      });
      assert.equal((await stream(sse(events))).text, events.join(''));
      await assertSpent(account, RESPONSES_COST);
      assert.equal((await account.lastCall()).status, 'succeeded');
    });

    const failed = { status: 'failed', error: { code: 'server_error', message: 'The model failed.' } };

    it('4 response.failed before any text is free without usage, and arrives unchanged', async () => {
      const events = [
        event('response.created', { response: responseObject({ status: 'in_progress', output: [], usage: null }) }),
        event('response.failed', { response: responseObject({ ...failed, output: [], usage: null }) }),
      ];
      const response = await stream(sse(events));
      assert.equal(response.status, 200);
      assert.equal(response.text, events.join(''));
      await assertSpent(account, 0n);
      const { status, usage } = await account.lastCall();
      assert.deepEqual([status, usage], ['aborted', null]);
    });

    it('4 response.failed with usage is charged by it', async () => {
      const events = responsesStream({ terminal: 'response.failed', response: failed });
      assert.equal((await stream(sse(events))).text, events.join(''));
      await assertSpent(account, RESPONSES_COST);
    });

    const body = (rest: object = {}): object => ({ model: MODEL, input: 'Hello', stream: true, ...rest });
    /** The estimated usage of a stream that ended without usage: sizes of the request and the text. */
    const estimated = (words: string): { input: number; output: number } => ({
      input: estimatedInput('responses', body()),
      output: Math.ceil(Buffer.byteLength(words) / 4),
    });
    async function assertEstimate(words: string): Promise<void> {
      const tokens = estimated(words);
      const { status, usage } = await account.endedCall();
      assert.deepEqual(
        [status, usage.source, usage.inputTokens, usage.outputTokens],
        ['aborted', 'estimated', tokens.input, tokens.output],
      );
      await assertSpent(account, costNano(tokens));
    }

    for (const [form, errorEvent] of [
      ['flat', event('error', { code: 'server_error', message: 'Overloaded.', param: null, sequence_number: 9 })],
      ['nested', event('error', { error: { type: 'server_error', code: 'x', message: 'Overloaded.' } })],
    ] as const) {
      it(`4 an error event of the provider (${form}) arrives byte for byte and ends the stream; the output so far is estimated`, async () => {
        const events = [...responsesStream({ words: ['Hello there'] }).slice(0, 5), errorEvent];
        const response = await stream(sse(events));
        assert.equal(response.text, events.join(''));
        await assertEstimate('Hello there');
      });
    }

    it('4 a stream of nothing but an error costs nothing', async () => {
      const text = event('error', { code: 'server_error', message: 'Overloaded.', param: null });
      assert.equal((await stream(sse([text]))).text, text);
      await assertSpent(account, 0n);
    });

    /** Asserts the last event of a stream that the gateway ended. */
    function assertErrorEvent(response: ClientResponse, relayed: string, code: string): void {
      assert.equal(response.status, 200);
      assert.ok(response.text.startsWith(relayed), response.text);
      const [, data, failed] =
        /^event: error\ndata: (.*)\n\nevent: response\.failed\ndata: (.*)\n\n$/.exec(
          response.text.slice(relayed.length),
        ) ?? [];
      assert.ok(data !== undefined && failed !== undefined, response.text);
      assert.equal(JSON.parse(failed).response.error.code, code);
      const parsed = JSON.parse(data);
      assert.equal(parsed.type, 'error');
      assert.equal(parsed.code, code);
      assert.equal(typeof parsed.message, 'string');
      assert.equal(parsed.param, null);
    }

    it('4 a stream that breaks midway ends with an event error of type, code, message and param', async () => {
      const events = responsesStream({ words: ['Hello there'] }).slice(0, 5);
      const live = liveResponse();
      gateway.provider.respond = live.respond;
      const started = startCall(gateway.url + PATH, account.key, body());
      await live.opened;
      for (const each of events) await live.write(each);
      const response = await started.response;
      await response.until(events.join(''));
      live.reset();
      assert.equal(await response.ended(), true);
      assertErrorEvent(response, events.join(''), 'upstream_error');
      await assertEstimate('Hello there');
    });

    it('4 a stream that ends without a terminal event is broken too', async () => {
      const events = responsesStream({ words: ['Hello there'] }).slice(0, -1);
      const response = await stream(sse(events));
      assertErrorEvent(response, events.join(''), 'upstream_error');
      await assertEstimate('Hello there');
    });

    it('4 a terminal event that breaks off is none', async () => {
      const events = responsesStream({ words: ['Hello there'] });
      const response = await stream(sse([...events.slice(0, -1), events.at(-1)!.slice(0, -40)]));
      assert.equal(response.status, 200);
      assert.match(response.text, /event: error\ndata: \{"type":"error","code":"upstream_error"/);
      const { status, usage } = await account.endedCall();
      assert.deepEqual([status, usage.source], ['aborted', 'estimated']);
    });

    it('4 a complete stream without usage is charged by estimate', async () => {
      const events = responsesStream({ words: ['Hello there'], response: { usage: null } });
      assert.equal((await stream(sse(events))).text, events.join(''));
      const tokens = estimated('Hello there');
      const { status, usage } = await account.lastCall();
      assert.deepEqual([status, usage.source], ['succeeded', 'estimated']);
      await assertSpent(account, costNano(tokens));
    });

    it('4 a stream that never begins is an error with an HTTP status, and free', async () => {
      for (const respond of [sse([]), json(200, responseObject()), json(200, '')]) {
        const response = await stream(respond);
        assertRefused(response, { status: 502, code: 'upstream_error', param: null, type: 'api_error' });
        assert.equal(response.headers['x-should-retry'], 'false');
      }
      await assertSpent(account, 0n);
    });
  });

  describe('affinity', () => {
    const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'an encrypted thought' };

    for (const isStream of [false, true]) {
      const kind = isStream ? 'stream' : 'whole response';
      it(`4 a call goes back to the provider that made the response or reasoning it continues (${kind})`, async () => {
        const made = { id: 'resp_made', output: [thought] };
        second.respond = isStream
          ? sse(responsesStream({ items: [thought], response: made }))
          : json(200, responseObject(made));
        randomSource = 0.9;
        const first = { model: 'test-shared', input: 'Hello', stream: isStream };
        assert.equal((await responses.send(account, first)).status, 200);

        randomSource = 0;
        second.respond = responsesResponse();
        for (const rest of [
          { previous_response_id: 'resp_made' },
          { input: [thought, { role: 'user', content: 'x' }] },
        ]) {
          const calls = second.requests.length;
          const response = await responses.send(account, { model: 'test-shared', ...rest });
          assert.equal(response.status, 200);
          assert.equal(second.requests.length, calls + 1);
          assert.equal(JSON.parse(second.requests.at(-1)!.body.toString()).model, 'shared-second');
          assert.equal((await account.lastCall()).route.provider, 'second');
        }
      });
    }

    it('4 a call that continues nothing is routed at random, whatever other accounts have created', async () => {
      second.respond = responsesResponse({ id: 'resp_of_another' });
      randomSource = 0.9;
      await responses.send(account, { model: 'test-shared', input: 'Hello' });
      randomSource = 0;
      const other = await gateway.createAccount();
      const calls = second.requests.length;
      await responses.takes(other, { model: 'test-shared', input: 'Hello' });
      assert.equal(second.requests.length, calls);
    });
  });
});
