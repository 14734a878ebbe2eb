import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { after, afterEach, before, describe, it } from 'node:test';
import { type ClientResponse, call, type StartedCall, startCall } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import {
  ADMIN_TOKEN,
  assertSpent,
  costNano,
  startGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { chatCompletion, event, json, liveResponse, type Respond } from '../support/provider.ts';
import { responseObject } from '../support/responses.ts';
import { type Flood, flood } from '../support/transport.ts';
import { until } from '../support/until.ts';
import { type Http2Server, startHttp2Server } from '../support/upstream.ts';

/** Buffered bytes of responses take from the budget of bodies, each account within its share. */

const MIB = 2 ** 20;
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const USAGE = { prompt_tokens: 11, completion_tokens: 7 };
const COST = costNano({ input: 11, output: 7 });
/** Far more than the network buffers between the gateway and a client that does not read. */
const RESPONSE_BYTES = 24 * MIB;
const CALLS = 3;
/** Longer than the test, so that no client is disconnected for reading slowly. */
const SERVER = 'bodyLimit: 1MiB, bodyMemory: 4MiB, clientStallTimeout: 1h';
/** Responses have three quarters of 4 MiB, of which one of several accounts leaves an eighth to others. */
const SHARE_BYTES = 3 * MIB * (7 / 8);
/** The bytes that a response may have beyond the budget. */
const BESIDE_BYTES = 256 * 1024;

/** Large streaming and non-streaming responses, in the chunks that the provider writes. */
const forms = {
  chat: {
    path: CHAT,
    type: 'application/json',
    body: requestOf(false),
    bytesMax: SHARE_BYTES,
    *pieces() {
      yield `{"id":"chatcmpl-1","usage":${JSON.stringify(USAGE)},"parts":[0`;
      for (let i = 0; i < RESPONSE_BYTES / 65_536; i++) yield `,"${i} ${'x'.repeat(65_536)}"`;
      yield ']}';
    },
  },
  /** Its output is parsed, and buffered until then. */
  responses: {
    path: RESPONSES,
    type: 'application/json',
    body: { model: 'test-responses', input: 'Hello' },
    bytesMax: SHARE_BYTES + 2 * RESPONSE_BYTES,
    *pieces() {
      const [begin, end] = JSON.stringify(responseObject()).split('Hello there') as [string, string];
      yield begin;
      for (let i = 0; i < RESPONSE_BYTES / 65_536; i++) yield 'x'.repeat(65_536);
      yield end;
    },
  },
  /** Its last event repeats the output, and waits for the charge. */
  'a stream of responses': {
    path: RESPONSES,
    type: 'text/event-stream',
    body: { model: 'test-responses', input: 'Hello', stream: true },
    bytesMax: SHARE_BYTES + 2 * RESPONSE_BYTES,
    *pieces() {
      yield event('response.created', { response: responseObject({ status: 'in_progress', output: [], usage: null }) });
      const done = event('response.completed', { response: responseObject() });
      const [begin, end] = done.split('Hello there') as [string, string];
      yield begin;
      for (let i = 0; i < RESPONSE_BYTES / 65_536; i++) yield 'x'.repeat(65_536);
      yield end;
    },
  },
} as const;

type Form = (typeof forms)[keyof typeof forms];

async function usedBytes(gateway: TestGateway): Promise<number> {
  const response = await fetch(`${gateway.url}/metrics`, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  return Number(/^faregate_body_memory_used_bytes (\d+)$/m.exec(await response.text())![1]);
}

/** Waits until no provider can send more, and returns the peak of the used memory. */
async function comeToRest(gateway: TestGateway, writtenBytes: () => number): Promise<number> {
  let mostBytes = 0;
  for (let quiet = 0, before = -1; quiet < 25; quiet++) {
    mostBytes = Math.max(mostBytes, await usedBytes(gateway));
    if (before !== writtenBytes()) quiet = 0;
    before = writtenBytes();
  }
  return mostBytes;
}

const writtenBy = (floods: readonly Flood[]) => (): number => floods.reduce((sum, each) => sum + each.writtenBytes, 0);

async function readAll(response: Promise<ClientResponse>): Promise<string> {
  const received = await response;
  received.resume();
  assert.equal(await received.ended(), true);
  return createHash('sha256').update(received.body).digest('hex');
}

describe('the budget of responses', { timeout: 240_000 }, () => {
  let gateway: TestGateway;
  let other: TestAccount;
  before(async () => {
    gateway = await startGateway({ server: SERVER });
    other = await gateway.createAccount();
  });
  const open: StartedCall[] = [];
  afterEach(() => {
    for (const each of open.splice(0)) each.drop();
  });
  after(() => gateway.stop());

  const ask = (account: TestAccount, { path, body }: Form, isPaused = true, headers = {}): StartedCall =>
    startCall(gateway.url + path, account.key, body, { isPaused, headers });

  /** Calls with large responses that are not read. */
  async function begin(
    account: TestAccount,
    form: Form,
    count: number,
  ): Promise<{ floods: Flood[]; calls: StartedCall[] }> {
    const floods = Array.from({ length: count }, () => flood(form.pieces(), form.type));
    const left = floods.values();
    gateway.provider.respond = (request, response) => left.next().value!.respond(request, response);
    const asked = gateway.provider.requests.length;
    const calls = floods.map(() => ask(account, form));
    open.push(...calls);
    await gateway.provider.received(asked + count);
    return { floods, calls };
  }

  const isEmpty = (): Promise<void> => until(async () => (await usedBytes(gateway)) === 0, 'memory is not given back');

  for (const [name, form] of Object.entries(forms)) {
    it(`${name}: limits unread bytes, reserves a share for others, and delivers every byte when the clients read again`, async () => {
      const greedy = await gateway.createAccount();
      const { floods, calls } = await begin(greedy, form, CALLS);
      const mostBytes = await comeToRest(gateway, writtenBy(floods));
      assert.ok(writtenBy(floods)() < CALLS * RESPONSE_BYTES, 'no provider was stopped');
      assert.ok(mostBytes < form.bytesMax + CALLS * BESIDE_BYTES, `${mostBytes} bytes were counted`);

      const whole = JSON.stringify(chatCompletion(USAGE, 'y'.repeat(MIB / 2)));
      gateway.provider.respond = json(200, whole);
      assert.equal((await call(gateway.url + CHAT, other.key, requestOf(false))).text, whole);

      const digests = await Promise.all(calls.map(({ response }) => readAll(response)));
      assert.deepEqual(
        digests,
        floods.map((each) => each.digest()),
      );
      await greedy.endedCall(CALLS);
      assert.equal((await greedy.money()).heldNano, 0n);
      await isEmpty();
    });

    it(`${name}: reads the rest when clients disconnect, charges them, and frees the memory`, async () => {
      const greedy = await gateway.createAccount();
      const { floods, calls } = await begin(greedy, form, CALLS);
      await comeToRest(gateway, writtenBy(floods));
      for (const each of calls) each.drop();
      await greedy.endedCall(CALLS);
      if (form.type === 'application/json') {
        const { usage } = await greedy.lastCall();
        assert.equal(usage.source, 'observed');
        if (form === forms.chat) await assertSpent(greedy, BigInt(CALLS) * COST);
      }
      assert.equal((await greedy.money()).heldNano, 0n);
      await isEmpty();
    });
  }

  it('relays an idempotent call beyond the budget, and does not run its repeats again', async () => {
    const greedy = await gateway.createAccount();
    const { floods, calls } = await begin(greedy, forms.chat, CALLS);
    await comeToRest(gateway, writtenBy(floods));
    const whole = JSON.stringify(chatCompletion(USAGE, 'y'.repeat(MIB)));
    gateway.provider.respond = json(200, whole);
    const send = () =>
      call(gateway.url + CHAT, greedy.key, requestOf(false), { headers: { 'idempotency-key': 'beyond' } });
    assert.equal((await send()).text, whole);
    const repeat = await send();
    assert.equal(repeat.status, 409, repeat.text);
    assert.match(repeat.text, /carried out and charged/);
    for (const each of calls) each.drop();
    await greedy.endedCall(CALLS + 1);
    await assertSpent(greedy, BigInt(CALLS + 1) * COST);
    await isEmpty();
  });

  const long = 'z'.repeat(MIB);
  const broken = (type: string, text: string): Respond => {
    const live = liveResponse({ 'content-type': type });
    return async (request, response) => {
      await live.respond(request, response);
      await live.write(text);
      live.reset();
    };
  };
  for (const [end, respond, isStream] of [
    ['a success', json(200, JSON.stringify(chatCompletion(USAGE, long))), false],
    ['a success without usage', json(200, JSON.stringify(chatCompletion(null, long))), false],
    ['a response that is no JSON', json(200, `{"a":"${long}"]`), false],
    ['a refusal', json(400, JSON.stringify({ error: { message: long } })), false],
    ['a response that breaks off', broken('application/json', `{"a":"${long}`), false],
    ['a stream that breaks off in an event', broken('text/event-stream', `data: {"a":"${long}`), true],
  ] as const) {
    it(`frees the memory after ${end}`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = respond;
      await startCall(gateway.url + CHAT, account.key, requestOf(isStream)).response.then(
        (response) => response.ended(),
        () => undefined,
      );
      await account.endedCall();
      assert.equal((await account.money()).heldNano, 0n);
      await isEmpty();
    });
  }
});

describe('the budget of responses over HTTP/2', { timeout: 120_000 }, () => {
  let modern: Http2Server;
  let gateway: TestGateway;
  before(async () => {
    modern = await startHttp2Server();
    gateway = await startGateway({
      server: SERVER,
      providers: `  modern: { protocol: chat, baseUrl: "${modern.url}/v1", apiKey: modern-secret-key-1, ${modern.fields} }\n`,
      models:
        '  modern-chat: { operations: [chat], price: { input: "3", output: "13" }, routes: [{ provider: modern, model: m }] }',
    });
    await gateway.createAccount();
  });
  after(async () => {
    try {
      await gateway.stop();
    } finally {
      await modern.close();
    }
  });

  it('pauses the streams of a connection one by one, and loses nothing', async () => {
    const account = await gateway.createAccount();
    const hash = createHash('sha256');
    for (const piece of forms.chat.pieces()) hash.update(piece);
    let sentBytes = 0;
    modern.serve = async (stream) => {
      stream.resume();
      await once(stream, 'end');
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      for (const piece of forms.chat.pieces()) {
        await new Promise((resolve) => stream.write(piece, resolve));
        sentBytes += piece.length;
      }
      stream.end();
    };
    const calls = Array.from({ length: CALLS }, () =>
      startCall(gateway.url + CHAT, account.key, requestOf(false, 'modern-chat'), { isPaused: true }),
    );
    const mostBytes = await comeToRest(gateway, () => sentBytes);
    assert.ok(mostBytes < SHARE_BYTES + CALLS * BESIDE_BYTES, `${mostBytes} bytes were counted`);
    assert.ok(sentBytes < CALLS * RESPONSE_BYTES, 'no provider was stopped');
    const digest = hash.digest('hex');
    assert.deepEqual(
      await Promise.all(calls.map(({ response }) => readAll(response))),
      calls.map(() => digest),
    );
    await account.endedCall(CALLS);
    await assertSpent(account, BigInt(CALLS) * COST);
    await until(async () => (await usedBytes(gateway)) === 0, 'memory is not given back');
  });
});

describe('a client that does not read its buffered response', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ server: 'bodyLimit: 1MiB, bodyMemory: 4MiB, clientStallTimeout: 300ms' });
  });
  after(() => gateway.stop());

  for (const [name, form] of Object.entries(forms)) {
    it(`${name}: is disconnected, its call is charged, and the memory is freed`, async () => {
      const account = await gateway.createAccount();
      gateway.provider.respond = flood(form.pieces(), form.type).respond;
      const received = await startCall(gateway.url + form.path, account.key, form.body, { isPaused: true }).response;
      const { usage } = await account.endedCall();
      assert.equal(usage.source, 'observed');
      assert.equal((await account.money()).heldNano, 0n);
      await until(async () => (await usedBytes(gateway)) === 0, 'memory is not given back');
      received.resume();
      assert.equal(await received.ended(), false);
    });
  }
});
