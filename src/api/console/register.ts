import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import { pagePolicy, servePage } from '../served-file.ts';
import { BUILT_CONSOLE, type Console, readConsole } from './files.ts';

const NONCE_PLACE = 'STYLE_NONCE';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Faregate</title>
<p>This installation does not contain the console. Run <code>npm run build</code> to build it; this requires the development dependencies.</p>
</html>
`;

/** Serves the console. Its page uses the account API and the admin API with the user's session. */
export function registerConsole(app: FastifyInstance, directory: string = BUILT_CONSOLE): void {
  let reading: Promise<Console | null> | null = null;
  /** Reads the console. If it is not built yet, the next request tries again. */
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
        // The page passes the nonce to components that add styles later.
        'content-security-policy': pagePolicy(` 'nonce-${nonce}'`),
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',

        'cache-control': 'no-store',
      })
      .type('text/html; charset=utf-8')
      .send(page === undefined ? NOT_BUILT : page.replaceAll(NONCE_PLACE, nonce));
  });

  servePage(app, `${CONSOLE_PATH}/*`, async (request, reply) => {
    const { '*': path } = request.params as { '*': string };
    const file = (await read())?.files.get(path);
    // A page of another version may request files that this version does not have.
    if (file === undefined) throw new GatewayError('pathUnknown', { headers: { 'cache-control': 'no-store' } });
    return file(request, reply);
  });
}
