import type { FastifyInstance } from 'fastify';
import { serveFile } from '../served-file.ts';
import { type DocumentedAddresses, describeApi } from './document.ts';
import { docsFiles } from './viewer.ts';

/** The document changes with the version. */
const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves the description of all addresses, and a page that shows it. Both are public: they say what the program can do, and nothing
 * of its configuration beyond the names of addresses.
 *
 * `addresses`: asked for once, when somebody first wants the document.
 */
export function registerOpenApi(app: FastifyInstance, addresses: () => DocumentedAddresses): void {
  serveFile(app, '/openapi.json', {
    contentType: 'application/json',
    headers: {},
    cacheControl: CACHE_CONTROL,
    read: () => Buffer.from(JSON.stringify(describeApi(addresses()))),
  });
  for (const { path, ...file } of docsFiles) serveFile(app, path, { ...file, cacheControl: CACHE_CONTROL });
}
