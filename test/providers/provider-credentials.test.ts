import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { parseConfig } from '../../src/config/load.ts';
import { type ClientResponse, call, startCall } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { type Family, families, requestOf } from '../support/families.ts';
import { startGateway, type TestAccount, type TestGateway, testConfigText } from '../support/gateway.ts';
import { chatResponse, json, type ReceivedRequest, type ScriptedProvider, startProvider } from '../support/provider.ts';
import { recordLogs } from '../support/recorded-logger.ts';

/** Several keys of one provider, keys from files, and routes in cooldown. */

const PRICE = '{ input: "3", output: "13" }';
const TEN_MINUTES_MS = 600_000;

/** Each test has its own models and providers, so that cooldowns and refusals do not affect other tests. */
const PROVIDERS_MAX = 24;

describe('the keys of a provider', () => {
  const [chat] = families as readonly [Family, Family];
  const clock = createTestClock('2026-11-20T04:00:00Z');
  const logs = recordLogs();
  const directory = mkdtempSync(join(tmpdir(), 'faregate-keys-'));
  let gateway: TestGateway;
  let first: ScriptedProvider;
  let second: ScriptedProvider;
  let account: TestAccount;
  let tests = 0;
  /** The key file of the test, and its models: with three keys, with the file, with two routes. */
  let file: string;
  let three: string;
  let filed: string;
  let pair: string;

  const fileOf = (i: number): string => join(directory, `key-${i}`);
  const keysOf = (i: number): string => `[canary-${i}-a, canary-${i}-b, canary-${i}-c]`;

  const configText = (keysOfThree = keysOf): string => {
    const numbers = Array.from({ length: PROVIDERS_MAX }, (_, i) => i);
    return testConfigText(gateway?.provider.url ?? first.url, {
      providers: numbers
        .map(
          (i) => `
  three-${i}: { protocol: chat, baseUrl: "${first.url}/v1", apiKeys: ${keysOfThree(i)} }
  filed-${i}: { protocol: chat, baseUrl: "${first.url}/v1", apiKey: { file: ${fileOf(i)} } }
  first-${i}: { protocol: chat, baseUrl: "${first.url}/v1", apiKey: canary-first-${i} }
  second-${i}: { protocol: chat, baseUrl: "${second.url}/v1", apiKey: canary-second-${i} }`,
        )
        .join(''),
      models: numbers
        .map(
          (i) => `
  three-${i}: { affinity: off, operations: [chat], price: ${PRICE}, routes: [{ provider: three-${i}, model: m }] }
  other-${i}: { affinity: off, operations: [chat], price: ${PRICE}, routes: [{ provider: three-${i}, model: n }] }
  filed-${i}: { affinity: off, operations: [chat], price: ${PRICE}, routes: [{ provider: filed-${i}, model: m }] }
  pair-${i}: { affinity: off, operations: [chat], price: ${PRICE}, routes: [{ provider: first-${i}, model: m }, { provider: second-${i}, model: m, priority: 1 }] }`,
        )
        .join(''),
    });
  };

  before(async () => {
    for (let i = 0; i < PROVIDERS_MAX; i++) writeFileSync(fileOf(i), `canary-file-${i}\n`);
    [first, second] = await Promise.all([startProvider(), startProvider()]);
    gateway = await startGateway({ clock, logger: logs.logger });
    account = await gateway.createAccount();
    gateway.gateway.reload(parseConfig(configText(), 'test.yaml', {}));
  });
  after(async () => {
    try {
      await gateway?.stop();
    } finally {
      await Promise.all([first?.close(), second?.close()]);
      rmSync(directory, { recursive: true });
    }
  });
  beforeEach(() => {
    file = fileOf(tests);
    three = `three-${tests}`;
    filed = `filed-${tests}`;
    pair = `pair-${tests}`;
    tests++;
    assert.ok(tests <= PROVIDERS_MAX, 'there are more tests than providers');
    logs.lines.length = 0;
    for (const provider of [first, second]) {
      provider.requests.length = 0;
      provider.respond = chatResponse();
    }
  });

  const send = (model: string, isStream = false): Promise<ClientResponse> =>
    call(gateway.url + chat.path, account.key, requestOf(isStream, model));

  async function statusesOf(count: number, model: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i++) statuses.push((await send(model)).status);
    return statuses;
  }

  const keyOf = ({ headers }: ReceivedRequest): string => headers.authorization!.replace('Bearer ', '');
  /** Last letters of the keys that the first provider received. */
  const letters = (): string => first.requests.map((request) => keyOf(request).at(-1)).join('');
  /** Rejects keys with one of these endings with a status, and accepts others. */
  const refuse =
    (status: number, records: string, headers: Record<string, string> = {}): ScriptedProvider['respond'] =>
    (request, response) => {
      const isRefused = records.includes(keyOf(request).at(-1)!);
      const error = { error: { message: `Not with ${keyOf(request)}.` } };
      return (isRefused ? json(status, error, headers) : chatResponse())(request, response);
    };

  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect to be there
  async function shownCredentials(model: string): Promise<any[]> {
    const { body } = await gateway.admin('GET', '/routes');
    return body.data.find((route: { model: string }) => route.model === model).credentials;
  }

  it('are used in rotation', async () => {
    assert.deepEqual(await statusesOf(4, three), [200, 200, 200, 200]);
    assert.equal(letters(), 'abca');
  });

  for (const isStream of [false, true]) {
    it(`are skipped after a refusal without a failed call, and the successful attempt is charged${isStream ? ', in streams too' : ''}`, async () => {
      const payer = await gateway.createAccount();
      first.respond = refuse(401, 'ab');
      const response = await call(gateway.url + chat.path, payer.key, requestOf(isStream, three));
      assert.equal(response.status, 200);
      assert.equal(letters(), 'abc');
      const { status, failedRoutes } = await payer.endedCall();
      assert.deepEqual([status, failedRoutes], ['succeeded', []]);
      assert.deepEqual(await statusesOf(2, three), [200, 200]);
      assert.equal(letters(), 'abccc');
    });
  }

  it('are shown with status and time of a refusal, without their values', async () => {
    first.respond = refuse(401, 'b');
    await statusesOf(2, three);
    const lastUsedAt = new Date(clock.nowMs()).toISOString();
    const active = {
      file: null,
      command: null,
      expiresAt: null,
      state: 'active',
      status: null,
      triedAgainAt: null,
      lastUsedAt,
      vendorLimits: [],
    };
    assert.deepEqual(await shownCredentials(three), [
      { ...active, name: 'apiKeys.0' },
      {
        ...active,
        name: 'apiKeys.1',
        state: 'refused',
        status: 401,
        triedAgainAt: new Date(clock.nowMs() + TEN_MINUTES_MS).toISOString(),
      },
      { ...active, name: 'apiKeys.2' },
    ]);
    assert.deepEqual(await shownCredentials(filed), [{ ...active, name: 'apiKey', file, lastUsedAt: null }]);
    const warning = logs.lines.find(({ level }) => level === 'warn')!;
    assert.deepEqual(
      [warning.details.provider, warning.details.credential, warning.details.status, warning.details.words],
      [three, 'apiKeys.1', 401, 'Not with [provider].'],
    );
  });

  it('are tried again after a reload, even of the same configuration', async () => {
    for (const reload of [
      () => gateway.gateway.reload(parseConfig(configText(), 'test.yaml', {})),
      () => gateway.gateway.retryCredentials(),
    ]) {
      first.respond = refuse(401, 'abc');
      assert.deepEqual(await statusesOf(1, three), [502]);
      reload();
      first.requests.length = 0;
      first.respond = chatResponse();
      assert.deepEqual(await statusesOf(3, three), [200, 200, 200]);
      assert.deepEqual([...letters()].toSorted().join(''), 'abc');
    }
  });

  it('stay in use if they are refused for one call only, and the route stays open for other calls', async () => {
    const model = three;
    const others = await gateway.createAccount();
    const error = {
      error: { message: 'This request requires more credits, or fewer max_tokens. You can only afford 9.' },
    };
    first.respond = json(402, error);
    assert.deepEqual(await statusesOf(5, model), [502, 502, 502, 502, 502]);
    assert.equal(first.requests.length, 15);
    assert.match(logs.text(), /can only afford/);
    assert.ok((await shownCredentials(model)).every(({ state }) => state === 'active'));
    first.respond = chatResponse();
    assert.equal((await call(gateway.url + chat.path, others.key, requestOf(false, model))).status, 200);
  });

  it('have a cooldown for the model after a 429, as long as the provider requests', async () => {
    first.respond = refuse(429, 'a', { 'retry-after': '7' });
    assert.deepEqual(await statusesOf(4, three), [200, 200, 200, 200]);
    assert.equal(letters(), 'abcbc');
    const [resting] = await shownCredentials(three);
    assert.deepEqual(
      [resting.state, resting.status, resting.triedAgainAt],
      ['resting', 429, new Date(clock.nowMs() + 7_000).toISOString()],
    );
    first.respond = chatResponse();
    first.requests.length = 0;
    await statusesOf(3, three.replace('three', 'other'));
    assert.match(letters(), /a/);
    first.requests.length = 0;
    clock.advance(7_000);
    await statusesOf(3, three);
    assert.match(letters(), /a/);
  });

  it('cause a 429 if one reached its limit and the others are refused, since only the limit is temporary', async () => {
    first.respond = (request, response) =>
      refuse(keyOf(request).endsWith('a') ? 429 : 401, 'abc', { 'retry-after': '7' })(request, response);
    const response = await send(three);
    assert.deepEqual([response.status, response.headers['retry-after'], letters()], [429, '7', 'abc']);
  });

  it('are used as soon as they are replaced in the configuration, even by calls that the old key fails', async () => {
    const i = tests - 1;
    const held = Promise.withResolvers<void>();
    first.respond = async (request, response) => {
      if (keyOf(request) === `canary-${i}-a`) await held.promise;
      return refuse(401, 'abc')(request, response);
    };
    const early = startCall(gateway.url + chat.path, account.key, requestOf(false, three));
    await first.received(1);
    const next = (n: number): string => (n === i ? `[canary-${n}-x]` : keysOf(n));
    gateway.gateway.reload(parseConfig(configText(next), 'test.yaml', {}));
    assert.deepEqual(await statusesOf(2, three), [200, 200]);
    held.resolve();
    assert.equal((await early.response).status, 200);
    assert.equal(letters(), 'axxx');
  });

  it('are used as soon as they are replaced in a file, although the configuration was not reloaded', async () => {
    assert.deepEqual(await statusesOf(1, filed), [200]);
    writeFileSync(`${file}.new`, 'canary-next-x\n');
    renameSync(`${file}.new`, file);
    first.respond = (request, response) =>
      (keyOf(request) === 'canary-next-x' ? chatResponse() : json(401, { error: { message: keyOf(request) } }))(
        request,
        response,
      );
    assert.deepEqual(await statusesOf(3, filed), [200, 200, 200]);
    assert.deepEqual(first.requests.slice(2).map(keyOf), ['canary-next-x', 'canary-next-x', 'canary-next-x']);
    assert.equal((await shownCredentials(filed))[0].state, 'active');
  });

  it('can be replaced under load, in a file or the configuration, without failed calls, although the old key is refused immediately', async () => {
    const i = tests - 1;
    let valid = `canary-file-${i}`;
    first.respond = (request, response) =>
      (keyOf(request) === valid ? chatResponse() : json(401, {}))(request, response);
    const statuses: number[] = [];
    let isOver = false;
    const load = Array.from({ length: 4 }, async () => {
      while (!isOver) statuses.push((await send(filed)).status);
    });
    for (let round = 0; round < 4; round++) {
      await first.received(first.requests.length + 20);
      valid = `canary-round-${round}-x`;
      writeFileSync(`${file}.new`, valid);
      renameSync(`${file}.new`, file);
      if (round % 2 === 0) gateway.gateway.reload(parseConfig(configText(), 'test.yaml', {}));
    }
    await first.received(first.requests.length + 20);
    isOver = true;
    await Promise.all(load);
    assert.deepEqual([...new Set(statuses)], [200]);
  });

  it('are never revealed to clients or logs, whether current or former, whatever the provider repeats', async () => {
    writeFileSync(file, 'canary-later-x\n');
    first.respond = json(401, { error: { message: 'No.' } });
    assert.equal((await send(filed)).status, 502);
    const i = tests - 1;
    const echo = `canary-file-${i}, canary-later-x and Bearer canary-later-x`;
    for (const status of [200, 400, 401, 403, 429, 503]) {
      first.respond = json(
        status,
        { error: { message: echo, type: 'canary-later-x', code: 'canary-later-x' } },
        { 'x-request-id': 'canary-later-x', 'x-ratelimit-limit-requests': echo },
      );
      const response = await send(filed);
      assert.doesNotMatch(response.text + JSON.stringify(response.headers), /canary/);
    }
    const shown = [await gateway.admin('GET', '/routes'), await gateway.admin('GET', '/calls')];
    assert.doesNotMatch(JSON.stringify(shown), /canary/);
    assert.doesNotMatch(logs.text(), /canary/);
  });

  describe('a route that responds with 429 and retry-after', () => {
    it('has a cooldown of up to a minute while there is another one', async () => {
      first.respond = json(429, {}, { 'retry-after': '18000' });
      assert.deepEqual(await statusesOf(3, pair), [200, 200, 200]);
      assert.deepEqual([first.requests.length, second.requests.length], [1, 3]);
      clock.advance(59_999);
      await statusesOf(1, pair);
      assert.equal(first.requests.length, 1);
      first.respond = chatResponse();
      clock.advance(1);
      await statusesOf(1, pair);
      assert.deepEqual([first.requests.length, second.requests.length], [2, 4]);
    });

    it('is tried if the other one fails in another way', async () => {
      first.respond = json(429, {}, { 'retry-after': '30' });
      await statusesOf(1, pair);
      first.respond = chatResponse();
      second.respond = json(503, {});
      assert.deepEqual(await statusesOf(1, pair), [200]);
      assert.deepEqual([first.requests.length, second.requests.length], [2, 2]);
    });

    it('is tried if the other one responds with 429 too: the last route has no cooldown', async () => {
      first.respond = json(429, {}, { 'retry-after': '30' });
      await statusesOf(1, pair);
      second.respond = json(429, {}, { 'retry-after': '9' });
      const response = await send(pair);
      assert.deepEqual([response.status, response.headers['retry-after']], [429, '30']);
      assert.deepEqual([first.requests.length, second.requests.length], [2, 2]);
      first.respond = chatResponse();
      assert.deepEqual(await statusesOf(1, pair), [200]);
      // The one whose cooldown ends first is tried first.
      assert.deepEqual([first.requests.length, second.requests.length], [3, 3]);
    });

    it('has no cooldown if it is the only one', async () => {
      first.respond = json(429, {}, { 'retry-after': '30' });
      assert.deepEqual(await statusesOf(3, filed), [429, 429, 429]);
      assert.equal(first.requests.length, 3);
    });
  });
});
