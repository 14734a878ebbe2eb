import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type ClientResponse, call } from '../support/client.ts';
import { assertBrokenOff, assertError, assertEstimated, assertFree, families, requestOf } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestAccount, type TestGateway } from '../support/gateway.ts';
import { chatStream, event, json, messagesStream, type Respond, sse } from '../support/provider.ts';
import { openConnection, requestBytes } from '../support/raw.ts';

/**
 * What clients see and accounts pay when a provider fails in the middle of a stream or between two calls. Invalid responses, connections
 * that fail and providers that stop responding are in `test/hostile`.
 */

/** A provider's own error in the middle of a stream. */
const ERROR_EVENTS = {
  chat: 'data: {"error":{"message":"Overloaded.","type":"server_error","param":null,"code":null}}\n\n',
  messages: event('error', { error: { type: 'overloaded_error', message: 'Overloaded.' } }),
} as const;

describe(`failing providers`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway();
  });
  after(() => gateway.stop());

  for (const family of families) {
    describe(`${family.name}, in the middle of a stream`, () => {
      const body = requestOf(true);
      /** Everything up to the words; each of them is one event. */
      const begun = family.stream(['Hello', ' there', '!']).slice(0, family.name === 'chat' ? 4 : 6);
      const tokens = { input: family.inputTokens(body), output: Math.ceil('Hello there!'.length / 4) };
      let account: TestAccount;

      async function send(respond: Respond): Promise<ClientResponse> {
        account = await gateway.createAccount();
        gateway.provider.respond = respond;
        return call(gateway.url + family.path, account.key, body);
      }

      test('a connection that breaks ends the stream with an error event, and what was received is charged', async () => {
        const response = await send((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(begun.join(''), () => response.socket!.resetAndDestroy());
        });
        assertBrokenOff(response, family, begun.join(''), 'upstream_error');
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      const isCut = family.name === 'chat';
      for (const [what, rest] of [
        ['that the gateway adds', []],
        ['of the provider', [ERROR_EVENTS[family.name]]],
      ] as const) {
        test(`an error event ${what} ${isCut ? 'is followed by no last chunk: a client that does not know it must not consider the stream complete' : 'belongs to the protocol: the body ends after it as usual'}`, async () => {
          account = await gateway.createAccount();
          gateway.provider.respond = sse([...begun, ...rest]);
          const connection = await openConnection(gateway.url);
          const headers = [
            ['authorization', `Bearer ${account.key}`],
            ['content-type', 'application/json'],
            ['connection', 'close'],
          ] as const;
          connection.write(requestBytes({ path: family.path, headers, body: JSON.stringify(body) }));
          const received = (await connection.closed()).toString();
          assert.match(received, /^HTTP\/1\.1 200 /);
          assert.match(received, isCut ? /data: \{"error":[^\n]*\n\n\r\n$/ : /event: error\n[\s\S]*\r\n0\r\n\r\n$/);
          await account.endedCall();
        });
      }

      test('a stream that just ends is not complete: an error event ends it, and what was received is charged', async () => {
        const response = await send(sse(begun));
        assertBrokenOff(response, family, begun.join(''), 'upstream_error');
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      test('half an event is neither forwarded nor charged: the error event follows the last complete one', async () => {
        const [last, ...whole] = begun.toReversed();
        const before = whole.toReversed().join('');
        const outputTokens = Math.ceil('Hello there'.length / 4);
        for (const half of [
          'data',
          last!.slice(0, last!.indexOf('data') + 5),
          last!.slice(0, -20),
          last!.slice(0, -3),
        ]) {
          const response = await send(sse([before, half]));
          assertBrokenOff(response, family, before, 'upstream_error');
          await assertEstimated(
            account,
            { ...tokens, output: outputTokens },
            { status: 'aborted', errorCode: 'upstream_error' },
          );
        }
      });

      test('half an event with nothing before it is a 502, and costs nothing', async () => {
        const response = await send(sse([begun[0]!.slice(0, -3)]));
        assertError(response, family, { status: 502, code: 'upstream_error', retry: 'false' });
        await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
      });

      test('an event that lacks only its empty line is forwarded, and completed before the error event', async () => {
        for (const rest of ['', '\n', '\r']) {
          const relayed = begun.join('').trimEnd() + rest;
          const response = await send(sse([relayed]));
          assertBrokenOff(response, family, `${relayed}\n\n`, 'upstream_error');
          await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
        }
      });

      test("half of the provider's own error event is replaced by the gateway's", async () => {
        const response = await send(sse([...begun, family.errorEvent.slice(0, -9)]));
        assertBrokenOff(response, family, begun.join(''), 'upstream_error');
        assert.ok(!response.text.includes('Overloaded'));
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      test("the provider's own error event that lacks its empty line gets one", async () => {
        const response = await send(sse([...begun, family.errorEvent.trimEnd()]));
        assert.equal(response.text, begun.join('') + family.errorEvent);
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      test('a stream that ends within its terminal event is not complete', async () => {
        const all = family.stream(['Hello']).join('');
        const response = await send(sse([all.slice(0, -4)]));
        assert.equal(response.status, 200);
        assert.ok(!response.text.includes(family.terminal.slice(0, -4)), response.text);
        assert.match(response.text, /upstream_error/);
        assert.equal((await account.endedCall()).status, 'aborted');
        await assertSpent(account, family.cost);
      });

      test('a connection that breaks after the usage has come costs that usage', async () => {
        const all = family.stream(['Hello']);
        const response = await send((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(all.slice(0, -1).join(''), () => response.socket!.resetAndDestroy());
        });
        assert.equal(response.status, 200);
        assert.ok(!response.text.includes(family.terminal));
        assert.match(response.text, /upstream_error/);
        const { status, usage } = await account.endedCall();
        assert.equal(status, 'aborted');
        assert.equal(usage.source, 'observed');
        await assertSpent(account, family.cost);
      });

      test("the provider's own error event is forwarded as the last one, and what was received is charged", async () => {
        const events = [...begun, family.errorEvent];
        const response = await send(sse(events));
        assert.equal(response.text, events.join(''));
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      test("the provider's own error event names neither its host nor its key, and stays JSON", async () => {
        const key = `provider-secret-key-${family.name === 'chat' ? 1 : 2}`;
        const said = `See ${gateway.provider.url}/docs\\"x: ${key} refused`;
        const response = await send(sse([...begun, family.errorEvent.replace('Overloaded.', said)]));
        assert.ok(!response.text.includes('provider-secret') && !response.text.includes('127.0.0.1'), response.text);
        const data = response.text.slice(response.text.lastIndexOf('data: ') + 6);
        assert.match(JSON.parse(data).error.message, /^See \[address\]"x: /);
      });

      test("the provider's own error event is no success even if the terminal event follows", async () => {
        const events = [...begun, family.errorEvent, family.terminal];
        const response = await send(sse(events));
        assert.equal(response.text, events.join(''));
        await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
      });

      if (family.name === 'chat') {
        for (const failed of [
          '{"object":"error","message":"Out of memory.","type":"InternalServerError","code":500}',
          '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"error"}]}',
        ]) {
          test(`${failed} is an error event too`, async () => {
            const events = [...begun, `data: ${failed}\n\n`, family.terminal];
            const response = await send(sse(events));
            assert.equal(response.text, events.join(''));
            await assertEstimated(account, tokens, { status: 'aborted', errorCode: 'upstream_error' });
          });
        }
      }

      test("the provider's own error event before any text costs nothing", async () => {
        const events = [begun[0]!, family.errorEvent];
        const response = await send(sse(events));
        assert.equal(response.text, events.join(''));
        await assertFree(account, { status: 'aborted', httpStatus: 200, errorCode: 'upstream_error' });
      });

      test('a stream of nothing but comments costs nothing', async () => {
        const response = await send(sse([': one\n\n', ': two\n\n']));
        assert.equal(response.status, 200);
        assert.match(response.text, /^: one\n\n: two\n\n/);
        assert.match(response.text, /upstream_error/);
        await assertFree(account, { status: 'aborted', httpStatus: 200, errorCode: 'upstream_error' });
      });
    });
  }

  test('a connection that the provider closed between two calls does not fail the next one', async () => {
    const account = await gateway.createAccount();
    const [chat] = families;
    const closed = Promise.withResolvers<void>();
    let idle = (): void => undefined;
    gateway.provider.respond = (request, response) => {
      const socket = response.socket!;
      socket.once('close', () => closed.resolve());
      idle = () => void socket.end();
      return json(200, chat!.whole())(request, response);
    };
    await call(gateway.url + chat!.path, account.key, requestOf(false));
    idle();
    // The gateway has closed its side too.
    await closed.promise;
    const response = await call(gateway.url + chat!.path, account.key, requestOf(false));
    assert.equal(response.status, 200, response.text);
    await assertSpent(account, 2n * chat!.cost);
  });

  test('a chat stream without usage is complete, and charged on an estimate that is marked as one', async () => {
    const account = await gateway.createAccount();
    const body = requestOf(true);
    const events = chatStream(['Hello', ' there', '!'], null);
    gateway.provider.respond = sse(events);
    const response = await call(`${gateway.url}/v1/chat/completions`, account.key, body);
    assert.equal(response.text, events.join(''));
    const tokens = { input: families[0]!.inputTokens(body), output: 3 };
    await assertEstimated(account, tokens, { status: 'succeeded', errorCode: null });
  });

  test('a messages stream without final usage is complete, and charged on an estimate that is marked as one', async () => {
    const account = await gateway.createAccount();
    const events = messagesStream(['Hello', ' there', '!'], { input_tokens: 11, output_tokens: 7 });
    events.splice(-2, 1, event('message_delta', { delta: { stop_reason: 'end_turn' } }));
    gateway.provider.respond = sse(events);
    const response = await call(`${gateway.url}/v1/messages`, account.key, requestOf(true));
    assert.equal(response.text, events.join(''));
    await assertEstimated(account, { input: 11, output: 3 }, { status: 'succeeded', errorCode: null });
  });

  test('a chat stream without [DONE] that has finished is complete', async () => {
    const account = await gateway.createAccount();
    gateway.provider.respond = sse(chatStream(['Hello'], { prompt_tokens: 11, completion_tokens: 7 }).slice(0, -1));
    const response = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true));
    assert.equal(response.text, chatStream(['Hello'], null).slice(0, -1).join(''));
    const { status, errorCode, usage } = await account.endedCall();
    assert.deepEqual(
      { status, errorCode, source: usage.source },
      { status: 'succeeded', errorCode: null, source: 'observed' },
    );
    await assertSpent(account, costNano({ input: 11, output: 7 }));
  });

  test('a chat stream without [DONE] that has finished, but whose connection breaks, is not complete', async () => {
    const account = await gateway.createAccount();
    const events = chatStream(['Hello'], null).slice(0, -1);
    gateway.provider.respond = (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(events.join(''), () => response.socket!.resetAndDestroy());
    };
    const response = await call(`${gateway.url}/v1/chat/completions`, account.key, requestOf(true));
    assertBrokenOff(response, families[0]!, events.join(''), 'upstream_error');
  });
});
