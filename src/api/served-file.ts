import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

export interface ServedFile {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly cacheControl: string;
  /** Reads the file. Called once, at the first request. */
  readonly read: () => Buffer;
  /** Compressed versions of the file. The first one that the client accepts is sent. */
  readonly encoded?: readonly EncodedFile[];
}

interface EncodedFile {
  readonly encoding: 'br' | 'gzip';
  readonly read: () => Buffer;
}

interface Tagged {
  readonly bytes: Buffer;
  readonly etag: string;
}

export type FileHandler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const METHODS = ['GET', 'HEAD'];

export function serveFile(app: FastifyInstance, path: string, file: ServedFile): void {
  servePage(app, path, fileHandler(file));
}

/** Serves a file at a path, which may end with `*`. */
export function servePage(
  app: FastifyInstance,
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>,
): void {
  app.route({ method: METHODS, url: path, config: { envelope: adminEnvelope, kind: 'page' }, handler });
  app.servedAddresses.add({ path, methods: METHODS, envelope: adminEnvelope });
}

/** Returns a handler for a file. The content stays in memory after the first request. */
export function fileHandler({ contentType, headers, cacheControl, read, encoded = [] }: ServedFile): FileHandler {
  const made = new Map<string, Tagged>();
  const encodings = encoded.map(({ encoding }) => encoding);
  return (request, reply) => {
    const best = negotiate(request.headers['accept-encoding']?.toLowerCase() ?? '', encodings);
    const accepted = encoded.find(({ encoding }) => encoding === best);
    const { encoding, read: readBytes } = accepted ?? { encoding: 'identity', read };
    // Read before headers are set: if this fails, the error must not have the caching headers of the file.
    const tagged = made.get(encoding) ?? tag(readBytes());
    made.set(encoding, tagged);
    reply
      .headers({ ...headers, 'cache-control': cacheControl, 'x-content-type-options': 'nosniff', etag: tagged.etag })
      .type(contentType);
    if (encoded.length > 0) reply.header('vary', 'Accept-Encoding');
    if (accepted !== undefined) reply.header('content-encoding', encoding);
    return isKnown(request.headers, tagged.etag) ? reply.code(304).send() : reply.send(tagged.bytes);
  };
}

function tag(bytes: Buffer): Tagged {
  return { bytes, etag: etagOf(bytes) };
}

export function etagOf(content: Buffer | string): string {
  return `"${hash('sha256', content, 'base64url').slice(0, 27)}"`;
}

/** Whether the client has this version. Caches may have weakened the tag (RFC 9110, sections 8.8.3.2 and 13.1.2). */
export function isKnown({ 'if-none-match': sent = '' }: IncomingHttpHeaders, etag: string): boolean {
  return sent.split(',').some((tag) => [etag, `W/${etag}`, '*'].includes(tag.trim()));
}

/** Returns the content security policy of a page. `styles`: further allowed sources of styles. */
export function pagePolicy(styles = ''): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${styles}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
