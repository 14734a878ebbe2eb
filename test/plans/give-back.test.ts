import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { type Family, families, modes, requestOf } from '../support/families.ts';
import { clientLeaves, startGateway, type TestGateway } from '../support/gateway.ts';
import { json, liveResponse, type Respond, sse } from '../support/provider.ts';
import { createSubscriber, nothingInFlight, plansText, type Subscriber, type Use } from './coding.ts';

/**
 * Which calls count on a Coding Plan: those whose success has begun, even if it cannot be used or its client has left. Every other one
 * leaves the plan unchanged.
 */

const NOTHING: Use = { fiveHour: 0, weekly: 0, inFlight: 0, tokens: 0 };
/** A non-streaming response, or a stream that reached its end. */
const ONE_CALL: Use = { fiveHour: 1, weekly: 1, inFlight: 0, tokens: 18 };
/** A success that cannot be used, so that its tokens are not known. */
const ONE_CALL_IN_VAIN: Use = { ...ONE_CALL, tokens: 0 };

/** The coding addresses of both families. */
const addresses = families.map((family) => ({
  ...family,
  path: family.name === 'chat' ? '/v1/coding/chat/completions' : '/v1/coding/altproto/messages',
}));

interface Failing {
  readonly respond: Respond;
  readonly status: number;
}

