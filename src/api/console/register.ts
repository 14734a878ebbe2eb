import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import { METHODS, serveFile } from '../served-file.ts';
import { BUILT_CONSOLE, consoleFiles, readConsolePage } from './files.ts';

/** What the built page has where its nonce belongs. */
const NONCE_PLACE = 'STYLE_NONCE';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Faregate</title>
<p>The console is not in this installation. <code>npm run build</code> makes it, where the development dependencies are installed.</p>
</html>
`;

/**
 * Serves the console: one page, and the files that it loads. They are public; what the page shows it asks of the account API and the
 * admin API, as the person who has signed in.
 */
export function registerConsole(app: FastifyInstance, directory: string = BUILT_CONSOLE): void {
  const page = readConsolePage(directory);
  app.route({
    method: METHODS,
    url: CONSOLE_PATH,
    config: { envelope: adminEnvelope, kind: 'page' },
    async handler(_request, reply) {
      const nonce = randomBytes(18).toString('base64');
      return reply
        .code(page === null ? 404 : 200)
        .headers({
          'content-security-policy': policyOf(nonce),
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
          // The nonce is for one load.
          'cache-control': 'no-store',
        })
        .type('text/html; charset=utf-8')
        .send(page === null ? NOT_BUILT : page.replaceAll(NONCE_PLACE, nonce));
    },
  });
  app.servedAddresses.add({ path: CONSOLE_PATH, methods: METHODS, envelope: adminEnvelope });
  for (const file of consoleFiles(directory)) serveFile(app, file);
}

/**
 * The page may load and ask for what is here, and nothing else: no script in the page, nothing from elsewhere, no frame around it. Its
 * components add styles while it runs; they know the nonce.
 */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
