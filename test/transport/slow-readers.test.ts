import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { after, before, describe, type TestContext, test } from 'node:test';
import { Connection } from '../../src/http/connections.ts';
import { startCall } from '../support/client.ts';
import { requestOf } from '../support/families.ts';
import { assertSpent, costNano, startGateway, type TestGateway } from '../support/gateway.ts';
import { chatStream } from '../support/provider.ts';
import { flood } from '../support/transport.ts';

/** Clients that read slowly or not at all: what that does to the provider, to the gateway's memory, and to the account. */

const MIB = 1024 * 1024;
const ANSWER_BYTES = 32 * MIB;
/** Far more than the buffers between provider and client take, far less than the response. */
const HELD_BYTES_MAX = 20 * MIB;
const COST = costNano({ input: 11, output: 7 });
/** Streams of both protocols are relayed by the same code. */
const forms = [
  {
    name: 'a chat stream',
    path: '/v1/chat/completions',
    isStream: true,
    type: 'text/event-stream',
    heldBytesMax: HELD_BYTES_MAX,
    *pieces() {
      const [begin, ...end] = chatStream([], { prompt_tokens: 11, completion_tokens: 7 });
      yield begin!;
      const filler = 'x'.repeat(100_000);
      for (let sent = 0, i = 0; sent < ANSWER_BYTES; sent += filler.length, i++) {
        yield `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `${i} ${filler}` } }], usage: null })}\n\n`;
      }
      // The client asks for usage, so that what arrives is all that was sent.
      yield end.join('');
    },
  },
  {
    name: 'a whole response beyond 32 MiB',
    path: '/v1/chat/completions',
    isStream: false,
    type: 'application/json',
    // All but the last chunk leaves as soon as 32 MiB are in; what the network does not take of that waits in memory.
    heldBytesMax: 32 * MIB + HELD_BYTES_MAX,
    *pieces() {
      yield '{"id":"chatcmpl-1","usage":{"prompt_tokens":11,"completion_tokens":7},"parts":[0';
      const filler = 'x'.repeat(100_000);
      for (let sent = 0, i = 0; sent < ANSWER_BYTES + 32 * MIB; sent += filler.length, i++) yield `,"${i} ${filler}"`;
      yield ']}';
    },
  },
] as const;

function bodyOf(isStream: boolean): object {
  return { ...requestOf(isStream), ...(isStream ? { stream_options: { include_usage: true } } : {}) };
}

/** The limits are wired in `src/app/gateway.ts`. */
function assertLimited({ gateway }: TestGateway): void {
  assert.equal(gateway.app.server.maxConnections, 321, 'the limits of the configuration do not reach the server');
}
const LIMITS = 'clientStallTimeout: 300ms, connections: 321';

describe('a client that stops reading', { timeout: 120_000 }, () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startGateway({ server: 'clientStallTimeout: 1h' });
  });
  after(() => gateway.stop());

  for (const { name, path, isStream, type, heldBytesMax, pieces } of forms) {
    test(`${name}: the provider is paused, and when the client reads on it gets every byte and pays once`, async () => {
      const account = await gateway.createAccount();
      const response = flood(pieces(), type);
      gateway.provider.respond = response.respond;
      const asked = gateway.provider.requests.length;
      const started = startCall(gateway.url + path, account.key, bodyOf(isStream), { isPaused: true });
      await gateway.provider.received(asked + 1);
      await response.heldUp(gateway);
      assert.ok(
        response.writtenBytes < heldBytesMax,
        `${response.writtenBytes} bytes were taken although the client does not read`,
      );

      const received = await started.response;
      received.resume();
      assert.equal(await received.ended(), true);
      await response.given;
      assert.equal(received.status, 200);
      assert.equal(received.body.length, response.writtenBytes);
      assert.equal(createHash('sha256').update(received.body).digest('hex'), response.digest());
      assert.equal((await account.endedCall()).status, 'succeeded');
      await assertSpent(account, COST);
      assert.equal(gateway.provider.requests.length, asked + 1);
    });
  }
});

