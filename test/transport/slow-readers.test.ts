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

/** Clients that read slowly or not at all: the effect on the provider, on the gateway's memory, and on the account. */

const MIB = 1024 * 1024;
const ANSWER_BYTES = 32 * MIB;
/** Far more than the buffers between provider and client hold, far less than the response. */
const HELD_BYTES_MAX = 20 * MIB;
const COST = costNano({ input: 11, output: 7 });
/** One protocol is enough, because the same code relays streams of both. */
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
      // The client requests usage, so that it receives all bytes that were sent.
      yield end.join('');
    },
  },
  {
    name: 'a whole response beyond 32 MiB',
    path: '/v1/chat/completions',
    isStream: false,
    type: 'application/json',
    // All but the last chunk is sent when 32 MiB have arrived; the bytes that the network does not accept wait in memory.
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

/** `src/app/gateway.ts` passes these limits on. */
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
    test(`${name}: pauses the provider, and when it reads again it gets every byte and is charged once`, async () => {
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
      // A non-streaming response is awaited in both cases.
      if (!isStream && onClientAbort === 'drain') continue;
      test(`${name}: the client counts as disconnected, ${outcome}`, async () => {
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
        // It gets only the bytes that had been sent by then.
        received.resume();
        assert.equal(await received.ended(), false);
      });
    }

    if (onClientAbort === 'drain') return;
    test('a non-streaming response that was charged does not stay in memory', async () => {
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

/** The two ends of a connection; the second does not read. */
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

/** Reads this number of bytes. */
async function take(far: Socket, sizeBytes: number): Promise<void> {
  for (let taken = 0; taken < sizeBytes; ) {
    const chunk = far.read(Math.min(far.readableLength, sizeBytes - taken)) as Buffer | null;
    if (chunk === null) await once(far, 'readable');
    else taken += chunk.length;
  }
}

describe('the check of a connection', { timeout: 60_000 }, () => {
  const served = (): never => assert.fail('there is no request');
  const LIMIT_MS = 240_000;
  /** The part of the limit that a client has with that many unread bytes. */
  const TIME_MS = 8_000;

  test('closes it if the client reads nothing within its time, even if the client sends bytes', async (context) => {
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

  test('keeps it while the client reads enough within its time, even if it is all one write', async (context) => {
    const { near, far } = await socketPair(context);
    const connection = new Connection(near, served, served, LIMIT_MS, () => null);
    let isDone = false;
    let nowMs = 0;
    near.write(Buffer.alloc(128 * MIB), () => {
      isDone = true;
    });
    // More at a time than the system buffers between the two ends, so that it must accept more of the write.
    const step = 16 * MIB;
    for (let taken = 0; taken < 64 * MIB; taken += step) {
      for (let checks = 0; checks < 4; checks++, nowMs += 2_000) connection.check(nowMs, 128 * MIB);
      await take(far, step);
      assert.equal(near.destroyed, false, `${taken} bytes were taken`);
    }
    assert.equal(isDone, false);
  });

  test('keeps it for any time if the client has read everything', async (context) => {
    const { near } = await socketPair(context);
    const connection = new Connection(near, served, served, LIMIT_MS, () => null);
    for (let checks = 0; checks < 100; checks++) connection.check(checks * LIMIT_MS, 128 * MIB);
    assert.equal(near.destroyed, false);
  });
});
