import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { type DocumentedAddresses, describeApi } from './document.ts';
import { docsFiles } from './viewer.ts';

const METHODS = ['GET', 'HEAD'];

/** How long browsers use what they have without asking; the document changes with the version. */
const CACHE_CONTROL = 'public, max-age=300';

/** Bytes with their tag. */
interface Tagged {
  readonly bytes: Buffer;
  readonly etag: string;
}

/**
 * Serves the description of all addresses, and a page that shows it. Both are public: they say what the program can do, and nothing
 * of its configuration beyond the names of addresses.
 *
 * `addresses`: asked for once, when somebody first wants the document.
 */
export function registerOpenApi(app: FastifyInstance, addresses: () => DocumentedAddresses): void {
  const serve = (path: string, contentType: string, make: () => Buffer, headers: Record<string, string> = {}): void => {
    let made: Tagged | null = null;
    app.route({
      method: METHODS,
      url: path,
      config: { envelope: adminEnvelope, kind: 'docs' },
      async handler(request, reply) {
        made ??= tagged(make());
        return answer(request, reply.headers(headers).type(contentType), made);
      },
    });
    app.servedAddresses.add({ path, methods: METHODS, envelope: adminEnvelope });
  };
  serve('/openapi.json', 'application/json', () => Buffer.from(JSON.stringify(describeApi(addresses()))));
  for (const { path, contentType, read, headers } of docsFiles) serve(path, contentType, read, headers);
}

function tagged(bytes: Buffer): Tagged {
  return { bytes, etag: `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"` };
}

function answer(request: FastifyRequest, reply: FastifyReply, { bytes, etag }: Tagged): FastifyReply {
  reply.headers({ etag, 'cache-control': CACHE_CONTROL, 'x-content-type-options': 'nosniff' });
  const known = request.headers['if-none-match']?.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  if (known?.some((tag) => tag === etag || tag === '*')) return reply.code(304).send();
  return reply.send(bytes);
}
