import assert from 'node:assert/strict';
import {
  createSecureServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { parseConfig } from '../../src/config/load.ts';
import type { Tenant } from '../../src/lib/fair/shares.ts';
import type { RequestBody } from '../../src/protocols/operations/operation.ts';
import { Exchange, type UpstreamHead } from '../../src/providers/upstream/exchange.ts';
import { UpstreamFailure } from '../../src/providers/upstream/failure.ts';
import { createProvider, type Provider } from '../../src/providers/upstream/provider.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from './certificate.ts';
import { listenOnLoopback } from './loopback.ts';
import { until } from './until.ts';

/** The provider side without a gateway: requests, one after another, to misbehaving servers. */

/** A provider's configuration: `baseUrl` and YAML of its other fields. */
export function providerAt(baseUrl: string, fields = ''): Provider {
  const text = `providers: { tested: { protocol: chat, baseUrl: "${baseUrl}", apiKey: provider-secret-key-1, ${fields} } }`;
  return createProvider('tested', parseConfig(text, 'test.yaml', {}).providers.tested!);
}

export interface Sent {
  readonly exchange: Exchange;
  /** Resolves with the head of the response. */
  readonly head: Promise<UpstreamHead>;
  /** Body received so far. */
  readonly chunks: Buffer[];
  /** Resolves when part of the body has arrived. */
  readonly firstChunk: Promise<void>;
  /** `ended`, `aborted`, or how it failed. */
  readonly outcome: Promise<'ended' | 'aborted' | UpstreamFailure>;
}

export function send(
  provider: Provider,
  body: RequestBody = Buffer.from('{}'),
  headers: Record<string, string> = { 'content-type': 'application/json' },
  account: Tenant = { accountId: 'a', isOnlyAccount: true },
): Sent {
  const head = Promise.withResolvers<UpstreamHead>();
  const firstChunk = Promise.withResolvers<void>();
  const chunks: Buffer[] = [];
  const exchange = Exchange.start(
    { provider, account, path: '/call', headers, body },
    {
      receiveHead: head.resolve,
      receive(chunk) {
        chunks.push(chunk);
        firstChunk.resolve();
      },
    },
  );
  const outcome = exchange.done.catch((error: unknown) => {
    assert.ok(error instanceof UpstreamFailure, String(error));
    return error;
  });
  return { exchange, head: head.promise, chunks, firstChunk: firstChunk.promise, outcome };
}

/** The text of a complete response. */
export async function responseOf(sent: Sent): Promise<string> {
  const outcome = await sent.outcome;
  assert.equal(outcome, 'ended', String(outcome instanceof Error ? (outcome.cause ?? outcome) : outcome));
  return Buffer.concat(sent.chunks).toString();
}

/** The details of a failure, and the response that the client gets. */
export async function failureOf(sent: Sent): Promise<[certainty: string, kind: string, status: number]> {
  const outcome = await sent.outcome;
  assert.ok(outcome instanceof UpstreamFailure, `it did not fail: ${String(outcome)}`);
  return [outcome.certainty, outcome.response.kind, outcome.response.status];
}

/** Resolves when no calls through a provider are left. Their connections close a little later. */
export async function becomesIdle({ gate, pool }: Provider): Promise<void> {
  assert.deepEqual([gate.callsInFlight, gate.callsWaiting], [0, 0]);
  await until(() => pool.stats.size === 0);
}

/** A TCP server whose every byte is controlled by a test. */
export interface RawServer {
  readonly url: string;
  readonly port: number;
  readonly connections: number;
  /** How often a text was received, over all connections. */
  count(text: string): number;
  close(): Promise<void>;
}

/** `serve` is called for each connection, and for each chunk received on it. */
export async function startRawServer(
  serve: (socket: Socket, received: string, connection: number) => void,
  onConnection: (socket: Socket) => void = () => undefined,
): Promise<RawServer> {
  const received: string[] = [];
  const server = createServer((socket) => {
    const index = received.push('') - 1;
    socket.on('error', () => undefined);
    onConnection(socket);
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      received[index] += text;
      serve(socket, text, index);
    });
  });
  const { port, close } = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    get connections() {
      return received.length;
    },
    count: (text) => received.reduce((sum, all) => sum + all.split(text).length - 1, 0),
    close,
  };
}

/** A provider that speaks HTTP/2, controlled per stream. */
export interface Http2Server {
  readonly url: string;
  /** YAML of the provider fields that connect to this server. */
  readonly fields: string;
  readonly streams: ServerHttp2Stream[];
  readonly sessions: ServerHttp2Session[];
  /** Handles the next streams. The index counts all of them. */
  serve: (stream: ServerHttp2Stream, index: number, headers: IncomingHttpHeaders) => void;
  close(): Promise<void>;
}

export async function startHttp2Server(settings: object = {}): Promise<Http2Server> {
  const streams: ServerHttp2Stream[] = [];
  const sessions: ServerHttp2Session[] = [];
  const server = createSecureServer({ key: CERTIFICATE_KEY, cert: CERTIFICATE, settings });
  server.on('session', (session) => {
    session.on('error', () => undefined);
    sessions.push(session);
  });
  server.on('sessionError', () => undefined);
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    const index = streams.push(stream) - 1;
    self.serve(stream, index, headers);
  });
  const { port, close } = await listenOnLoopback(server);
  const self: Http2Server = {
    url: `https://127.0.0.1:${port}`,
    fields: `http2: true, ca: ${JSON.stringify(CERTIFICATE)},`,
    streams,
    sessions,
    serve: responseOk,
    close,
  };
  return self;
}

/** Reads the request and responds `ok`. */
export function responseOk(stream: ServerHttp2Stream): void {
  stream.resume();
  stream.on('end', () => {
    stream.respond({ ':status': 200, 'content-type': 'application/json' });
    stream.end('ok');
  });
}
