import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { families, modes, modesOf, requestOf } from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import {
  type Behaviour,
  chunks,
  type HostileConnection,
  type RawResponseParts,
  responseBytes,
  responses,
  responsesAndCloses,
} from '../support/hostile-provider.ts';
import {
  ask,
  assertFailed,
  assertNamesNoProvider,
  assertServed,
  BROKEN,
  callOf,
  type ExpectedFailure,
  type HostileScene,
  INVALID,
  modelOf,
  providerPair,
  relayedStream,
  SSE,
  setScene,
  success,
  successBody,
  tooLate,
} from './scene.ts';

/** Valid and invalid HTTP framing of a provider's responses, and the results (RFC 9112). */

const JSON_TYPE = 'content-type: application/json';
const CHUNKED = 'transfer-encoding: chunked';
const length = (bytes: number | string): string => `content-length: ${bytes}`;

describe('framing', () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene?.close());

  for (const family of families) {
    const whole = JSON.stringify(family.whole());
    const response = (dependencies: RawResponseParts): Buffer =>
      responseBytes({
        ...dependencies,
        headers: [JSON_TYPE, ...(dependencies.headers ?? [])],
        body: dependencies.body ?? whole,
      });

    describe(`${family.name}, non-streaming`, () => {
      const fails = (what: string, behaviour: Behaviour, expected: ExpectedFailure): void => {
        test(`${what}: a ${expected.status}, and nothing is charged`, async () => {
          await assertFailed(await scene.send(callOf(family, false, behaviour)), family, expected);
        });
      };
      const served = (what: string, behaviour: Behaviour, body = whole): void => {
        test(`${what}: a success`, async () => {
          await assertServed(await scene.send(callOf(family, false, behaviour)), { body, costNano: family.cost });
        });
      };

      describe('a response with a correct length', () => {
        served('a length', responses(response({ headers: [length(Buffer.byteLength(whole))] })));
        served('chunks of one byte', responses(response({ headers: [CHUNKED], body: chunks([...whole]) })));
        served(
          'chunks with extensions and a trailer',
          responses(
            response({
              headers: [CHUNKED],
              body: `${Buffer.byteLength(whole).toString(16)};a=b;c="d"\r\n${whole}\r\n0\r\nx-trailer: x\r\n\r\n`,
            }),
          ),
        );
        served(
          'everything up to the end of the connection',
          responsesAndCloses(response({ headers: ['connection: close'] })),
        );
        served(
          'everything up to the end of the connection, by HTTP/1.0',
          responsesAndCloses(Buffer.from(response({}).toString().replace('HTTP/1.1', 'HTTP/1.0'))),
        );
      });

      describe('a response with a wrong length', () => {
        const bytes = Buffer.byteLength(whole);
        fails('a length that is one too long', responsesAndCloses(response({ headers: [length(bytes + 1)] })), BROKEN);
        fails('a length that is one too short', responses(response({ headers: [length(bytes - 1)] })), INVALID);
        fails('a negative length', responses(response({ headers: [length(-1)] })), BROKEN);
        fails('a length that is no number', responses(response({ headers: [length('0x10')] })), BROKEN);
        fails('a length beyond all numbers', responses(response({ headers: [length('9'.repeat(40))] })), BROKEN);
        fails('two different lengths', responses(response({ headers: [length(bytes), length(bytes + 1)] })), BROKEN);
        fails(
          'two different lengths in one line',
          responses(response({ headers: [length(`${bytes}, ${bytes + 1}`)] })),
          BROKEN,
        );
        fails(
          'a length beside chunks',
          responses(response({ headers: [length(3), CHUNKED], body: chunks([whole]) })),
          BROKEN,
        );
        fails(
          'chunks beside a length',
          responses(response({ headers: [CHUNKED, length(3)], body: chunks([whole]) })),
          BROKEN,
        );
        fails('a length of nothing', responses(response({ headers: [length(0)], body: '' })), INVALID);
      });

      describe('invalid chunks', () => {
        const half = [whole.slice(0, 20), whole.slice(20)];
        fails(
          'without the last one',
          responsesAndCloses(response({ headers: [CHUNKED], body: chunks(half, { isEnded: false }) })),
          BROKEN,
        );
        fails(
          'of a size that is no number',
          responses(response({ headers: [CHUNKED], body: `zz\r\n${whole}\r\n0\r\n\r\n` })),
          BROKEN,
        );
        fails(
          'of a negative size',
          responses(response({ headers: [CHUNKED], body: `-5\r\n${whole}\r\n0\r\n\r\n` })),
          BROKEN,
        );
        fails(
          'of a size beyond all numbers',
          responses(response({ headers: [CHUNKED], body: `${'f'.repeat(17)}\r\n${whole}\r\n` })),
          BROKEN,
        );
        fails(
          'longer than they say',
          responses(response({ headers: [CHUNKED], body: `2\r\n${whole}\r\n0\r\n\r\n` })),
          BROKEN,
        );
        fails(
          'under another name',
          responsesAndCloses(
            response({ headers: ['transfer-encoding: gzip, chunked, identity'], body: chunks([whole]) }),
          ),
          INVALID,
        );
      });

      describe('bytes that are not HTTP', () => {
        fails(
          'another version',
          responses(
            Buffer.from(
              response({ headers: [length(0)] })
                .toString()
                .replace('HTTP/1.1', 'HTTP/9.9'),
            ),
          ),
          BROKEN,
        );
        fails('a status of four digits', responses(response({ status: 2000, headers: [length(0)] })), BROKEN);
        fails('a header without a name', responses(response({ headers: [': x', length(0)] })), BROKEN);
        fails('a header without a colon', responses(response({ headers: ['what is this', length(0)] })), BROKEN);
        fails(
          'a space before the colon',
          responses(response({ headers: [`content-length : ${Buffer.byteLength(whole)}`] })),
          BROKEN,
        );
        fails('nothing but line ends', responsesAndCloses('\r\n'.repeat(1000)), BROKEN);
      });

      describe('interim responses', () => {
        const final = response({ headers: [length(Buffer.byteLength(whole))] });
        const hints = (count: number): string => 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(count);
        served('a thousand early hints', responses(Buffer.concat([Buffer.from(hints(1000)), final])));
        served(
          'still being processed',
          responses(Buffer.concat([Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'), final])),
        );
        fails(
          'an unrequested upgrade',
          responses('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
          BROKEN,
        );

        // RFC 9110, 15.2: a client ignores unexpected interim responses. The HTTP client ignores all but this one, which it
        // treats as a broken response; the call then fails, and costs nothing.
        fails(
          'an unasked 100 Continue, which is not passed over',
          responses(Buffer.concat([Buffer.from('HTTP/1.1 100 Continue\r\n\r\n'), final])),
          BROKEN,
        );

        test('endless early hints do not extend the time limit: a 504, and nothing is charged', async () => {
          const behaviour: Behaviour = async (connection) => {
            await connection.request();
            while (!connection.isClosed) {
              await connection.send(hints(1));
              await new Promise(setImmediate);
            }
          };
          await assertFailed(await scene.send(callOf(family, false, behaviour, 'late')), family, tooLate(family));
        });
      });
    });

    for (const { kind, isStream } of modes) {
      describe(`${family.name}, ${kind}`, () => {
        const bytes = success(family, isStream);
        const relayed = successBody(family, isStream);
        const costNano = family.cost;

        for (const status of [201, 202, 203, 204, 205, 206, 226, 300, 301, 302, 303, 304, 307, 308, 399]) {
          test(`a ${status} is not followed: a 502, and nothing is charged`, async () => {
            const { requests } = scene.hostile;
            const asked = requests.length;
            const headers = [
              `location: ${scene.hostile.url}/elsewhere`,
              ...([204, 304].includes(status) ? [] : [length(2)]),
            ];
            const body = [204, 304].includes(status) ? '' : '{}';
            const ended = await scene.send(callOf(family, isStream, responses(response({ status, headers, body }))));
            await assertFailed(ended, family, INVALID);
            // A redirect that was followed would be another request.
            assert.ok(requests.slice(asked).every(({ head }) => !head.includes('/elsewhere')));
          });
        }

        for (const status of [600, 999]) {
          test(`a ${status} is not a valid status: a 502, and nothing is charged`, async () => {
            const behaviour = responses(response({ status, headers: [length(2)], body: '{}' }));
            await assertFailed(await scene.send(callOf(family, isStream, behaviour)), family, INVALID);
          });
        }

        test('a connection that the provider closes directly after its response serves no other call', async () => {
          const behaviour = responsesAndCloses(bytes);
          for (let i = 0; i < 2; i++) {
            await assertServed(await scene.send(callOf(family, isStream, behaviour)), { body: relayed, costNano });
          }
        });

        test('a connection that the provider resets directly after its response serves no other call', async () => {
          const behaviour: Behaviour = async (connection) => {
            await connection.request();
            await connection.send(bytes);
            connection.reset();
          };
          for (let i = 0; i < 2; i++) {
            await assertServed(await scene.send(callOf(family, isStream, behaviour)), { body: relayed, costNano });
          }
        });

        test('a connection that the provider keeps open is used again', async () => {
          await scene.send(callOf(family, isStream, responses(bytes)));
          const { connections } = scene.hostile;
          const ended = await scene.send(callOf(family, isStream, responses(bytes)));
          assert.equal(scene.hostile.connections, connections);
          await assertServed(ended, { body: relayed, costNano });
        });
      });
    }
  }
});

describe('a response that is followed by another one', () => {
  let scene: HostileScene;
  before(async () => {
    // One connection for all calls, so that bytes left on it would reach the next call.
    scene = await setScene((url) => ({
      providers: providerPair('narrow', url, 'connections: 1'),
      models: modelOf('narrow'),
    }));
  });
  after(() => scene?.close());

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        const bytesOf = (word: string): Buffer =>
          isStream
            ? responseBytes({
                headers: SSE,
                body: chunks(family.stream([word])),
              })
            : responseBytes({
                headers: [JSON_TYPE, CHUNKED],
                body: chunks([JSON.stringify(family.whole()).replace('Hello there', word)]),
              });
        const bodyOf = (word: string): string =>
          isStream ? relayedStream(family, [word]) : JSON.stringify(family.whole()).replace('Hello there', word);
        const call = (behaviour: Behaviour) => callOf(family, isStream, behaviour, 'narrow');
        const costNano = family.cost;
        const doubled = Buffer.concat([bytesOf('Mine'), bytesOf('Foreign')]);

        test('in the same packet: the next call gets its own response, on another connection', async () => {
          await assertServed(await scene.send(call(responses(doubled))), { body: bodyOf('Mine'), costNano });
          const { connections } = scene.hostile;
          const next = await scene.send(call(responses(bytesOf('Next'))));
          await assertServed(next, { body: bodyOf('Next'), costNano });
          assert.equal(scene.hostile.connections, connections + 1);
        });

        test('later, on an idle connection: the next call gets its own response', async () => {
          let idle: HostileConnection | undefined;
          const behaviour: Behaviour = async (connection) => {
            idle = connection;
            await responses(bytesOf('Mine'))(connection);
          };
          await assertServed(await scene.send(call(behaviour)), { body: bodyOf('Mine'), costNano });
          await idle!.send(bytesOf('Foreign'));
          const next = await scene.send(call(responses(bytesOf('Next'))));
          await assertServed(next, { body: bodyOf('Next'), costNano });
        });

        test('while another call waits for the connection: the other call gets its own response', async () => {
          const { gateway, hostile } = scene;
          const admissions = gateway.observed.statement('reservations.admit');
          const account = await gateway.createAccount();
          const asked = hostile.requests.length;
          const before = admissions.done;
          const begun = Promise.withResolvers<void>();
          hostile.behave = async (connection) => {
            await connection.request();
            begun.resolve();
            // The second call is admitted, and waits for the first.
            await admissions.completed(before + 2);
            await connection.send(hostile.requests.length === asked + 1 ? doubled : bytesOf('Next'));
          };
          const send = () => ask(gateway.url, family.path, account.key, requestOf(isStream, 'narrow'));
          const first = send();
          await begun.promise;
          const both = await Promise.all([first, send()]);
          assert.deepEqual(
            both.map(({ text }) => text),
            [bodyOf('Mine'), bodyOf('Next')],
          );
          assert.equal(hostile.requests.length, asked + 2);
          for (const response of both) assertNamesNoProvider(response, hostile);
          await account.endedCall(2);
          await assertSpent(account, 2n * costNano);
        });
      });
    }
  }
});
