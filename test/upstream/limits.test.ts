import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import type { StoredBody } from '../../src/protocols/operations/operation.ts';
import { UpstreamFailure } from '../../src/providers/upstream/failure.ts';
import type { Provider } from '../../src/providers/upstream/provider.ts';
import {
  becomesIdle,
  failureOf,
  providerAt,
  type RawServer,
  responseOf,
  type Sent,
  send,
  startRawServer,
} from '../support/upstream.ts';

/** Timeouts of a call at each stage, over HTTP/1.1. */

const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\nok';
const NO_TIME = 'timeouts: { connect: 10s, firstByte: 60ms, idle: 60ms }';
const TIMED_OUT = ['unknown', 'upstreamTimeout', 504];
const NOT_REACHED = ['notSent', 'upstreamNotReached', 502];
const UNKNOWN = ['unknown', 'upstreamError', 502];

/** Whether a chunk of a request is the last one. Bodies here are JSON. */
const isWhole = (text: string): boolean => text.endsWith('}');

const opened: { close(): Promise<unknown> }[] = [];
after(async () => {
  for (const { close } of opened) await close();
});

async function serve(...how: Parameters<typeof startRawServer>): Promise<RawServer> {
  const server = await startRawServer(...how);
  opened.push(server);
  return server;
}

function provider(url: string, fields?: string): Provider {
  const made = providerAt(url, fields);
  opened.push({ close: () => made.destroy() });
  return made;
}

/** Repeats an action while a connection is open. */
function repeat(socket: Socket, act: (round: number) => void): void {
  let round = 0;
  const timer = setInterval(() => act(round++), 5);
  socket.on('close', () => clearInterval(timer));
}

/** A body that records when it was released. */
function storedBody(sizeBytes: number): StoredBody & { readonly closed: Promise<void> } {
  const closed = Promise.withResolvers<void>();
  return {
    sizeBytes,
    closed: closed.promise,
    async *read() {
      try {
        for (let at = 0; at < sizeBytes; at += 65_536) yield Buffer.alloc(Math.min(65_536, sizeBytes - at), 'x');
      } finally {
        closed.resolve();
      }
    },
  };
}

