import { createHash, type Hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { createHttpServer, type ServerLimits } from '../../src/http/server.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createIds } from '../../src/lib/ids.ts';
import type { Logger } from '../../src/lib/logger.ts';
import { chatEnvelope } from '../../src/protocols/chat/errors.ts';
import { messagesEnvelope } from '../../src/protocols/messages/errors.ts';
import type { TestGateway } from './gateway.ts';
import type { Respond } from './provider.ts';
import { type RawRequest, requestBytes } from './raw.ts';

/** Helpers for tests of the transport: endless responses, and a server without a gateway. */

/** A response that the provider sends as fast as it is read. */
export interface Flood {
  readonly respond: Respond;
  /** Bytes that the provider's operating system has accepted or queued. */
  readonly writtenBytes: number;
  /** Resolves when the provider stays blocked during many exchanges with the same gateway. */
  heldUp(gateway: TestGateway): Promise<void>;
  /** Resolves when everything was sent. */
  readonly given: Promise<void>;
  /** Resolves when the connection to the provider is closed. */
  readonly closed: Promise<void>;
  /** Hash of all bytes sent. */
  digest(): string;
}

const EXCHANGES = 40;

export function flood(pieces: Iterable<string>, contentType: string): Flood {
  const given = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const hash: Hash = createHash('sha256');
  let response: ServerResponse | null = null;
  let writtenBytes = 0;
  return {
    async respond(_request, to) {
      response = to;
      to.on('close', () => closed.resolve());
      to.writeHead(200, { 'content-type': contentType });
      for (const piece of pieces) {
        const bytes = Buffer.from(piece);
        hash.update(bytes);
        writtenBytes += bytes.length;
        if (to.destroyed) return;
        if (!to.write(bytes)) await Promise.race([new Promise((resolve) => to.once('drain', resolve)), closed.promise]);
      }
      to.end(() => given.resolve());
    },
    get writtenBytes() {
      return writtenBytes;
    },
    async heldUp(gateway) {
      for (let quiet = 0; quiet < EXCHANGES; quiet++) {
        const before = writtenBytes;
        await exchange(gateway.url);
        if (before !== writtenBytes || response?.writableNeedDrain !== true) quiet = 0;
      }
    },
    given: given.promise,
    closed: closed.promise,
    digest: () => hash.digest('hex'),
  };
}

/** One request and its response, to let the gateway do pending work. */
export async function exchange(url: string, count = 1): Promise<void> {
  for (let i = 0; i < count; i++) await (await fetch(`${url}/healthz`)).text();
}

/** The bytes of a call, with a key as Bearer and a JSON body. */
export function callBytes(key: string, path: string, body: object | string, more: Partial<RawRequest> = {}): Buffer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return requestBytes({
    path,
    body: text,
    ...more,
    headers: [['authorization', `Bearer ${key}`], ['content-type', 'application/json'], ...(more.headers ?? [])],
  });
}

/** The HTTP server alone, with its own limits. */
export interface TestServer {
  readonly url: string;
  readonly app: FastifyInstance;
  /** Warnings logged. */
  readonly warnings: string[];
  close(): Promise<void>;
}

/** Responds to `GET /healthz` at once and to `/live` with the given handler; no other paths exist. */
export async function startServer(
  limits: Partial<ServerLimits>,
  live: (request: IncomingMessage, response: ServerResponse) => void = () => undefined,
  host = '127.0.0.1',
): Promise<TestServer> {
  const warnings: string[] = [];
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (_details: object, message: string) => void warnings.push(message),
    error: () => undefined,
  };
  const app = createHttpServer({
    clock: systemClock,
    ids: createIds(systemClock),
    logger,
    isClosing: () => false,
    unknownAddresses: {
      envelopeOf: (path) => (path.includes('/messages') ? messagesEnvelope : chatEnvelope),
      messageFor: () => 'Nothing is here.',
    },
    limits: { headerTimeout: 60_000, clientStallTimeout: 300_000, connections: 1000, ...limits },
  });
  app.get('/healthz', async () => ({ status: 'ok' }));
  app.all('/live', (request, reply) => {
    reply.hijack();
    live(request.raw, reply.raw);
  });
  const url = await app.listen({ host, port: 0 });
  return {
    url,
    app,
    warnings,
    async close() {
      const closed = app.close();
      app.server.closeAllConnections();
      await closed;
    },
  };
}