for (const onClientAbort of ['cancel', 'drain'] as const) {
  describe(`a client that never reads again, with onClientAbort: ${onClientAbort}`, { timeout: 120_000 }, () => {
    let gateway: TestGateway;
    before(async () => {
      gateway = await startGateway({ server: LIMITS, billing: `onClientAbort: ${onClientAbort}` });
    });
    after(() => gateway.stop());

    for (const { name, path, isStream, type, pieces } of forms) {
      const isCancelled = isStream && onClientAbort === 'cancel';
      const outcome = isCancelled
        ? 'the provider is cancelled, and what came is charged'
        : 'the response is awaited to its end, and paid in full';
      // A response that is whole is awaited in both cases.
      if (!isStream && onClientAbort === 'drain') continue;
      test(`${name}: the client counts as gone, ${outcome}`, async () => {
        assertLimited(gateway);
        const account = await gateway.createAccount();
        const response = flood(pieces(), type);
        gateway.provider.respond = response.respond;
        const started = startCall(gateway.url + path, account.key, bodyOf(isStream), { isPaused: true });
        const received = await started.response;
        const { status, usage } = await account.endedCall();
        if (isCancelled) {
          await response.closed;
          assert.deepEqual([status, usage.source], ['aborted', 'estimated']);
          assert.ok(response.writtenBytes < HELD_BYTES_MAX, `${response.writtenBytes} bytes`);
          await assertSpent(account, costNano({ input: usage.inputTokens, output: usage.outputTokens }));
        } else {
          await response.given;
          assert.deepEqual([status, usage.source], ['succeeded', 'observed']);
          await assertSpent(account, COST);
        }
        // What had left for it by then is all that there is.
        received.resume();
        assert.equal(await received.ended(), false);
      });
    }

    if (onClientAbort === 'drain') return;
    test('a whole response that has been paid for does not wait in memory for ever', async () => {
      assertLimited(gateway);
      const account = await gateway.createAccount();
      const text = `{"usage":{"prompt_tokens":11,"completion_tokens":7},"text":"${'x'.repeat(30 * MIB)}"}`;
      gateway.provider.respond = flood([text], 'application/json').respond;
      const dropped = new Promise<void>((resolve) => {
        gateway.gateway.app.server.once('request', (request) => request.socket.once('close', () => resolve()));
      });
      const started = startCall(`${gateway.url}/v1/chat/completions`, account.key, bodyOf(false), { isPaused: true });
      const received = await started.response;
      await dropped;
      assert.equal((await account.endedCall()).status, 'succeeded');
      await assertSpent(account, COST);
      received.resume();
      assert.equal(await received.ended(), false);
    });
  });
}

/** Two ends of one connection, the second of which does not read. */
async function socketPair(context: TestContext): Promise<{ near: Socket; far: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const far = connect(port, '127.0.0.1');
  far.pause();
  far.on('error', () => undefined);
  const [near] = (await once(server, 'connection')) as [Socket];
  near.on('error', () => undefined);
  context.after(() => {
    near.destroy();
    far.destroy();
    server.close();
  });
  return { near, far };
}

/** Takes this much from the other end. */
async function take(far: Socket, sizeBytes: number): Promise<void> {
  for (let taken = 0; taken < sizeBytes; ) {
    const chunk = far.read(Math.min(far.readableLength, sizeBytes - taken)) as Buffer | null;
    if (chunk === null) await once(far, 'readable');
    else taken += chunk.length;
  }
}

describe('a connection that is looked at', { timeout: 60_000 }, () => {
  const served = (): never => assert.fail('there is no request');
  const LIMIT_MS = 240_000;
  /** Of the limit, what a client has for so much. */
  const TIME_MS = 8_000;

  test('is dropped when its client takes nothing for the time that it has, and a byte that it sends puts nothing off', async (context) => {
    const { near, far } = await socketPair(context);
    const connection = new Connection(near, served, served, LIMIT_MS, () => null);
    near.write(Buffer.alloc(32 * MIB));
    near.resume();
    for (let nowMs = 0; nowMs < TIME_MS; nowMs += 2_000) {
      far.write('x');
      await once(near, 'data');
      connection.check(nowMs, 32 * MIB);
      assert.equal(near.destroyed, false, `after ${nowMs} ms`);
    }
    connection.check(TIME_MS, 32 * MIB);
    assert.equal(near.destroyed, true);
  });

  test('stays as long as the client takes enough in the time that it has, though it is all one write', async (context) => {
    const { near, far } = await socketPair(context);
    const connection = new Connection(near, served, served, LIMIT_MS, () => null);
    let isDone = false;
    let nowMs = 0;
    near.write(Buffer.alloc(128 * MIB), () => {
      isDone = true;
    });
    // More at a time than the system buffers between the two ends, so that it has to take more of the write.
    const step = 16 * MIB;
    for (let taken = 0; taken < 64 * MIB; taken += step) {
      for (let checks = 0; checks < 4; checks++, nowMs += 2_000) connection.check(nowMs, 128 * MIB);
      await take(far, step);
      assert.equal(near.destroyed, false, `${taken} bytes were taken`);
    }
    assert.equal(isDone, false);
  });

  test('stays for any time if nothing waits for the client', async (context) => {
    const { near } = await socketPair(context);
    const connection = new Connection(near, served, served, LIMIT_MS, () => null);
    for (let checks = 0; checks < 100; checks++) connection.check(checks * LIMIT_MS, 128 * MIB);
    assert.equal(near.destroyed, false);
  });
});
