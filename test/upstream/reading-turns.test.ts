import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import type { Provider } from '../../src/providers/upstream/provider.ts';
import { providerAt, type Sent, send, startHttp2Server, startRawServer } from '../support/upstream.ts';

/** Many responses that arrive as fast as they are read: measures how much is read before other work of the process can run. */

const KIB = 1024;
const RESPONSES = 12;
/** Servers buffer at most 10 MiB for all streams of a session. */
const HTTP2_BYTES = 512 * KIB;
const BODY = Buffer.alloc(3 * KIB * KIB, 'x');
/** The budget of an iteration, plus a chunk for each response that was not paused or has just resumed. */
const READ_BYTES_MAX = (512 + 128 * RESPONSES) * KIB;

const opened: { close(): Promise<unknown> }[] = [];
after(async () => {
  for (const { close } of opened) await close();
});

function provider(url: string, fields?: string): Provider {
  const made = providerAt(url, fields);
  opened.push({ close: () => made.destroy() });
  return made;
}

const bytesOf = (sent: readonly Sent[]): number =>
  sent.flatMap(({ chunks }) => chunks).reduce((sum, { length }) => sum + length, 0);

/** Maximum bytes received in one iteration of the event loop, until all responses have ended. */
async function mostAtOnce(sent: readonly Sent[]): Promise<number> {
  let isOver = false;
  let most = 0;
  let before = bytesOf(sent);
  const look = (): void => {
    const bytes = bytesOf(sent);
    most = Math.max(most, bytes - before);
    before = bytes;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  const outcomes = await Promise.all(sent.map(({ outcome }) => outcome));
  isOver = true;
  assert.deepEqual(new Set(outcomes), new Set(['ended']));
  return most;
}

function respond(socket: Socket): void {
  socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\n\r\n`);
  socket.write(BODY);
}

describe('responses that arrive faster than they are read', () => {
  it('HTTP/1.1: an iteration of the event loop reads a share of them, and all complete', async () => {
    const server = await startRawServer(respond);
    opened.push(server);
    const made = provider(server.url);
    const sent = Array.from({ length: RESPONSES }, () => send(made));
    const most = await mostAtOnce(sent);
    assert.equal(bytesOf(sent), RESPONSES * BODY.length);
    assert.ok(most <= READ_BYTES_MAX, `${most} bytes came at once`);
  });

  it('a receiver that pauses meanwhile stays paused', async () => {
    const server = await startRawServer(respond);
    opened.push(server);
    const made = provider(server.url);
    const stopped = send(made);
    await stopped.firstChunk;
    stopped.exchange.pause();
    // Data that is already being parsed is delivered.
    const bytesMax = bytesOf([stopped]) + 64 * KIB;
    const others = Array.from({ length: RESPONSES }, () => send(made));
    await Promise.all(others.map(({ outcome }) => outcome));
    assert.ok(bytesOf([stopped]) <= bytesMax);
    stopped.exchange.resume();
    assert.equal(await stopped.outcome, 'ended');
    assert.equal(bytesOf([stopped]), BODY.length);
  });

  it('HTTP/2: all complete', async () => {
    const server = await startHttp2Server();
    opened.push(server);
    server.serve = (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      stream.end(BODY.subarray(0, HTTP2_BYTES));
    };
    const made = provider(server.url, server.fields);
    const sent = Array.from({ length: RESPONSES }, () => send(made));
    const most = await mostAtOnce(sent);
    assert.equal(bytesOf(sent), RESPONSES * HTTP2_BYTES);
    assert.ok(most <= READ_BYTES_MAX, `${most} bytes came at once`);
  });
});
