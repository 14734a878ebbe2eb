import assert from 'node:assert/strict';
import type { ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { StoredBody } from '../../src/protocols/operations/operation.ts';
import type { UpstreamFailure } from '../../src/providers/upstream/failure.ts';
import type { Provider } from '../../src/providers/upstream/provider.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../support/certificate.ts';
import { type FrameServer, response, startFrameServer } from '../support/http2-frames.ts';
import {
  becomesIdle,
  failureOf,
  type Http2Server,
  providerAt,
  responseOf,
  responseOk,
  send,
  startHttp2Server,
} from '../support/upstream.ts';

/** Providers over HTTP/2: how calls arrive there, and what is known about failed ones. */

const CA = `ca: ${JSON.stringify(CERTIFICATE)}`;
const NO_TIME = 'timeouts: { connect: 10s, firstByte: 60ms, idle: 60ms }';
const TIMED_OUT = ['unknown', 'upstreamTimeout', 504];
const NOT_SENT = ['notSent', 'upstreamNotReached', 502];
const UNKNOWN = ['unknown', 'upstreamError', 502];

const PROTOCOL_ERROR = 1;
const REFUSED_STREAM = 7;
const CANCEL = 8;

const providers: Provider[] = [];
after(() => Promise.all(providers.map((provider) => provider.destroy())));

function provider(server: { readonly url: string; readonly fields: string }, fields = ''): Provider {
  const made = providerAt(server.url, server.fields + fields);
  providers.push(made);
  return made;
}

const LARGE = 8 * 2 ** 20;
const stored: StoredBody = {
  sizeBytes: LARGE,
  async *read() {
    for (let at = 0; at < LARGE; at += 65_536) yield Buffer.alloc(65_536, 'x');
  },
};

describe('a provider over HTTP/2', () => {
  let server: Http2Server;

  before(async () => {
    server = await startHttp2Server();
  });
  beforeEach(() => {
    server.serve = responseOk;
    server.streams.length = 0;
    server.sessions.length = 0;
  });
  after(() => server.close());

  it('receives concurrent calls on one connection, with their headers and bodies', async () => {
    const bodies: string[] = [];
    const held: ServerHttp2Stream[] = [];
    const all = Promise.withResolvers<void>();
    server.serve = (stream, _index, headers) => {
      assert.equal(headers[':path'], '/call');
      assert.equal(headers.authorization, 'Bearer k');
      assert.equal(headers['content-length'], '7');
      stream.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      stream.on('end', () => {
        if (held.push(stream) === 10) all.resolve();
      });
    };
    const shared = provider(server);
    const calls = Array.from({ length: 10 }, (_, i) =>
      send(shared, Buffer.from(`{"n":${i}}`), { 'content-type': 'application/json', authorization: 'Bearer k' }),
    );
    await all.promise;
    assert.deepEqual(
      bodies.toSorted(),
      Array.from({ length: 10 }, (_, i) => `{"n":${i}}`),
    );
    for (const stream of held) {
      stream.respond({ ':status': 200, 'content-type': 'application/json', 'x-request-id': `id-${stream.id}` });
      stream.end('{}');
    }
    for (const sent of calls) {
      const head = await sent.head;
      assert.equal(head.status, 200);
      assert.match(head.headers['x-request-id'] as string, /^id-\d+$/);
      assert.equal(await responseOf(sent), '{}');
    }
    assert.equal(server.sessions.length, 1);
    await becomesIdle(shared);
  });

  it('that only supports HTTP/1.1 is called with that', async () => {
    const versions: string[] = [];
    const old = createServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE }, (request, response) => {
      versions.push(request.httpVersion);
      request.resume().on('end', () => response.end('ok'));
    });
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(old.address() as AddressInfo).port}`;
    const offering = provider({ url, fields: `http2: true, ${CA},` });
    assert.equal(await responseOf(send(offering)), 'ok');
    assert.equal(await responseOf(send(offering, stored)), 'ok');
    assert.deepEqual(versions, ['1.1', '1.1']);
    await becomesIdle(offering);
    await offering.close();
    await new Promise((resolve) => old.close(resolve));
  });

  it('is not called over HTTP/2 without the setting, or with an untrusted certificate', async () => {
    const cautious = provider({ url: server.url, fields: `${CA},` });
    assert.deepEqual((await failureOf(send(cautious)))[0], 'notSent');
    assert.deepEqual(await failureOf(send(provider({ url: server.url, fields: 'http2: true,' }))), NOT_SENT);
    assert.equal(server.streams.length, 0);
  });

  it('receives more calls than one connection allows on several, up to the configured maximum', async () => {
    const narrow = await startHttp2Server({ maxConcurrentStreams: 1 });
    const held: ServerHttp2Stream[] = [];
    let arrived = Promise.withResolvers<void>();
    narrow.serve = (stream) => {
      held.push(stream);
      arrived.resolve();
      arrived = Promise.withResolvers();
    };
    const limited = provider(narrow, 'connections: 2, queue: { length: 1 }');
    const calls = [send(limited), send(limited), send(limited)] as const;
    const refused = (await send(limited).outcome) as UpstreamFailure;
    assert.deepEqual([refused.certainty, refused.blamesRoute], ['notSent', false]);
    for (let responded = 0; responded < 3; responded++) {
      while (held.length === 0) await arrived.promise;
      assert.ok(held.length <= 2);
      responseOk(held.shift()!);
    }
    for (const sent of calls) assert.equal(await responseOf(sent), 'ok');
    assert.equal(narrow.sessions.length, 2);
    await becomesIdle(limited);
    await limited.destroy();
    await narrow.close();
  });

  it('receives a large body completely, in chunks', async () => {
    let bytes = 0;
    server.serve = (stream) => {
      stream.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      stream.on('end', () => {
        stream.respond({ ':status': 200 });
        stream.end('ok');
      });
    };
    const shared = provider(server);
    assert.equal(await responseOf(send(shared, stored)), 'ok');
    assert.equal(bytes, LARGE);
    assert.equal(await responseOf(send(shared, Buffer.alloc(LARGE))), 'ok');
    assert.equal(bytes, 2 * LARGE);
    assert.equal(server.sessions.length, 1);
    await becomesIdle(shared);
  });

  it('streams immediately, is paused if the receiver stops, and may end with trailers', async () => {
    const HWM = 4 * 2 ** 20;
    let stream!: ServerHttp2Stream;
    server.serve = (given) => {
      stream = given;
      given.resume();
      given.respond({ ':status': 200, 'content-type': 'text/event-stream' }, { waitForTrailers: true });
      given.on('wantTrailers', () => given.sendTrailers({ 'x-checksum': '1' }));
      given.write('data: 1\n\n');
    };
    const shared = provider(server);
    const sent = send(shared);
    await sent.firstChunk;
    assert.equal(Buffer.concat(sent.chunks).toString(), 'data: 1\n\n');
    sent.exchange.pause();
    stream.write(Buffer.alloc(HWM, 'x'));
    stream.end();
    // Another call on the same connection is not delayed.
    server.serve = responseOk;
    assert.equal(await responseOf(send(shared)), 'ok');
    assert.ok(Buffer.concat(sent.chunks).length < HWM);
    sent.exchange.resume();
    assert.equal((await responseOf(sent)).length, HWM + 9);
  });

  it('receives a reset when a call is aborted, and others on the connection continue', async () => {
    const streams: ServerHttp2Stream[] = [];
    server.serve = (stream) => {
      stream.resume();
      stream.respond({ ':status': 200 });
      stream.write('a');
      streams.push(stream);
    };
    const shared = provider(server);
    const [gone, stays] = [send(shared), send(shared)];
    await Promise.all([gone.firstChunk, stays.firstChunk]);
    const closed = new Promise((resolve) => streams[0]!.on('close', resolve));
    gone.exchange.abort();
    assert.equal(await gone.outcome, 'aborted');
    await closed;
    streams[1]!.end('b');
    assert.equal(await responseOf(stays), 'ab');
    assert.equal(server.sessions.length, 1);
    await becomesIdle(shared);
  });

  for (const [what, misbehave] of [
    ['never responds', () => undefined],
    [
      'sends endless interim responses',
      (stream: ServerHttp2Stream) => {
        const timer = setInterval(() => stream.additionalHeaders({ ':status': 103, link: '</x>' }), 5);
        stream.on('close', () => clearInterval(timer));
      },
    ],
    [
      'stops in the middle of a response',
      (stream: ServerHttp2Stream) => {
        stream.respond({ ':status': 200 });
        stream.write('a');
      },
    ],
  ] as const) {
    it(`that ${what}: a timeout`, async () => {
      server.serve = misbehave;
      const slow = provider(server, NO_TIME);
      assert.deepEqual(await failureOf(send(slow)), TIMED_OUT);
      await becomesIdle(slow);
    });
  }

  it('that stops reading a large request: a timeout after idle', async () => {
    server.serve = () => undefined;
    const deaf = provider(server, 'timeouts: { connect: 10s, firstByte: 1h, idle: 60ms }');
    assert.deepEqual(await failureOf(send(deaf, stored)), TIMED_OUT);
    await becomesIdle(deaf);
  });
});

describe('a call that fails over HTTP/2', () => {
  let server: FrameServer;

  before(async () => {
    server = await startFrameServer();
  });
  after(() => server.close());

  /** Sends one call, and returns how it failed and how often it reached the provider. */
  async function failing(serve: FrameServer['serve'], body?: StoredBody): Promise<[string[], number]> {
    const before = server.requests;
    server.serve = serve;
    const made = provider(server, 'timeouts: { connect: 10s, firstByte: 10s, idle: 10s }');
    const sent = send(made, body);
    const [certainty, kind, status] = await failureOf(sent);
    await becomesIdle(made);
    await made.destroy();
    return [[certainty, kind, status] as unknown as string[], server.requests - before];
  }

  for (const code of [0, PROTOCOL_ERROR, CANCEL, 2, 5, 11, 13]) {
    it(`whose stream is reset with code ${code} before a response: unknown outcome, sent once`, async () => {
      assert.deepEqual(await failing((connection, stream) => connection.reset(stream, code)), [UNKNOWN, 1]);
    });
  }

  for (const code of [PROTOCOL_ERROR, REFUSED_STREAM, CANCEL, 2, 5, 11, 13]) {
    it(`whose stream is reset with code ${code} in the middle of the response: unknown outcome, not a complete response`, async () => {
      const outcome = await failing((connection, stream) => {
        connection.head(stream);
        connection.data(stream, 'half');
        connection.reset(stream, code);
      });
      assert.deepEqual(outcome, [UNKNOWN, 1]);
    });
  }

  it('whose stream is reset after the end of the response has not failed', async () => {
    for (const code of [0, CANCEL]) {
      server.serve = (connection, stream) => {
        response(connection, stream);
        connection.reset(stream, code);
      };
      assert.equal(await responseOf(send(provider(server))), 'ok');
    }
  });

  it('whose stream is refused certainly did not run: it is sent once more, and then to another provider', async () => {
    const refuse: FrameServer['serve'] = (connection, stream) => connection.reset(stream, REFUSED_STREAM);
    assert.deepEqual(await failing(refuse), [NOT_SENT, 2]);
    // A body from disk is not read again here; the next route does that.
    assert.deepEqual(await failing(refuse, stored), [NOT_SENT, 1]);
    const before = server.requests;
    server.serve = (connection, stream, index) =>
      index === before ? connection.reset(stream, REFUSED_STREAM) : response(connection, stream);
    assert.equal(await responseOf(send(provider(server))), 'ok');
    assert.equal(server.requests, before + 2);
  });

  for (const code of [0, 11]) {
    it(`that a GOAWAY with code ${code} excludes certainly did not run`, async () => {
      const goAway: FrameServer['serve'] = (connection) => connection.goAway(0, code);
      assert.deepEqual(await failing(goAway), [NOT_SENT, 2]);
      assert.deepEqual(await failing(goAway, stored), [NOT_SENT, 1]);
      const before = server.requests;
      server.serve = (connection, stream, index) =>
        index === before ? connection.goAway(0, code) : response(connection, stream);
      assert.equal(await responseOf(send(provider(server))), 'ok');
      assert.equal(server.requests, before + 2);
    });
  }

  it('with half a response has an unknown outcome, whatever the provider sends then', async () => {
    const outcome = await failing((connection, stream) => {
      connection.head(stream);
      connection.data(stream, 'half');
      connection.goAway(0);
    });
    assert.deepEqual(outcome, [UNKNOWN, 1]);
  });

  it('that a GOAWAY includes continues, with an unknown outcome if the connection breaks', async () => {
    server.serve = (connection, stream) => {
      connection.goAway(stream);
      response(connection, stream);
    };
    const going = provider(server);
    assert.equal(await responseOf(send(going)), 'ok');
    assert.equal(await responseOf(send(going)), 'ok');
    const outcome = await failing((connection, stream) => {
      connection.goAway(stream);
      connection.destroy();
    });
    assert.deepEqual(outcome, [UNKNOWN, 1]);
  });

  it('whose connection breaks has an unknown outcome, and no call on it is sent again', async () => {
    const before = server.requests;
    server.serve = (connection, _stream, index) => {
      if (index === before + 9) connection.destroy();
    };
    const broken = provider(server);
    // The first call opens the connection that the others must use.
    const calls = Array.from({ length: 10 }, () => send(broken));
    for (const sent of calls) assert.deepEqual(await failureOf(sent), UNKNOWN);
    assert.equal(server.requests, before + 10);
    server.serve = response;
    assert.equal(await responseOf(send(broken)), 'ok');
    assert.equal(server.requests, before + 11);
    await becomesIdle(broken);
  });
});
