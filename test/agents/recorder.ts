import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { listenOnLoopback } from '../support/loopback.ts';

/** A request of an agent, and its outcome. */
export interface Recorded {
  readonly method: string;
  /** Including the query. */
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Grows until the request is complete. */
  body: Buffer;
  /** Milliseconds since the recorder started. */
  readonly startedAtMs: number;
  /** 0 until the head of the response arrives. */
  status: number;
  responseHeaders: IncomingMessage['headers'];
  /** The beginning of the response, long enough for an error. */
  response: string;
  /** How the response ended; `open` until then. */
  end: 'open' | 'complete' | 'broken' | 'left';
}

/** A proxy between agent and gateway that records all requests and forwards them at once. */
export interface Recorder {
  readonly url: string;
  readonly requests: Recorded[];
  /** Resolves when a response with this status begins. */
  responded(status: number): Promise<void>;
  close(): Promise<void>;
}

const ANSWER_CHARACTERS_KEPT = 4000;

export async function startRecorder(target: string): Promise<Recorder> {
  const { hostname, port } = new URL(target);
  const requests: Recorded[] = [];
  const waiting: { readonly status: number; readonly resolve: () => void }[] = [];
  const startMs = performance.now();

  const record = (incoming: IncomingMessage): Recorded => {
    const recorded: Recorded = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      headers: incoming.headers,
      body: Buffer.alloc(0),
      startedAtMs: performance.now() - startMs,
      status: 0,
      responseHeaders: {},
      response: '',
      end: 'open',
    };
    requests.push(recorded);
    return recorded;
  };

  const server = createServer((incoming, response) => pass(incoming, response, record(incoming)));

  function pass(incoming: IncomingMessage, response: ServerResponse, recorded: Recorded): void {
    const chunks: Buffer[] = [];
    const outgoing = request({
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: pairs(incoming.rawHeaders),
      setHost: false,
      agent: false,
    });
    incoming.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      outgoing.write(chunk);
    });
    incoming.on('end', () => {
      recorded.body = Buffer.concat(chunks);
      outgoing.end();
    });
    response.on('close', () => {
      if (response.writableFinished) return;
      if (recorded.end === 'open') recorded.end = 'left';
      outgoing.destroy();
    });
    outgoing.on('error', () => {
      if (recorded.end === 'open') recorded.end = 'broken';
      response.destroy();
    });
    outgoing.on('response', (received) => {
      recorded.status = received.statusCode ?? 0;
      recorded.responseHeaders = received.headers;
      for (const { status, resolve } of waiting) if (status === recorded.status) resolve();
      response.writeHead(recorded.status, received.statusMessage, pairs(received.rawHeaders));
      response.flushHeaders();
      received.on('data', (chunk: Buffer) => {
        if (recorded.response.length < ANSWER_CHARACTERS_KEPT) recorded.response += chunk.toString('latin1');
        response.write(chunk);
      });
      received.on('close', () => {
        if (received.complete) {
          if (recorded.end === 'open') recorded.end = 'complete';
          response.end();
          return;
        }
        if (recorded.end === 'open') recorded.end = 'broken';
        response.destroy();
      });
      received.on('error', () => undefined);
    });
  }

  // Forwards the gateway's refusal of an upgrade unchanged.
  server.on('upgrade', (incoming: IncomingMessage, client: Duplex) => {
    const recorded = record(incoming);
    const upstream = connect(Number(port), hostname);
    upstream.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n`);
    for (const [name, value] of pairList(incoming.rawHeaders)) upstream.write(`${name}: ${value}\r\n`);
    upstream.write('\r\n');
    upstream.on('data', (chunk) => {
      recorded.response += chunk.toString('latin1');
      recorded.status ||= Number(/^HTTP\/1\.1 (\d+)/.exec(recorded.response)?.[1] ?? 0);
      client.write(chunk);
    });
    upstream.on('close', () => {
      recorded.end = 'complete';
      client.end();
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
    client.on('close', () => upstream.destroy());
  });

  const own = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${own.port}`,
    requests,
    responded: (status) => new Promise((resolve) => waiting.push({ status, resolve })),
    close: own.close,
  };
}

/** Header lines verbatim: names in their own case, one line each. */
function pairs(raw: readonly string[]): Record<string, string | string[]> {
  const lines: Record<string, string | string[]> = {};
  for (const [name, value] of pairList(raw)) {
    const before = lines[name];
    lines[name] = before === undefined ? value : [before, value].flat();
  }
  return lines;
}

function* pairList(raw: readonly string[]): Generator<readonly [string, string]> {
  for (let index = 0; index + 1 < raw.length; index += 2) yield [raw[index]!, raw[index + 1]!];
}
