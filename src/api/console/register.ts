import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import { pagePolicy, servePage } from '../served-file.ts';
import { BUILT_CONSOLE, type Console, readConsole } from './files.ts';

/** What the built page has where its nonce belongs. */
const NONCE_PLACE = 'STYLE_NONCE';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Faregate</title>
<p>The console is not in this installation. <code>npm run build</code> makes it, if the development dependencies are installed.</p>
</html>
`;

/**
 * Serves the console: one page, and the files that it loads. They are public; what the page shows it asks of the account API and the
 * admin API, as the person who has signed in.
 */
export function registerConsole(app: FastifyInstance, directory: string = BUILT_CONSOLE): void {
  let reading: Promise<Console | null> | null = null;
  /** The console as it was when somebody first wanted it; looked for again while there is none. */
  const read = async (): Promise<Console | null> => {
    reading ??= readConsole(directory);
    const found = await reading.catch((error: unknown) => {
      reading = null;
      throw error;
    });
    if (found === null) reading = null;
    return found;
  };

  servePage(app, CONSOLE_PATH, async (_request, reply) => {
    const nonce = randomBytes(18).toString('base64');
    const page = (await read())?.page;
    return reply
      .code(page === undefined ? 404 : 200)
      .headers({
        // Its components add styles while it runs; they know the nonce.
        'content-security-policy': pagePolicy(` 'nonce-${nonce}'`),
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        // The nonce is for one load.
        'cache-control': 'no-store',
      })
      .type('text/html; charset=utf-8')
      .send(page === undefined ? NOT_BUILT : page.replaceAll(NONCE_PLACE, nonce));
  });

  servePage(app, `${CONSOLE_PATH}/*`, async (request, reply) => {
    const { '*': path } = request.params as { '*': string };
    const file = (await read())?.files.get(path);
    // A page of another version asks for files that are not of this one.
    if (file === undefined) throw new GatewayError('pathUnknown', { headers: { 'cache-control': 'no-store' } });
    return file(request, reply);
  });
}
