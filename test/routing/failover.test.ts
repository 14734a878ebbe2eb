import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  BOUNDARY,
  editForm,
  editParts,
  file,
  formType,
  imagesBody,
  png,
  text,
  USAGE_NANO,
} from '../conformance/images.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import {
  assertBrokenOff,
  assertError,
  assertFree,
  begunStream,
  families,
  modesOf,
  requestOf,
} from '../support/families.ts';
import {
  assertSpent,
  clientLeaves,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { json, liveResponse, type Respond, type ScriptedProvider, sse, startProvider } from '../support/provider.ts';
import { RESPONSES_COST, responseObject } from '../support/responses.ts';

/** What happened at a provider, and whether another one is tried. */

const PRICE = '{ input: "3", output: "13" }';
const IMAGE_PRICE = '{ input: "3", imageInput: "17", output: "13", imageOutput: "19" }';

/** Members of a model of both protocol families with routes to these providers in order. */
function inTurn(...names: readonly string[]): string {
  const routes = names.flatMap((name, priority) =>
    ['chat', 'messages'].map(
      (protocol) => `{ provider: ${name}-${protocol}, model: at-${name}, priority: ${priority} }`,
    ),
  );
  return `{ operations: [chat, messages], price: ${PRICE}, routes: [${routes.join(', ')}] }`;
}

/** A provider for both protocol families at one address. */
function provider(name: string, url: string, fields = ''): string {
  return `
  ${name}-chat: { protocol: chat, baseUrl: "${url}/v1", apiKey: ${name}-secret-key-1, ${fields} }
  ${name}-messages: { protocol: messages, baseUrl: "${url}", apiKey: ${name}-secret-key-2, ${fields} }`;
}

interface Scene {
  readonly gateway: TestGateway;
  readonly first: ScriptedProvider;
  readonly second: ScriptedProvider;
  readonly third: ScriptedProvider;
  /** Responds with 503 to the head of a request, before its body arrives, and reads no more of it. */
  readonly hasty: Server;
  close(): Promise<void>;
}

/** A route that responds with 429 and `retry-after` has a cooldown of up to a minute. This time passes between tests. */
const REST_MS = 60_000;
const clock = createTestClock('2026-11-20T04:00:00Z');

async function setScene(randomSource: () => number, billing = ''): Promise<Scene> {
  const [first, second, third] = [await startProvider(), await startProvider(), await startProvider()];
  const hasty = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\n{}');
    });
  });
  await new Promise<void>((resolve) => hasty.listen(0, '127.0.0.1', resolve));
  const gateway = await startGateway({
    clock,
    randomSource,
    billing,
    providers: [
      provider('first', first.url),
      provider('second', second.url),
      provider('third', third.url),
      // Nothing listens on these ports.
      provider('away', 'http://127.0.0.1:1'),
      provider('gone', 'http://127.0.0.1:2'),
      provider('hasty', `http://127.0.0.1:${(hasty.address() as AddressInfo).port}`),
    ].join(''),
    models: `
  pair: ${inTurn('first', 'second')}
  three: ${inTurn('away', 'first', 'second', 'third')}
  away-pair: ${inTurn('away', 'second')}
  all-away: ${inTurn('away', 'gone')}
  then-away: ${inTurn('first', 'away')}
  equal:
    affinity: off
    operations: [chat]
    price: ${PRICE}
    routes: [{ provider: first-chat, model: x, weight: 1 }, { provider: second-chat, model: x, weight: 3 }]
  kept:
    operations: [responses]
    price: ${PRICE}
    routes: [{ provider: first-chat, model: x }, { provider: second-chat, model: y, priority: 1 }]
  brush:
    operations: [images.edit]
    price: ${IMAGE_PRICE}
    routes: [{ provider: first-chat, model: brush }, { provider: second-chat, model: brush, priority: 1 }]
  hasty-brush:
    operations: [images.edit]
    price: ${IMAGE_PRICE}
    routes: [{ provider: hasty-chat, model: x }, { provider: second-chat, model: hasty-brush, priority: 1 }]
  away-brush:
    operations: [images.edit]
    price: ${IMAGE_PRICE}
    routes: [{ provider: away-chat, model: x }, { provider: second-chat, model: away-brush, priority: 1 }]`,
  });
  return {
    gateway,
    first,
    second,
    third,
    hasty,
    async close() {
      try {
        await gateway.stop();
      } finally {
        hasty.close();
        await Promise.all([first, second, third].map((one) => one.close()));
      }
    },
  };
}

