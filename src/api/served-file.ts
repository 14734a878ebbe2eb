import { hash } from 'node:crypto';
import { negotiate } from '@fastify/accept-negotiator';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

/** A file that browsers load. */
export interface ServedFile {
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How long browsers use what they have without asking. */
  readonly cacheControl: string;
  /** Its bytes; called once, when somebody first wants the file. */
  readonly read: () => Buffer;
  /** The same bytes encoded, by the name of the encoding, best first. */
  readonly encoded?: readonly EncodedFile[];
}

interface EncodedFile {
  readonly encoding: 'br' | 'gzip';
  readonly read: () => Buffer;
}

/** Bytes with their tag. */
interface Tagged {
  readonly bytes: Buffer;
  readonly etag: string;
}

/** Responses a request for a file. */
export type FileHandler = (request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const METHODS = ['GET', 'HEAD'];

/** Serves a file at an address to everybody. */
export function serveFile(app: FastifyInstance, path: string, file: ServedFile): void {
  servePage(app, path, fileHandler(file));
}

/** Serves what browsers load at an address, which may end with `*`. */
export function servePage(
  app: FastifyInstance,
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | Promise<FastifyReply>,
): void {
  app.route({ method: METHODS, url: path, config: { envelope: adminEnvelope, kind: 'page' }, handler });
  app.servedAddresses.add({ path, methods: METHODS, envelope: adminEnvelope });
}

/** Responds with a file, in the best encoding that the client takes. Its bytes stay in memory once they were asked for. */
export function fileHandler({ contentType, headers, cacheControl, read, encoded = [] }: ServedFile): FileHandler {
  const made = new Map<string, Tagged>();
  const encodings = encoded.map(({ encoding }) => encoding);
  return (request, reply) => {
    const best = negotiate(request.headers['accept-encoding']?.toLowerCase() ?? '', encodings);
    const accepted = encoded.find(({ encoding }) => encoding === best);
    const { encoding, read: readBytes } = accepted ?? { encoding: 'identity', read };
    // Read before any header is set: if that fails, the error must not be kept as if it were the file.
    const tagged = made.get(encoding) ?? tag(readBytes());
    made.set(encoding, tagged);
    reply
      .headers({ ...headers, 'cache-control': cacheControl, 'x-content-type-options': 'nosniff', etag: tagged.etag })
      .type(contentType);
    if (encoded.length > 0) reply.header('vary', 'Accept-Encoding');
    if (accepted !== undefined) reply.header('content-encoding', encoding);
    return isKnown(request, tagged.etag) ? reply.code(304).send() : reply.send(tagged.bytes);
  };
}

function tag(bytes: Buffer): Tagged {
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"` };
}

/** Whether the client has the file with this tag (RFC 9110, section 13.1.2). */
function isKnown(request: FastifyRequest, etag: string): boolean {
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''));
  return known?.some((each) => each === etag || each === '*') ?? false;
}
