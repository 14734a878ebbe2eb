import type { FastifyInstance } from 'fastify';
import { serveFile } from '../served-file.ts';
import { type DocumentedAddresses, describeApi } from './document.ts';
import { docsFiles } from './viewer.ts';

const CACHE_CONTROL = 'public, max-age=300';

/**
 * Serves the document and its viewer to everybody. Of the configuration, they contain only the names in addresses. `addresses` is called
 * once, at the first request.
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