const unexpected = json(500, { error: { message: 'This provider should not have been asked.' } });

describe('failover', () => {
  let scene: Scene;
  let gateway: TestGateway;
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let third: ScriptedProvider;
  let account: TestAccount;
  let randomSource: number;

  before(async () => {
    scene = await setScene(() => randomSource);
    ({ gateway, first, second, third } = scene);
  });
  after(() => scene?.close());
  beforeEach(async () => {
    clock.advance(REST_MS);
    account = await gateway.createAccount();
    randomSource = 0;
    for (const one of [first, second, third]) {
      one.requests.length = 0;
      one.respond = unexpected;
    }
  });

  /** Number of requests that the three providers received. */
  const asked = (): number[] => [first, second, third].map(({ requests }) => requests.length);

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        const success = (requestId = 'req_success'): Respond => {
          const headers = { 'x-request-id': requestId, 'request-id': requestId };
          return isStream ? sse(family.stream(['Hello']), headers) : json(200, family.whole(), headers);
        };
        const send = (model: string): Promise<ClientResponse> => {
          // Records are listed by the start time of their calls.
          clock.advance(1);
          return call(gateway.url + family.path, account.key, requestOf(isStream, model));
        };

        /** A route that did not accept the call, as named in the call record. */
        const failed = (name: string, error = 'upstream_error') => ({
          provider: `${name}-${family.name}`,
          model: `at-${name}`,
          error,
        });

        /** Asserts a success that is charged once and recorded with its route and the routes tried before. */
        async function assertServedBy(
          name: string,
          response: ClientResponse,
          before: readonly object[] = [],
        ): Promise<void> {
          assert.equal(response.status, 200, response.text);
          if (isStream) assert.ok(response.text.endsWith(family.terminal));
          else assert.deepEqual(response.json, family.whole());
          assert.equal(response.headers['retry-after'], undefined);
          assert.equal(response.headers['x-should-retry'], undefined);
          const { id, status, httpStatus, errorCode, route, failedRoutes, usage } = await account.endedCall();
          assert.equal(response.headers['x-faregate-call-id'], id);
          assert.deepEqual(
            { status, httpStatus, errorCode, route, failedRoutes, source: usage.source },
            {
              status: 'succeeded',
              httpStatus: 200,
              errorCode: null,
              route: { provider: `${name}-${family.name}`, model: `at-${name}` },
              failedRoutes: before,
              source: 'observed',
            },
          );
          await assertSpent(account, family.cost);
          const { body } = await gateway.admin('GET', `/calls?accountId=${account.id}`);
          assert.equal(body.data.length, 1);
          assert.deepEqual((await gateway.admin('GET', `/calls/${id}`)).body, body.data[0]);
        }

        /** Asserts a failure that costs nothing and is recorded with the last route and the routes tried before. */
        async function assertFailedAt(
          name: string,
          record: { httpStatus: number; errorCode: string },
          before: readonly object[] = [],
        ): Promise<void> {
          await account.endedCall();
          await assertFree(account, record);
          const { route, failedRoutes } = await account.lastCall();
          assert.deepEqual(route, { provider: `${name}-${family.name}`, model: `at-${name}` });
          assert.deepEqual(failedRoutes, before);
        }

        test('a provider that refuses the connection: another route is tried', async () => {
          second.respond = success();
          await assertServedBy('second', await send('away-pair'), [failed('away')]);
          assert.deepEqual(asked(), [0, 1, 0]);
        });

        test('a 503: another route is tried', async () => {
          first.respond = json(503, { error: { message: 'Busy.' } }, { 'retry-after': '9', 'x-request-id': 'req_a' });
          second.respond = success('req_b');
          const response = await send('pair');
          await assertServedBy('second', response, [failed('first')]);
          assert.equal(response.headers['x-request-id'], 'req_b');
          assert.deepEqual(asked(), [1, 1, 0]);
        });

        test('a 429 of the last route keeps its status, its message and its retry-after', async () => {
          first.respond = json(503, { error: { message: 'The first is busy.' } }, { 'retry-after': '9' });
          second.respond = json(
            429,
            { error: { message: 'The second is busy.', code: 'second_busy' } },
            { 'retry-after': '17' },
          );
          const response = await send('pair');
          assert.equal(response.status, 429);
          assert.equal(response.json.error.message, 'The second is busy.');
          assert.equal(response.headers['retry-after'], '17');
          assert.equal(response.headers['x-error-code'], 'second_busy');
          assert.deepEqual(asked(), [1, 1, 0]);
          await assertFailedAt('second', { httpStatus: 429, errorCode: 'second_busy' }, [failed('first')]);
        });

        for (const [status, why] of [
          [500, 'it may have run the call'],
          [400, 'it would refuse the call too'],
        ] as const) {
          test(`a ${status}: no other route is tried, for ${why}`, async () => {
            first.respond = json(status, { error: { message: 'Oops.', code: 'oops' } });
            const response = await send('pair');
            assert.equal(response.status, status);
            assert.equal(response.json.error.message, 'Oops.');
            assert.deepEqual(asked(), [1, 0, 0]);
            await assertFailedAt('first', { httpStatus: status, errorCode: 'oops' });
          });
        }

        const operatorRefusal = json(401, { error: { message: 'Their words.', code: 'invalid_api_key' } });

        test("a 401 of the last route is a 502 with the gateway's message and without retry advice", async () => {
          first.respond = json(503, { error: { message: 'The first is busy.' } }, { 'retry-after': '9' });
          second.respond = operatorRefusal;
          const response = await send('pair');
          assertError(response, family, { status: 502, code: 'upstream_error', type: 'api_error', retry: 'false' });
          assert.match(response.text, /does not accept the account of this gateway/);
          assert.doesNotMatch(response.text, /Their words/);
          assert.equal(response.headers['retry-after'], undefined);
          assert.deepEqual(asked(), [1, 1, 0]);
          await assertFailedAt('second', { httpStatus: 502, errorCode: 'upstream_error' }, [failed('first')]);
        });

        const retired = (name: string) =>
          json(404, { error: { message: `The model at-${name} does not exist.`, code: 'model_not_found' } });

        test("a 404 about the model at the last route is a 404 of the gateway, without the provider's name of the model", async () => {
          first.respond = retired('first');
          second.respond = retired('second');
          const response = await send('pair');
          const type = family.name === 'chat' ? 'invalid_request_error' : 'not_found_error';
          assertError(response, family, { status: 404, code: 'model_not_found', type, param: 'model', retry: 'false' });
          assert.doesNotMatch(response.text, /at-second/);
          await assertFailedAt('second', { httpStatus: 404, errorCode: 'model_not_found' }, [
            failed('first', 'model_not_found'),
          ]);
        });

        test('connections refused on all routes are one 502 that may be retried', async () => {
          const response = await send('all-away');
          assertError(response, family, { status: 502, code: 'upstream_error', retry: 'true' });
          assert.doesNotMatch(response.text, /127\.0\.0\.1|secret/);
          await assertFailedAt('gone', { httpStatus: 502, errorCode: 'upstream_error' }, [failed('away')]);
        });

        test('the client receives the error of the last route', async () => {
          first.respond = json(503, { error: { message: 'Busy.' } }, { 'retry-after': '9' });
          const refused = await send('then-away');
          assertError(refused, family, { status: 502, code: 'upstream_error', retry: 'true' });
          assert.equal(refused.headers['retry-after'], undefined);
          await assertFailedAt('away', { httpStatus: 502, errorCode: 'upstream_error' }, [failed('first')]);

          second.respond = (_request, response) => void response.socket!.resetAndDestroy();
          const broken = await send('pair');
          assertError(broken, family, { status: 502, code: 'upstream_error', retry: 'false' });
          const { route, failedRoutes } = await account.endedCall(2);
          assert.equal(route.provider, `second-${family.name}`);
          assert.deepEqual(failedRoutes, [failed('first')]);
          await assertSpent(account, 0n);
        });

        test('routes are tried in order until one accepts the call', async () => {
          first.respond = json(429, { error: { message: 'Busy, says "first".', code: 'first_busy' } });
          second.respond = json(529, {});
          third.respond = success();
          const before = [failed('away'), failed('first', 'first_busy'), failed('second')];
          await assertServedBy('third', await send('three'), before);
          assert.deepEqual(asked(), [1, 1, 1]);
        });

        test('no route is tried after one has accepted the call', async () => {
          first.respond = success();
          await assertServedBy('first', await send('pair'));
          assert.deepEqual(asked(), [1, 0, 0]);
        });

        test('each provider receives only its own model name and key', async () => {
          first.respond = json(503, {});
          second.respond = success();
          await assertServedBy('second', await send('pair'), [failed('first')]);
          const sent = (name: string, { requests }: ScriptedProvider): void => {
            const { headers, body } = requests[0]!;
            assert.equal(JSON.parse(body.toString()).model, `at-${name}`);
            const key =
              family.name === 'chat'
                ? { authorization: `Bearer ${name}-secret-key-1`, 'x-api-key': undefined }
                : { authorization: undefined, 'x-api-key': `${name}-secret-key-2` };
            assert.deepEqual({ authorization: headers.authorization, 'x-api-key': headers['x-api-key'] }, key);
          };
          sent('first', first);
          sent('second', second);
          const [one, other] = [first, second].map(({ requests }) => JSON.parse(requests[0]!.body.toString()));
          assert.deepEqual({ ...one, model: 'at-second' }, other);
        });

        test('the reservation is kept while routes are tried', async () => {
          const held: bigint[] = [];
          const look = async (): Promise<void> => void held.push((await account.money()).heldNano);
          first.respond = async (request, response) => {
            await look();
            await json(503, {})(request, response);
          };
          second.respond = async (request, response) => {
            await look();
            await success()(request, response);
          };
          await assertServedBy('second', await send('pair'), [failed('first')]);
          assert.equal(held.length, 2);
          assert.ok(held[0]! > 0n);
          assert.equal(held[0], held[1]);
        });
      });
    }

    test(`${family.name}: a stream that breaks off after its first event is not restarted elsewhere`, async () => {
      const begun = begunStream(family);
      first.respond = (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(begun.join(''), () => response.socket!.resetAndDestroy());
      };
      const response = await call(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      assertBrokenOff(response, family, begun.join(''), 'upstream_error');
      const { status, route } = await account.endedCall();
      assert.deepEqual([status, route.provider], ['aborted', `first-${family.name}`]);
      assert.deepEqual(asked(), [1, 0, 0]);
    });

    const errorEvent = (type: string) =>
      family.name === 'chat'
        ? `data: ${JSON.stringify({ error: { message: 'No.', type, code: type } })}\n\n`
        : `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, message: 'No.' } })}\n\n`;
    const openings =
      family.name === 'chat' ? [] : [['event: ping\ndata: {"type":"ping"}\n\n'], family.stream(['']).slice(0, 1)];

    for (const type of ['overloaded_error', 'rate_limit_error']) {
      for (const opening of [[], [': processing\n\n'], ...openings]) {
        test(`${family.name}: a stream that begins with ${JSON.stringify(opening[0] ?? '')} and ${type}: another route is tried`, async () => {
          first.respond = sse([...opening, errorEvent(type)]);
          second.respond = sse(family.stream(['Hello']));
          const response = await call(gateway.url + family.path, account.key, requestOf(true, 'pair'));
          assert.ok(response.text.startsWith(begunStream(family).join('')) && response.text.endsWith(family.terminal));
          const { route, failedRoutes } = await account.endedCall();
          assert.deepEqual([route.provider, failedRoutes.length], [`second-${family.name}`, 1]);
          await assertSpent(account, family.cost);
        });
      }
    }

    test(`${family.name}: a stream of the last route that begins with an overload error is forwarded as sent`, async () => {
      first.respond = json(503, { error: { message: 'Busy.' } });
      second.respond = sse([errorEvent('overloaded_error')]);
      const response = await call(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      assert.deepEqual([response.status, response.text], [200, errorEvent('overloaded_error')]);
      await account.endedCall();
      assert.equal((await account.money()).heldNano, 0n);
      await assertSpent(account, 0n);
    });

    test(`${family.name}: a stream that begins with another error may have run, and is not restarted elsewhere`, async () => {
      first.respond = sse([errorEvent('api_error')]);
      const response = await call(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      assert.equal(response.text, errorEvent('api_error'));
      await account.endedCall();
      await assertFree(account, { status: 'aborted', httpStatus: 200, errorCode: 'upstream_error' });
      assert.deepEqual(asked(), [1, 0, 0]);
    });

    test(`${family.name}: a stream that reports overload after its first words is not restarted elsewhere`, async () => {
      const begun = begunStream(family);
      first.respond = sse([...begun, errorEvent('overloaded_error')]);
      const response = await call(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      assert.equal(response.text, begun.join('') + errorEvent('overloaded_error'));
      assert.deepEqual(asked(), [1, 0, 0]);
    });

    test(`${family.name}, non-streaming: a client that disconnects before the second route is tried pays nothing`, async () => {
      const live = heldRefusal();
      first.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(false, 'pair'));
      await first.received(1);
      started.drop();
      await left;
      live.refuse();
      await assertLeft(account);
      assert.deepEqual(asked(), [1, 0, 0]);
    });

    test(`${family.name}, streaming: a client that disconnects before the second route is tried pays nothing`, async () => {
      const refusal = heldRefusal();
      first.respond = refusal.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      await first.received(1);
      started.drop();
      await left;
      refusal.refuse();
      await account.endedCall();
      await assertSpent(account, 0n);
      assert.deepEqual(asked(), [1, 0, 0]);
    });

    test(`${family.name}: a client that disconnects while the second route is tried pays for that attempt`, async () => {
      const live = liveResponse({ 'content-type': 'application/json' });
      first.respond = json(503, {});
      second.respond = live.respond;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(false, 'pair'));
      await live.opened;
      started.drop();
      await left;
      await live.write(JSON.stringify(family.whole()));
      live.end();
      const { status, route } = await account.endedCall();
      assert.deepEqual([status, route.provider], ['succeeded', `second-${family.name}`]);
      await assertSpent(account, family.cost);
    });
  }

  test('of routes with equal priority, the one that was not drawn is tried second', async () => {
    const [chat] = families;
    const send = () => call(gateway.url + chat!.path, account.key, requestOf(false, 'equal'));
    const order: string[] = [];
    const busy =
      (name: string): Respond =>
      (request, response) => {
        order.push(name);
        return json(503, {})(request, response);
      };
    first.respond = busy('first');
    second.respond = busy('second');
    for (const drawn of [0.24, 0.26]) {
      randomSource = drawn;
      assert.equal((await send()).status, 503);
    }
    assert.deepEqual(order, ['first', 'second', 'second', 'first']);
    await assertSpent(account, 0n);
  });

  describe('image edits', () => {
    /** Larger than any buffer on the way. */
    const picture = file('image', png(64, 64, 3 * 1024 * 1024));
    const send = (form: Buffer): Promise<ClientResponse> =>
      call(`${gateway.url}/v1/images/edits`, account.key, form, { headers: { 'content-type': formType(BOUNDARY) } });
    const formFor = (model: string): Buffer => editForm({ model }, [picture, text('prompt', 'Add a boat')]);

    test('an upload is sent again, unchanged, to the next route', async () => {
      first.respond = json(503, {});
      second.respond = json(200, imagesBody());
      const form = formFor('brush');
      const response = await send(form);
      assert.equal(response.status, 200, response.text);
      for (const { requests } of [first, second]) {
        assert.equal(requests.length, 1);
        assert.equal(requests[0]!.headers['content-length'], String(form.length));
        assert.equal(requests[0]!.headers['content-type'], formType(BOUNDARY));
        assert.ok(requests[0]!.body.equals(form));
      }
      assert.equal((await account.lastCall()).route.provider, 'second-chat');
      await assertSpent(account, USAGE_NANO);
    });

    for (const [what, model] of [
      ['refuses the connection', 'away-brush'],
      ['responds with 503 before the upload has arrived', 'hasty-brush'],
    ] as const) {
      test(`an upload that the first provider did not read is completely sent to the second: it ${what}`, async () => {
        second.respond = json(200, imagesBody());
        const form = formFor(model);
        const response = await send(form);
        assert.equal(response.status, 200, response.text);
        assert.ok(second.requests[0]!.body.equals(form));
        await assertSpent(account, USAGE_NANO);
      });
    }

    test('an upload is not sent again after a connection reset', async () => {
      first.respond = (_request, response) => void response.socket!.resetAndDestroy();
      const response = await send(editForm({ model: 'brush' }, editParts));
      assertError(response, families[0]!, { status: 502, code: 'upstream_error', retry: 'false' });
      assert.deepEqual(asked(), [1, 0, 0]);
      await assertFree(account, { httpStatus: 502, errorCode: 'upstream_error' });
    });
  });

  describe('a call that continues provider state', () => {
    const send = (body: object): Promise<ClientResponse> => call(`${gateway.url}/v1/responses`, account.key, body);

    /** Makes the second provider create a response, because the first refuses the call. */
    async function makeAtSecond(id: string): Promise<void> {
      first.respond = json(503, {});
      second.respond = json(200, responseObject({ id }));
      assert.equal((await send({ model: 'kept', input: 'Hello' })).status, 200);
      assert.deepEqual(asked(), [1, 1, 0]);
      first.respond = unexpected;
    }

    test('prefers the route that created it after a failover over better routes', async () => {
      await makeAtSecond('resp_kept');
      const response = await send({ model: 'kept', previous_response_id: 'resp_kept', input: 'And?' });
      assert.equal(response.status, 200);
      assert.deepEqual(asked(), [1, 2, 0]);
      await assertSpent(account, 2n * RESPONSES_COST);
    });

    test('uses no other route if its provider refuses the call', async () => {
      await makeAtSecond('resp_stuck');
      second.respond = json(503, { error: { message: 'Busy.' } }, { 'retry-after': '9' });
      const response = await send({ model: 'kept', previous_response_id: 'resp_stuck', input: 'And?' });
      assert.equal(response.status, 503);
      assert.equal(response.json.error.message, 'Busy.');
      assert.equal(response.headers['retry-after'], '9');
      assert.deepEqual(asked(), [1, 2, 0]);
      await assertSpent(account, RESPONSES_COST);
    });
  });

  test('many concurrent calls with failover are charged once each', async () => {
    first.respond = json(429, {}, { 'retry-after': '0' });
    second.respond = json(200, families[0]!.whole());
    const body = requestOf(false, 'pair');
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => call(gateway.url + families[0]!.path, account.key, body)),
    );
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    assert.deepEqual(asked(), [20, 20, 0]);
    await assertSpent(account, 20n * costNano({ input: 11, output: 7 }));
  });
});