describe('the timeouts of a provider', () => {
  it('a provider that accepts the connection and never responds to the TLS handshake: not sent, after connect', async () => {
    const server = await serve(() => undefined);
    const silent = provider(server.url.replace('http:', 'https:'), 'timeouts: { connect: 60ms }');
    assert.deepEqual(await failureOf(send(silent)), NOT_REACHED);
    await becomesIdle(silent);
  });

  it('a provider that never responds: a timeout after firstByte, and its connection is closed', async () => {
    const closed = Promise.withResolvers<void>();
    const server = await serve(
      () => undefined,
      (socket) => socket.on('close', () => closed.resolve()),
    );
    const silent = provider(server.url, NO_TIME);
    assert.deepEqual(await failureOf(send(silent)), TIMED_OUT);
    await closed.promise;
    await becomesIdle(silent);
  });

  for (const [what, act] of [
    ['endless interim responses', (socket: Socket) => socket.write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n')],
    [
      'the head of a response byte by byte',
      (socket: Socket, round: number) => socket.write('HTTP/1.1 200 OK\r\nx-'[round] ?? 'x'),
    ],
  ] as const) {
    it(`a provider that sends ${what}: a timeout after firstByte in total`, async () => {
      const server = await serve((socket) => repeat(socket, (round) => act(socket, round)));
      const slow = provider(server.url, NO_TIME);
      assert.deepEqual(await failureOf(send(slow)), TIMED_OUT);
      await becomesIdle(slow);
    });
  }

  it('a provider that sends an unexpected 100 Continue: the outcome is unknown', async () => {
    const server = await serve((socket) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${OK}`));
    assert.deepEqual(await failureOf(send(provider(server.url))), UNKNOWN);
  });

  it('a provider that stops in the middle of a response: a timeout after idle', async () => {
    const server = await serve((socket) => socket.write(OK.slice(0, -1)));
    const stalling = provider(server.url, NO_TIME);
    const sent = send(stalling);
    assert.deepEqual(await failureOf(sent), TIMED_OUT);
    assert.equal(Buffer.concat(sent.chunks).toString(), 'o');
    await becomesIdle(stalling);
  });

  it('a receiver that pauses the response does not cause a timeout', async () => {
    const server = await serve((socket) => socket.write(OK.slice(0, -1)));
    const pausing = provider(server.url, NO_TIME);
    const paused = send(pausing);
    await paused.firstChunk;
    paused.exchange.pause();
    // A later call times out, so the timeout has passed for the first one too.
    assert.deepEqual(await failureOf(send(pausing)), TIMED_OUT);
    const state = await Promise.race([paused.outcome, Promise.resolve('under way')]);
    assert.equal(state, 'under way');
    paused.exchange.resume();
    assert.deepEqual(await failureOf(paused), TIMED_OUT);
    await becomesIdle(pausing);
  });

  it('a response that continues after its call ended has no timeout, which would keep the process alive', async () => {
    const server = await serve((socket) => socket.write(OK.slice(0, -1)));
    const paused = send(provider(server.url));
    await paused.firstChunk;
    const timeouts = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    paused.exchange.pause();
    paused.exchange.abort();
    await paused.outcome;
    const before = timeouts();
    paused.exchange.resume();
    assert.equal(timeouts(), before);
  });

  it('a provider that stops reading a large request: a timeout after idle, and the body is released', async () => {
    const server = await serve(
      () => undefined,
      (socket) => socket.pause(),
    );
    const deaf = provider(server.url, 'timeouts: { connect: 10s, firstByte: 1h, idle: 60ms }');
    const stored = storedBody(64 * 2 ** 20);
    assert.deepEqual(await failureOf(send(deaf, stored)), TIMED_OUT);
    await stored.closed;
    assert.deepEqual(await failureOf(send(deaf, Buffer.alloc(64 * 2 ** 20))), TIMED_OUT);
    await becomesIdle(deaf);
  });

  it('a provider that reads a large request slowly: no total timeout, and every byte arrives', async () => {
    let bytes = 0;
    const server = await serve((socket, text) => {
      bytes += text.length;
      socket.pause();
      setTimeout(() => socket.resume(), 2);
      if (text.endsWith('x!')) socket.write(OK);
    });
    const slow = provider(server.url, 'timeouts: { connect: 10s, firstByte: 10s, idle: 5s }');
    const body = Buffer.alloc(3 * 2 ** 20, 'x');
    body.write('!', body.length - 1);
    assert.equal(await responseOf(send(slow, body)), 'ok');
    assert.ok(bytes > body.length);
    assert.equal(server.count(`content-length: ${body.length}\r\n`), 1);
    assert.equal(server.count('transfer-encoding'), 0);
    await becomesIdle(slow);
  });

  it('a provider that responds before it has read the request: its response counts', async () => {
    const server = await serve((socket) => {
      socket.pause();
      socket.write('HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig');
    });
    const hasty = provider(server.url);
    const stored = storedBody(64 * 2 ** 20);
    const sent = send(hasty, stored);
    assert.equal((await sent.head).status, 413);
    assert.equal(await responseOf(sent), 'big');
    await stored.closed;
    await becomesIdle(hasty);
  });
});

describe('connections to a provider', () => {
  /** Responds when a test requests it. */
  async function startHolding() {
    const held: Socket[] = [];
    let arrived = Promise.withResolvers<void>();
    const server = await serve((socket, text) => {
      if (!isWhole(text)) return;
      held.push(socket);
      arrived.resolve();
      arrived = Promise.withResolvers();
    });
    return {
      server,
      async responseNext() {
        if (held.length === 0) await arrived.promise;
        held.shift()!.write(OK);
      },
    };
  }

  async function assertHeldBack(sent: Sent): Promise<void> {
    assert.deepEqual(await failureOf(sent), NOT_REACHED);
    const failure = (await sent.outcome) as UpstreamFailure;
    assert.equal(failure.blamesRoute, false);
    assert.equal(failure.response.retry, 'yes');
    assert.equal(failure.response.headers['retry-after'], '1');
    assert.match(failure.response.message, /^All connections to the provider are in use\. Nothing was sent/);
  }

  it('never exceed the configured number: some calls wait, others are refused immediately and not sent', async () => {
    const { server, responseNext } = await startHolding();
    const narrow = provider(server.url, 'connections: 2, queue: { length: 1 }');
    const [first, second, waiting, refused] = [send(narrow), send(narrow), send(narrow), send(narrow)] as const;
    await assertHeldBack(refused);
    for (const sent of [first, second, waiting]) {
      await responseNext();
      assert.equal(await responseOf(sent), 'ok');
    }
    assert.equal(server.count('POST /call'), 3);
    assert.equal(server.connections, 2);
    await becomesIdle(narrow);
  });

  it('a call that waits for one in vain is not sent, and the queue may have length zero', async () => {
    const { server, responseNext } = await startHolding();
    const impatient = provider(server.url, 'connections: 1, queue: { length: 5, wait: 20ms }');
    const first = send(impatient);
    await assertHeldBack(send(impatient));
    await responseNext();
    await responseOf(first);
    assert.equal(server.count('POST /call'), 1);
    const none = provider(server.url, 'connections: 1, queue: { length: 0 }');
    const only = send(none);
    await assertHeldBack(send(none));
    await responseNext();
    await responseOf(only);
  });

  it('a call that is aborted while it waits frees its slot and is never sent', async () => {
    const { server, responseNext } = await startHolding();
    const narrow = provider(server.url, 'connections: 1, queue: { length: 2 }');
    const first = send(narrow);
    const [gone, aborted] = [send(narrow), send(narrow)];
    gone.exchange.abortUnsent();
    aborted.exchange.abort();
    assert.deepEqual(await failureOf(gone), NOT_REACHED);
    assert.equal(((await gone.outcome) as UpstreamFailure).blamesRoute, false);
    assert.equal(await aborted.outcome, 'aborted');
    const next = send(narrow);
    for (const sent of [first, next]) {
      await responseNext();
      assert.equal(await responseOf(sent), 'ok');
    }
    assert.equal(server.count('POST /call'), 2);
    // After a call was sent, only abort ends it.
    const inFlight = send(narrow);
    await responseNext();
    inFlight.exchange.abortUnsent();
    assert.equal(await responseOf(inFlight), 'ok');
    await becomesIdle(narrow);
  });

  it('a provider that is down: not sent, and it counts against the route', async () => {
    const server = await startRawServer(() => undefined);
    await server.close();
    const failure = (await send(provider(server.url)).outcome) as UpstreamFailure;
    assert.deepEqual([failure.certainty, failure.response.status, failure.blamesRoute], ['notSent', 502, true]);
    assert.doesNotMatch(JSON.stringify(failure.response), /127\.0\.0\.1/);
  });
});

describe('reused connections', () => {
  const marked = (mark: string): Buffer => Buffer.from(JSON.stringify({ mark }));

  it('a connection that the provider silently closed after its response is not reused', async () => {
    const server = await serve((socket, text) => {
      if (isWhole(text)) socket.end(OK);
    });
    const closing = provider(server.url, 'connections: 1');
    for (let i = 0; i < 20; i++) assert.equal(await responseOf(send(closing, marked(`call-${i}`))), 'ok');
    for (let i = 0; i < 20; i++) assert.equal(server.count(`"call-${i}"`), 1);
    assert.equal(server.connections, 20);
  });

  it('a connection that breaks while the next call is on it: the outcome is unknown, and the call is never sent again', async () => {
    const responded = new Set<Socket>();
    const server = await serve((socket, text) => {
      if (!isWhole(text)) return;
      if (responded.has(socket)) socket.resetAndDestroy();
      else {
        responded.add(socket);
        socket.write(OK);
      }
    });
    const breaking = provider(server.url, 'connections: 1');
    assert.equal(await responseOf(send(breaking, marked('first'))), 'ok');
    assert.deepEqual(await failureOf(send(breaking, marked('second'))), UNKNOWN);
    assert.equal(await responseOf(send(breaking, marked('third'))), 'ok');
    assert.equal(server.connections, 2);
    for (const mark of ['first', 'second', 'third']) assert.equal(server.count(`"${mark}"`), 1);
    await becomesIdle(breaking);
  });

  it('at whatever time the provider closes them, every call is sent at most once, and has a response or a known failure', async () => {
    const CALLS = 300;
    const server = await serve((socket, text, connection) => {
      if (!isWhole(text)) return;
      socket.write(OK);
      // The time of closing is varied over everything that the other side may be doing.
      let turns = connection % 7;
      const close = (): void => {
        if (turns-- > 0) setImmediate(close);
        else if (connection % 2 === 0) socket.end();
        else socket.resetAndDestroy();
      };
      setImmediate(close);
    });
    const racing = provider(server.url, 'connections: 4');
    const outcomes = await Promise.all(
      Array.from({ length: 4 }, async (_, sender) => {
        const all: unknown[] = [];
        for (let i = 0; i < CALLS / 4; i++) {
          const sent = send(racing, marked(`call-${sender}-${i}.`));
          all.push(await sent.outcome);
          if (i % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        return all;
      }),
    );
    for (const [sender, all] of outcomes.entries()) {
      for (const [i, outcome] of all.entries()) {
        const times = server.count(`"call-${sender}-${i}."`);
        if (outcome instanceof UpstreamFailure) {
          assert.ok(times <= (outcome.certainty === 'notSent' ? 0 : 1), `${outcome.message}: ${times} times`);
        } else assert.equal(times, 1);
      }
    }
    await becomesIdle(racing);
  });

  it('a large request of which nothing was written when the connection broke was not sent', async () => {
    const server = await serve(
      () => undefined,
      (socket) => socket.pause(),
    );
    const unread = provider(server.url);
    const failing: StoredBody = {
      sizeBytes: 10,
      // biome-ignore lint/correctness/useYield: it fails before it has anything
      async *read() {
        throw new Error('the disk failed');
      },
    };
    assert.deepEqual(await failureOf(send(unread, failing)), NOT_REACHED);
    assert.equal(server.count('POST'), 0);
    await becomesIdle(unread);
  });
});
