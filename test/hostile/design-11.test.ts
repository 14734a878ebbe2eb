import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startCall } from '../support/client.ts';
import { engines } from '../support/database.ts';
import {
  assertBrokenOff,
  assertError,
  assertEstimated,
  bytesOf,
  type Family,
  families,
  modes,
  requestOf,
} from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import {
  answerBytes,
  answers,
  answersAndCloses,
  type Behaviour,
  chunks,
  type HostileConnection,
  type HostileProvider,
  startHostileProvider,
} from '../support/hostile-provider.ts';
import { type RunningProgram, startProgram, temporaryDirectory } from '../support/process.ts';
import { openConnection, requestBytes } from '../support/raw.ts';
import {
  ask,
  assertFailed,
  assertServed,
  BROKEN,
  callOf,
  type HostileScene,
  INVALID,
  modelOf,
  providerPair,
  relayedStream,
  setScene,
  tooLate,
} from './scene.ts';

/** "What happens when" (design 11), row by row: what the client sees, what the account pays, what the route is told. */

const SSE = ['content-type: text/event-stream', 'transfer-encoding: chunked'];

/** The whole success of a family. */
function success(family: Family, isStream: boolean): Buffer {
  return isStream
    ? answerBytes({ headers: SSE, body: chunks(family.stream(['Hello'])) })
    : jsonBytes(200, JSON.stringify(family.whole()));
}

function successBody(family: Family, isStream: boolean): string {
  return isStream ? relayedStream(family, ['Hello']) : JSON.stringify(family.whole());
}