describe('failover, with onClientAbort: drain', () => {
  let scene: Scene;
  before(async () => {
    scene = await setScene(() => 0, 'onClientAbort: drain');
  });
  after(() => scene?.close());

  for (const family of families) {
    test(`${family.name}: a stream is not started at the second route if the client has disconnected`, async () => {
      const { gateway, first, second } = scene;
      const account = await gateway.createAccount();
      const live = heldRefusal();
      first.respond = live.respond;
      const before = first.requests.length;
      const left = clientLeaves(gateway);
      const started = startCall(gateway.url + family.path, account.key, requestOf(true, 'pair'));
      await first.received(before + 1);
      started.drop();
      await left;
      live.refuse();
      await assertLeft(account);
      assert.equal(second.requests.length, 0);
    });
  }
});

/** A 503 that is sent when a test requests it. */
function heldRefusal(): { readonly respond: Respond; refuse(): void } {
  let refuse = (): void => assert.fail('nothing was asked yet');
  return {
    respond(request, response) {
      refuse = () => void json(503, {})(request, response);
    },
    refuse: () => refuse(),
  };
}

/** Asserts the end of a call whose client disconnected before a provider accepted it. */
async function assertLeft(account: TestAccount): Promise<void> {
  const { status, chargeYuan } = await account.endedCall();
  assert.deepEqual([status, chargeYuan], ['failed', null]);
  await assertSpent(account, 0n);
}