/** Responses that are no success, and the status that the client gets. */
function failures(isStream: boolean): Record<string, Failing> {
  const error = { error: { message: 'No.', type: 'some_error' } };
  const head = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
  return {
    'a provider that responds with 400': { respond: json(400, error), status: 400 },
    'a provider that responds with 401': { respond: json(401, error), status: 502 },
    'a provider that responds with 429': { respond: json(429, error), status: 429 },
    'a provider that responds with 500': { respond: json(500, error), status: 500 },
    'a provider that responds with 529': { respond: json(529, error), status: 529 },
    'a redirect': {
      respond: (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
      status: 502,
    },
    'a connection that is reset before the head': {
      respond: (_request, response) => void response.socket!.resetAndDestroy(),
      status: 502,
    },
    'a connection that is reset after the head': {
      respond: (_request, response) => {
        response.writeHead(200, head);
        response.flushHeaders();
        response.socket!.resetAndDestroy();
      },
      status: 502,
    },
    'a response that is not HTTP': {
      respond: (_request, response) => void response.socket!.end('SSH-2.0-OpenSSH_9.9\r\n'),
      status: 502,
    },
    'a provider that never responds': { respond: () => undefined, status: 504 },
  };
}

/** Successes that cannot be used: the provider has done the work. */
function unusableSuccesses(family: Family, isStream: boolean): Record<string, Failing> {
  const head = { 'content-type': isStream ? 'text/event-stream' : 'application/json' };
  return {
    'a 204': { respond: (_request, response) => void response.writeHead(204).end(), status: 502 },
    'a page of HTML': {
      respond: (_request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end('<html></html>');
      },
      status: 502,
    },
    'an empty 200': { respond: (_request, response) => void response.writeHead(200, head).end(), status: 502 },
    'broken JSON': { respond: json(200, '{"choices": ['), status: 502 },
    ...(isStream
      ? { 'a whole response in place of a stream': { respond: json(200, family.whole()), status: 502 } }
      : {
          'a response without usage': { respond: json(200, family.whole(null)), status: 502 },
          'a response that breaks off': {
            respond: (_request: unknown, response: ServerResponse) => {
              response.writeHead(200, { ...head, 'content-length': '100000' });
              response.write(JSON.stringify(family.whole()), () => response.socket!.resetAndDestroy());
            },
            status: 502,
          },
        }),
  };
}

describe(`plan usage of a coding call`, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({
      plans: plansText({ plan: {} }),
      providerFields: 'timeouts: { firstByte: 200ms, idle: 1s }',
    });
  });
  after(() => gateway.stop());

  for (const family of addresses) {
    for (const { kind, isStream } of modes) {
      describe(`${family.name}, ${kind}`, () => {
        let subscriber: Subscriber;

        async function send(respond: Respond, body: object = requestOf(isStream)): Promise<ClientResponse> {
          subscriber = await createSubscriber(gateway, 'plan');
          gateway.provider.respond = respond;
          return call(gateway.url + family.path, subscriber.key, body);
        }

        for (const [what, { respond, status }] of Object.entries(failures(isStream))) {
          it(`${what} costs nothing`, async () => {
            const response = await send(respond);
            assert.equal(response.status, status, response.text);
            assert.deepEqual(await subscriber.used(), NOTHING);
            const { context, chargeYuan, usage } = await subscriber.lastCall();
            assert.deepEqual([context, chargeYuan, usage], ['coding', null, null]);
          });
        }

        for (const [what, { respond, status }] of Object.entries(unusableSuccesses(family, isStream))) {
          it(`${what} costs a call`, async () => {
            const response = await send(respond);
            assert.equal(response.status, status, response.text);
            assert.deepEqual(await subscriber.used(), ONE_CALL_IN_VAIN);
            const { context, chargeYuan, usage } = await subscriber.lastCall();
            assert.deepEqual([context, chargeYuan, usage], ['coding', null, null]);
          });
        }

        it('a success costs a call and its tokens', async () => {
          const response = await send(isStream ? sse(family.stream(['Hello'])) : json(200, family.whole()));
          assert.equal(response.status, 200);
          assert.deepEqual(await subscriber.used(), ONE_CALL);
          assert.deepEqual(await subscriber.money(), { balanceNano: 0n, heldNano: 0n });
        });

        it('a refusal before admission costs nothing and does not reach the provider', async () => {
          const asked = gateway.provider.requests.length;
          const response = await send(json(200, family.whole()), requestOf(isStream, `test-${family.name}`));
          assert.equal(response.status, 400, response.text);
          assert.equal(response.headers['x-error-code'], 'model_not_in_package');
          assert.equal(gateway.provider.requests.length, asked);
          assert.deepEqual(await subscriber.used(), NOTHING);
        });

        // Of streams: test/relay/client-aborts.test.ts.
        if (!isStream) {
          it('a call whose client leaves before the provider has responded costs what its response reports', async () => {
            subscriber = await createSubscriber(gateway, 'plan');
            const live = liveResponse({ 'content-type': 'application/json' });
            const asked = gateway.provider.requests.length;
            gateway.provider.respond = live.respond;
            const left = clientLeaves(gateway);
            const started = startCall(gateway.url + family.path, subscriber.key, requestOf(false));
            await gateway.provider.received(asked + 1);
            assert.deepEqual(await subscriber.used(), { ...NOTHING, fiveHour: 1, weekly: 1, inFlight: 1 });
            started.drop();
            await left;
            await live.write(JSON.stringify(family.whole()));
            live.end();
            await nothingInFlight(gateway.database, subscriber.id);
            assert.deepEqual(await subscriber.used(), ONE_CALL);
          });
        }

        it('a client that leaves a provider that never responds costs nothing', async () => {
          subscriber = await createSubscriber(gateway, 'plan');
          const asked = gateway.provider.requests.length;
          gateway.provider.respond = () => undefined;
          const started = startCall(gateway.url + family.path, subscriber.key, requestOf(isStream));
          await gateway.provider.received(asked + 1);
          started.drop();
          await nothingInFlight(gateway.database, subscriber.id);
          assert.deepEqual(await subscriber.used(), NOTHING);
        });
      });
    }

    describe(`${family.name}, a stream that has begun`, () => {
      const begun = family.stream(['Hello', ' there', '!']).slice(0, family.name === 'chat' ? 4 : 6);

      /** A call that counts, whose tokens were estimated in part. */
      async function assertCounted(subscriber: Subscriber): Promise<void> {
        await nothingInFlight(gateway.database, subscriber.id);
        const { tokens, ...calls } = await subscriber.used();
        assert.deepEqual(calls, { fiveHour: 1, weekly: 1, inFlight: 0 });
        const { usage, chargeYuan } = await subscriber.endedCall();
        assert.deepEqual([usage.source, chargeYuan], ['estimated', null]);
        assert.equal(tokens, usage.inputTokens + usage.outputTokens);
        assert.ok(usage.inputTokens > 0 && usage.outputTokens > 0);
      }

      for (const [what, respond] of Object.entries({
        'that the provider breaks off': (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(begun.join(''), () => response.socket!.resetAndDestroy());
        },
        'that just ends': sse(begun),
        'in which the provider says that it failed': sse([...begun, family.errorEvent]),
        'that stalls': (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write(begun.join(''));
        },
      } satisfies Record<string, Respond>)) {
        it(`${what} keeps its slot, and its tokens are those that were received`, async () => {
          const subscriber = await createSubscriber(gateway, 'plan');
          gateway.provider.respond = respond;
          const response = await call(gateway.url + family.path, subscriber.key, requestOf(true));
          assert.equal(response.status, 200);
          await assertCounted(subscriber);
        });
      }

      it('and is left by its client keeps its slot, and its tokens are those that were received', async () => {
        const subscriber = await createSubscriber(gateway, 'plan');
        const live = liveResponse();
        gateway.provider.respond = live.respond;
        const started = startCall(gateway.url + family.path, subscriber.key, requestOf(true));
        await live.opened;
        await live.write(begun.join(''));
        await (await started.response).until('!');
        started.drop();
        await live.closed;
        await assertCounted(subscriber);
      });
    });
  }

  it('cached and written tokens of the input count like the others', async () => {
    const subscriber = await createSubscriber(gateway, 'plan');
    gateway.provider.respond = json(
      200,
      families[1]!.whole({
        input_tokens: 3,
        output_tokens: 5,
        cache_read_input_tokens: 700,
        cache_creation_input_tokens: 1_100,
        cache_creation: { ephemeral_5m_input_tokens: 1_000, ephemeral_1h_input_tokens: 100 },
      }),
    );
    const response = await call(gateway.url + addresses[1]!.path, subscriber.key, requestOf(false));
    assert.equal(response.status, 200, response.text);
    assert.equal((await subscriber.used()).tokens, 3 + 5 + 700 + 1_100);
  });

  it('tokens that are part of others, such as cached ones of a chat response, count once', async () => {
    const subscriber = await createSubscriber(gateway, 'plan');
    const usage = { prompt_tokens: 1_000, completion_tokens: 50, prompt_tokens_details: { cached_tokens: 900 } };
    gateway.provider.respond = json(
      200,
      families[0]!.whole({ ...usage, completion_tokens_details: { reasoning_tokens: 40 } }),
    );
    const response = await call(gateway.url + addresses[0]!.path, subscriber.key, requestOf(false));
    assert.equal(response.status, 200, response.text);
    assert.equal((await subscriber.used()).tokens, 1_050);
  });
});
