import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { adminEnvelope } from '../errors/envelopes.ts';

/** A file that browsers load. */
export interface ServedFile {
  /** Its address. */
  readonly path: string;
  readonly contentType: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How long browsers use what they have without asking. */
  readonly cacheControl: string;
  /** Its bytes; called once, when somebody first wants the file. */
  readonly read: () => Buffer;
  /** The same bytes encoded, by the name of the encoding, best first. */
  readonly encoded?: readonly EncodedFile[];
}

export interface EncodedFile {
  readonly encoding: 'br' | 'gzip';
  readonly read: () => Buffer;
}

/** Bytes with their tag. */
interface Tagged {
  readonly bytes: Buffer;
  readonly etag: string;
}

export const METHODS = ['GET', 'HEAD'];

/** Serves a file to everybody, in the best encoding that the client takes. Its bytes stay in memory once they were asked for. */
export function serveFile(app: FastifyInstance, file: ServedFile): void {
  const { path, contentType, headers, cacheControl, encoded = [] } = file;
  const made = new Map<string, Tagged>();
  const bytesAs = (encoding: string, read: () => Buffer): Tagged => {
    const tagged = made.get(encoding) ?? tag(read());
    made.set(encoding, tagged);
    return tagged;
  };
  app.route({
    method: METHODS,
    url: path,
    config: { envelope: adminEnvelope, kind: 'page' },
    async handler(request, reply) {
      const accepted = encoded.find(({ encoding }) => accepts(request, encoding));
      reply
        .headers({ ...headers, 'cache-control': cacheControl, 'x-content-type-options': 'nosniff' })
        .type(contentType);
      if (encoded.length > 0) reply.header('vary', 'Accept-Encoding');
      if (accepted === undefined) return answer(request, reply, bytesAs('identity', file.read));
      reply.header('content-encoding', accepted.encoding);
      return answer(request, reply, bytesAs(accepted.encoding, accepted.read));
    },
  });
  app.servedAddresses.add({ path, methods: METHODS, envelope: adminEnvelope });
}

/** Whether `Accept-Encoding` names the encoding without `q=0` (RFC 9110, section 12.5.3). */
function accepts(request: FastifyRequest, encoding: string): boolean {
  const named = request.headers['accept-encoding']?.split(',').map((each) =>
    each
      .trim()
      .toLowerCase()
      .split(/\s*;\s*/),
  );
  const found = named?.find(([name]) => name === encoding);
  return found !== undefined && !/^q=0(?:\.0*)?$/.test(found[1] ?? '');
}

function tag(bytes: Buffer): Tagged {
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"` };
}

function answer(request: FastifyRequest, reply: FastifyReply, { bytes, etag }: Tagged): FastifyReply {
  reply.header('etag', etag);
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim().replace(/^W\//, ''));
  if (known?.some((each) => each === etag || each === '*')) return reply.code(304).send();
  return reply.send(bytes);
}
