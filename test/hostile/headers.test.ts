import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Family, families, modesOf } from '../support/families.ts';
import { assertSpent } from '../support/gateway.ts';
import { type Behaviour, responseBytes, responses } from '../support/hostile-provider.ts';
import {
  assertFailed,
  assertNamesNoProvider,
  assertServed,
  BROKEN,
  callOf,
  type HostileScene,
  relayedStream,
  setScene,
} from './scene.ts';

/** Hostile headers of a provider, and which of them reach a client. */

describe('headers of a provider', () => {
  let scene: HostileScene;
  before(async () => {
    scene = await setScene();
  });
  after(() => scene?.close());

  for (const family of families) {
    for (const { kind, isStream } of modesOf(family)) {
      describe(`${family.name}, ${kind}`, () => {
        const body = isStream ? family.stream(['Hello']).join('') : JSON.stringify(family.whole());
        const relayed = isStream ? relayedStream(family, ['Hello']) : body;
        const success = (...headers: readonly string[]): Behaviour =>
          responses(
            responseBytes({
              headers: [
                `content-type: ${isStream ? 'text/event-stream' : 'application/json'}`,
                `content-length: ${Buffer.byteLength(body)}`,
                ...headers,
              ],
              body,
            }),
          );
        const refusal = (status: number, ...headers: readonly string[]): Behaviour =>
          responses(responseBytes({ status, headers: ['content-length: 2', ...headers], body: '{}' }));
        const send = (behaviour: Behaviour) => scene.send(callOf(family, isStream, behaviour));

        test('a thousand headers: a success, and none of them is passed on', async () => {
          const headers = Array.from({ length: 1000 }, (_, i) => `x-${i}: ${i}`);
          const ended = await send(success(...headers));
          await assertServed(ended, { body: relayed, costNano: family.cost });
          assert.equal(ended.response.headers['x-7'], undefined);
        });

        for (const [what, headers] of Object.entries({
          'a header of 64 KB': [`x-long: ${'x'.repeat(65_536)}`],
          'a header of 1 MB': [`x-long: ${'x'.repeat(2 ** 20)}`],
          'a request id of 1 MB': [`x-request-id: ${'x'.repeat(2 ** 20)}`],
          'headers of 1 MB, all together': Array.from({ length: 10_000 }, (_, i) => `x-${i}: ${'x'.repeat(100)}`),
          'a control character in a value': ['x-ratelimit-limit: 1\u0001'],
          'a zero byte in a value': ['x-request-id: req\u0000'],
          'a control character in a name': ['x-\u0002: 1'],
          'a carriage return alone': ['x-a: b\rx-c: d'],
        })) {
          test(`${what}: a 502, and nothing is charged`, async () => {
            await assertFailed(await send(success(...headers)), family, BROKEN);
          });
        }

        test('invalid request ids are replaced', async () => {
          for (const [id, other] of [
            ['a b', '日本'],
            ['', 'é'],
            ['x'.repeat(129), 'a,b'],
          ]) {
            const ended = await send(success(`x-request-id: ${id}`, `request-id: ${other}`));
            await assertServed(ended, { body: relayed, costNano: family.cost });
            assert.match(String(ended.response.headers['x-request-id']), /^req_\w+$/);
          }
        });

        test('a request id with a line end is a request id and one more header, which is not passed on', async () => {
          const ended = await send(success('x-request-id: req_own\r\nset-cookie: a=b\r\nx-faregate-charge-yuan: 0'));
          await assertServed(ended, { body: relayed, costNano: family.cost });
          assert.equal(ended.response.headers['x-request-id'], 'req_own');
          assert.equal(ended.response.headers['set-cookie'], undefined);
          assert.notEqual(ended.response.headers['x-faregate-charge-yuan'], '0');
        });

        test('headers that are not ASCII are dropped', async () => {
          for (const behaviour of [
            success('x-ratelimit-a: 日本'),
            refusal(503, 'x-ratelimit-a: 日本', 'retry-after: é'),
          ]) {
            const { response } = await send(behaviour);
            assert.deepEqual(
              [response.headers['x-ratelimit-a'], response.headers['retry-after']],
              [undefined, undefined],
            );
          }
        });

        test('no response, whatever its status, reveals the provider or its key', async () => {
          const { host } = new URL(scene.hostile.url);
          const key = `hostile-secret-key-${family.name === 'chat' ? 1 : 2}`;
          const telling = [host, key, `http://${host}/v1`].map((secret) => [
            `x-ratelimit-limit-requests: ${secret}`,
            `x-request-id: ${secret}`,
            `request-id: ${secret}`,
            `retry-after: ${secret}`,
            `retry-after-ms: ${secret}`,
            `x-should-retry: ${secret}`,
            `openai-version: ${secret}`,
            `openai-processing-ms: ${secret.toUpperCase()}`,
            `x-ratelimit-${secret.replaceAll(/[^\w.-]/g, '-')}: 1`,
            `server: ${secret}`,
          ]);
          const said = JSON.stringify({ error: { message: `${key} at ${host}`, type: key, code: key, param: host } });
          for (const headers of telling) {
            const { response, account } = await send(success(...headers));
            assertNamesNoProvider(response, scene.hostile);
            assert.match(String(response.headers['x-request-id']), /^req_\w+$/);
            await assertSpent(account, family.cost);
          }
          for (const [status, headers] of [
            [400, telling[0]!],
            [429, telling[1]!],
            [503, telling[2]!],
          ] as const) {
            const bytes = responseBytes({
              status: `${status} ${key} at ${host}`,
              headers: [...headers, `content-length: ${Buffer.byteLength(said)}`],
              body: said,
            });
            const { response, account } = await send(responses(bytes));
            assert.equal(response.status, status);
            assertNamesNoProvider(response, scene.hostile);
            await assertSpent(account, 0n);
          }
        });
      });
    }
  }

  test('a content type that reveals the key is replaced, and does not make the response a stream', async () => {
    const [chat] = families as readonly [Family];
    const body = JSON.stringify(chat.whole());
    const type = 'application/json; boundary=hostile-secret-key-1';
    const bytes = responseBytes({ headers: [`content-type: ${type}`, `content-length: ${body.length}`], body });
    const ended = await scene.send(callOf(chat, false, responses(bytes)));
    await assertServed(ended, { body, costNano: chat.cost });
    assert.equal(ended.response.headers['content-type'], 'application/json');
  });
});