function jsonBytes(status: number, body: string, ...headers: readonly string[]): Buffer {
  const own = ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`];
  return answerBytes({ status, headers: [...own, ...headers], body });
}

/** The events of a stream up to and with the word that it says. */
function begunStream(family: Family): string {
  return family
    .stream(['Hello'])
    .slice(0, family.name === 'chat' ? 2 : 4)
    .join('');
}

function eachCase(run: (family: Family, isStream: boolean, name: string) => void): void {
  for (const family of families)
    for (const { kind, isStream } of modes) run(family, isStream, `${family.name}, ${kind}`);
}

for (const engine of engines) {
  describe(`design 11, ${engine}`, () => {
    let scene: HostileScene;
    before(async () => {
      scene = await setScene((url) => ({
        engine,
        providers: [
          // Nobody listens on this port of this machine.
          providerPair('away', 'http://127.0.0.1:1'),
          providerPair('spare', url),
          providerPair('secure', url.replace('http:', 'https:'), 'timeouts: { connect: 60ms }'),
        ].join(''),
        models: modelOf('away') + modelOf('away-spare', ['away', 'spare']) + modelOf('secure'),
      }));
    });
    after(() => scene?.close());

    describe('the provider refuses connections, another route is healthy: success, charged once, for the route used', () => {
      eachCase((family, isStream, name) => {
        test(name, async () => {
          const { path, protocol, behaviour } = callOf(family, isStream, answers(success(family, isStream)));
          const body = requestOf(isStream, 'away-spare');
          const ended = await scene.send({ path, protocol, behaviour, body, provider: 'spare' });
          await assertServed(ended, { body: successBody(family, isStream), costNano: family.cost });
          assert.equal(ended.record.route.provider, `spare-${family.name}`);
        });
      });
    });

    describe('the provider refuses connections, it was the last route: 502 upstream_error, retryable, nothing', () => {
      eachCase((family, isStream, name) => {
        test(`${name}, a refused connection`, async () => {
          const ended = await scene.send(callOf(family, isStream, () => undefined, 'away'));
          await assertFailed(ended, family, { ...BROKEN, retry: 'true' });
        });
      });

      for (const family of families) {
        const noTls: Record<string, Behaviour> = {
          'no TLS behind the port': async (connection) => {
            await connection.send('HTTP/1.1 400 Bad Request\r\n\r\n');
            connection.fin();
          },
          'a handshake that breaks off': (connection) => connection.reset(),
          'a handshake that is never answered': ({ closed }) => closed,
        };
        for (const [what, behaviour] of Object.entries(noTls)) {
          test(`${family.name}, ${what}`, async () => {
            const ended = await scene.send(callOf(family, false, behaviour, 'secure'));
            await assertFailed(ended, family, { ...BROKEN, retry: 'true' });
          });
        }
      }
    });

    describe('provider non-2xx: same status, our envelope, safe headers, nothing', () => {
      for (const status of [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529]) {
        test(`${status}`, async () => {
          const error = { message: `Said with ${status}.`, type: 'some_error', code: 'some_code', param: null };
          const bytes = jsonBytes(
            status,
            JSON.stringify({ error }),
            'retry-after: 3',
            'x-request-id: req_theirs',
            'server: x',
          );
          for (const [family, isStream] of [
            [families[0]!, false],
            [families[1]!, true],
          ] as const) {
            const { answer, account, record, told } = await scene.send(callOf(family, isStream, answers(bytes)));
            assert.equal(answer.status, status);
            assert.equal(answer.json.error.message, error.message);
            assert.equal(answer.headers['x-error-code'], error.code);
            assert.deepEqual([answer.headers['retry-after'], answer.headers.server], ['3', undefined]);
            assert.deepEqual(
              [answer.headers['x-request-id'], answer.headers['request-id']],
              ['req_theirs', 'req_theirs'],
            );
            assert.equal(answer.headers['x-should-retry'], status === 502 || status === 504 ? 'false' : undefined);
            assert.deepEqual(
              [record.status, record.httpStatus, record.errorCode, record.usage],
              ['failed', status, error.code, null],
            );
            assert.equal(record.requestId, 'req_theirs');
            assert.equal(told, status >= 500 ? `failed: status ${status}` : 'it answers');
            await assertSpent(account, 0n);
          }
        });
      }
    });

    describe('provider sends broken JSON, HTML, or an empty 200: 502 upstream_error, nothing', () => {
      const html = '<!doctype html><title>Welcome</title>';
      const bodies: Record<string, Behaviour> = {
        'broken JSON': answers(jsonBytes(200, '{"usage":')),
        HTML: answers(
          answerBytes({ headers: ['content-type: text/html', `content-length: ${html.length}`], body: html }),
        ),
        'an empty 200': answers(jsonBytes(200, '')),
        'an empty 200 without a length': answersAndCloses(answerBytes({ headers: ['connection: close'] })),
      };
      for (const [what, behaviour] of Object.entries(bodies)) {
        eachCase((family, isStream, name) => {
          test(`${name}, ${what}`, async () => {
            await assertFailed(await scene.send(callOf(family, isStream, behaviour)), family, INVALID);
          });
        });
      }
    });

    describe('first byte later than the limit: 504 upstream_timeout, nothing', () => {
      eachCase((family, isStream, name) => {
        test(name, async () => {
          const behaviour: Behaviour = (connection) => connection.request().then(() => connection.closed);
          const ended = await scene.send(callOf(family, isStream, behaviour, 'late'));
          await assertFailed(ended, family, tooLate(family));
        });
      });
    });

    describe('stream stalls or drops midway: error event, connection closed, observed usage, estimated where it must be', () => {
      const endings: Record<
        string,
        { end: (connection: HostileConnection) => Promise<void> | void; provider: string }
      > = {
        stalls: { end: ({ closed }) => closed, provider: 'drowsy' },
        'is reset': { end: (connection) => connection.reset(), provider: 'hostile' },
        'is closed': { end: (connection) => connection.fin(), provider: 'hostile' },
      };
      for (const family of families) {
        for (const [what, { end, provider }] of Object.entries(endings)) {
          const isStalled = provider === 'drowsy';
          const code = isStalled ? 'upstream_timeout' : 'upstream_error';
          const sending =
            (events: string): Behaviour =>
            async (connection) => {
              await connection.request();
              await connection.send(answerBytes({ headers: SSE, body: chunks([events], { isEnded: false }) }));
              await end(connection);
            };

          test(`${family.name}, ${what} after some text`, async () => {
            const ended = await scene.send(callOf(family, true, sending(begunStream(family)), provider));
            const type = isStalled ? family.timeoutType : 'api_error';
            assertBrokenOff(ended.answer, family, begunStream(family), code, type);
            assert.ok(ended.answer.isComplete);
            const input = family.inputTokens(bytesOf(requestOf(true, provider)));
            await assertEstimated(ended.account, { input, output: 2 }, { status: 'aborted', errorCode: code });
            assert.equal(ended.told, `failed: ${code}`);
          });

          test(`${family.name}, ${what} after the usage`, async () => {
            const events = family.stream(['Hello']).slice(0, -1).join('');
            const ended = await scene.send(callOf(family, true, sending(events), provider));
            assert.match(ended.answer.text, new RegExp(code));
            assert.ok(!ended.answer.text.includes(family.terminal));
            assert.deepEqual(
              [ended.record.status, ended.record.errorCode, ended.record.usage.source],
              ['aborted', code, 'observed'],
            );
            assert.equal(ended.told, `failed: ${code}`);
            await assertSpent(ended.account, family.cost);
          });
        }
      }
    });

    describe('client drops: a whole answer is awaited and settled, a stream is cancelled and settled as far as it came', () => {
      for (const family of families) {
        test(`${family.name}, whole`, async () => {
          const account = await scene.gateway.createAccount();
          const asked = Promise.withResolvers<void>();
          const left = clientLeaves(scene);
          scene.hostile.behave = async (connection) => {
            await connection.request();
            asked.resolve();
            await left;
            await connection.send(success(family, false));
          };
          const started = startCall(scene.gateway.url + family.path, account.key, requestOf(false, 'hostile'));
          await asked.promise;
          started.drop();
          const { status, httpStatus, usage } = await account.endedCall();
          assert.deepEqual([status, httpStatus, usage.source], ['succeeded', 200, 'observed']);
          await assertSpent(account, family.cost);
        });

        test(`${family.name}, stream`, async () => {
          const account = await scene.gateway.createAccount();
          const hungUp = Promise.withResolvers<void>();
          scene.hostile.behave = async (connection) => {
            await connection.request();
            await connection.send(
              answerBytes({ headers: SSE, body: chunks([begunStream(family)], { isEnded: false }) }),
            );
            await connection.closed;
            hungUp.resolve();
          };
          const body = requestOf(true, 'hostile');
          const started = startCall(scene.gateway.url + family.path, account.key, body);
          await (await started.answer).until('Hello');
          started.drop();
          await hungUp.promise;
          const tokens = { input: family.inputTokens(bytesOf(body)), output: 2 };
          await assertEstimated(account, tokens, { status: 'aborted', errorCode: null });
        });
      }
    });

    describe('database away at admission: 500 internal_error, at once, no provider call, nothing', () => {
      eachCase((family, isStream, name) => {
        test(name, async () => {
          const account = await scene.gateway.createAccount();
          const admissions = scene.gateway.observed.statement('billing.admit-holds');
          const { connections } = scene.hostile;
          const asked = scene.hostile.requests.length;
          admissions.fail('before');
          try {
            const answer = await ask(scene.gateway.url, family.path, account.key, requestOf(isStream, 'hostile'));
            assertError(answer, family, { status: 500, code: 'internal_error' });
          } finally {
            admissions.recover();
          }
          assert.deepEqual([scene.hostile.connections, scene.hostile.requests.length], [connections, asked]);
          await assertSpent(account, 0n);
        });
      });
    });

    describe('database away at settlement: the success, charged when it is back, once', () => {
      eachCase((family, isStream, name) => {
        test(`${name}: back within seconds`, async () => {
          const { gateway, hostile } = scene;
          const account = await gateway.createAccount();
          const ends = gateway.observed.statement('billing.end-calls');
          const { asked } = ends;
          ends.hold();
          hostile.behave = answers(success(family, isStream));
          const answered = ask(gateway.url, family.path, account.key, requestOf(isStream, 'hostile'));
          await ends.reached(asked + 1);
          ends.fail('before');
          ends.release();
          // The first try has failed by now, the second one comes later.
          await (await fetch(`${gateway.url}/healthz`)).text();
          ends.recover();
          const answer = await answered;
          assert.deepEqual([answer.status, answer.text], [200, successBody(family, isStream)]);
          await assertSpent(account, family.cost);
        });
      });

      const todo =
        'the local journal is not built: a success is withheld once its settlement has been tried for five seconds';
      test('away for longer: the success leaves, and is charged from the journal', { todo }, () => {
        assert.fail('there is no journal');
      });
    });
  });
}

describe("design 11, every route's breaker is open: 503 MODEL_ROUTING_NO_HEALTHY_ROUTE, retry-after, nothing", () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene({ routing: '{ breaker: { failures: 1, probeAfter: 1h } }' });
  });
  after(() => scene?.close());

  for (const family of families) {
    test(family.name, async () => {
      const { gateway, hostile } = scene;
      const account = await gateway.createAccount();
      const send = (isStream: boolean) => ask(gateway.url, family.path, account.key, requestOf(isStream, 'hostile'));
      hostile.behave = answers(jsonBytes(500, '{}'));
      assert.equal((await send(false)).status, 500);
      const asked = hostile.requests.length;
      for (const { isStream } of modes) {
        const answer = await send(isStream);
        assert.equal(answer.status, 503);
        const { error } = answer.json;
        const code = family.name === 'chat' ? error.code : error.details.error_code;
        assert.equal(code, 'MODEL_ROUTING_NO_HEALTHY_ROUTE');
        assert.ok(Number(answer.headers['retry-after']) > 0);
        assert.equal(answer.headers['x-should-retry'], 'true');
      }
      assert.equal(hostile.requests.length, asked);
      await assertSpent(account, 0n);
    });
  }
});

describe('design 11, node killed: connection reset, hold released, call unresolved', () => {
  const directory = temporaryDirectory();
  const config = join(directory.path, 'killed.yaml');
  let hostile: HostileProvider;
  let program: RunningProgram;
  let url: string;
  before(async () => {
    hostile = await startHostileProvider();
    writeFileSync(
      config,
      `
providers: { acme: { protocol: chat, baseUrl: "${hostile.url}/v1", apiKey: a-key } }
models: { kill: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: acme, model: x }] } }
`,
    );
  });
  after(async () => {
    program?.child.kill('SIGKILL');
    await program?.finished;
    await hostile.close();
    directory.remove();
  });

  async function serve(): Promise<void> {
    const environment = {
      FAREGATE_ADMIN_TOKEN: 'killed-token',
      FAREGATE_DATA_DIR: join(directory.path, 'data'),
      PORT: '0',
    };
    program = startProgram(['serve', '--config', config], { environment, directory: directory.path });
    url = /listening on (\S+)/.exec(await program.printed(/listening on \S+\n/))![1]!;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function admin(method: string, path: string, body?: object): Promise<any> {
    const headers = { authorization: 'Bearer killed-token', 'content-type': 'application/json' };
    const answer = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return answer.json();
  }

  test('the next start gives the hold back, and charges nothing', async (context) => {
    await serve();
    const { id } = await admin('POST', '/accounts', { name: 'killed', verified: true });
    await admin('POST', `/accounts/${id}/top-ups`, { amountYuan: '100' });
    const { key } = await admin('POST', `/accounts/${id}/keys`, { name: 'killed' });
    const asked = Promise.withResolvers<void>();
    hostile.behave = async (connection) => {
      await connection.request();
      asked.resolve();
      await connection.closed;
    };
    const broken = assert.rejects(startCall(`${url}/v1/chat/completions`, key, requestOf(false, 'kill')).answer, {
      code: 'ECONNRESET',
    });
    await asked.promise;
    assert.notEqual((await admin('GET', `/accounts/${id}`)).heldYuan, '0');
    program.child.kill('SIGKILL');
    await program.finished;
    await broken;

    await serve();
    const account = await admin('GET', `/accounts/${id}`);
    assert.deepEqual([account.balanceYuan, account.heldYuan], ['100', '0']);
    assert.equal((await admin('GET', '/audit')).isSound, true);

    await context.test('the call is on record as unresolved', { todo: 'it is only logged' }, async () => {
      const { data } = await admin('GET', `/calls?accountId=${id}`);
      assert.equal(data[0]?.status, 'unresolved');
    });
  });
});

describe('design 11, disk full, journal unwritable: new calls refused, those in flight end with an error event', () => {
  test('nothing is lost that was promised', { todo: 'the local journal is not built' }, () => {
    assert.fail('there is no journal');
  });
});

describe("design 11, 10,000 bad bodies: 400, 413 or 415 each, in the protocol's envelope, nothing", () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene({ server: 'bodyLimit: 1KiB' });
  });
  after(() => scene?.close());

  const [chat, messages] = families as readonly [Family, Family];
  const json = 'application/json';
  const bad = [
    { family: chat, status: 400, code: 'invalid_request_error', type: json, body: '{"model":', times: 4_950 },
    { family: messages, status: 400, code: 'invalid_request_error', type: json, body: '\u0000', times: 2_450 },
    { family: chat, status: 415, code: 'unsupported_media_type', type: 'text/plain', body: '{}', times: 2_500 },
    { family: messages, status: 413, code: 'request_too_large', type: json, body: 'x'.repeat(2000), times: 100 },
  ];

  for (const { family, status, code, type, body, times } of bad) {
    test(`${family.name}: ${times} times ${status}`, async () => {
      const { gateway, hostile } = scene;
      const account = await gateway.createAccount();
      const { connections } = hostile;
      const headers = [
        ['authorization', `Bearer ${account.key}`],
        ['content-type', type],
      ] as const;
      const bytes = requestBytes({ path: family.path, headers, body });
      let answered = 0;
      while (answered < times) {
        const connection = await openConnection(gateway.url);
        let isOpen = true;
        // A few at a time on one connection, until the gateway closes it.
        while (isOpen && answered < times) {
          const batch = Math.min(50, times - answered);
          connection.write(Buffer.concat(Array.from({ length: batch }, () => bytes)));
          for (let i = 0; i < batch && isOpen; i++) {
            const answer = await connection.answer();
            assert.equal(answer.status, status);
            const { error } = JSON.parse(answer.body.toString());
            assert.equal(family.name === 'chat' ? error.code : error.details.error_code, code);
            answered++;
            isOpen = answer.headers.connection !== 'close';
          }
        }
        connection.destroy();
      }
      assert.equal(hostile.connections, connections);
      await assertSpent(account, 0n);
    });
  }
});

/** Resolves when the gateway has noticed that the client of the next request is gone. */
function clientLeaves({ gateway }: HostileScene): Promise<void> {
  return new Promise((resolve) => {
    gateway.gateway.app.server.once('request', (_request: unknown, response: ServerResponse) => {
      response.once('close', () => resolve());
    });
  });
}
