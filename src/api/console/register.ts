import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import { CONSOLE_PATH } from '../../people/console-path.ts';
import { pagePolicy, servePage } from '../served-file.ts';
import { type BrandingSettings, LOGO_PATH, servedLogo, writeBranding } from './branding.ts';
import { BUILT_CONSOLE, type Console, readConsole } from './files.ts';
import { registerPricing } from './pricing.ts';

const NONCE_PLACE = 'STYLE_NONCE';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>Faregate</title>
<p>This installation does not contain the console. Run <code>npm run build</code> to build it; this requires the development dependencies.</p>
</html>
`;

interface ConsoleSources {
  readonly settings: () => BrandingSettings;
  /** The listed models with their prices, as JSON. */
  readonly prices: () => string;
}

/**
 * Serves the console and, if it is switched on, the price page, which is the same page at another address. The console uses the account
 * API and the admin API with the user's session.
 */
export function registerConsole(
  app: FastifyInstance,
  { settings, prices }: ConsoleSources,
  directory: string = BUILT_CONSOLE,
): void {
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
    const page = (await read())?.page;
    const nonce = randomBytes(18).toString('base64');
    return reply
      .code(page === undefined ? 404 : 200)
      .headers({ ...pageHeaders(nonce), 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(page === undefined ? NOT_BUILT : withNonce(writeBranding(page, settings()), nonce));
  });

  servePage(app, `${CONSOLE_PATH}/*`, async (request, reply) => {
    const { '*': path } = request.params as { '*': string };
    const file = path === LOGO_PATH ? servedLogo(settings()) : (await read())?.files.get(path);
    // A page of another version may request files that this version does not have.
    if (file == null) throw new GatewayError('pathUnknown', { headers: { 'cache-control': 'no-store' } });
    return file(request, reply);
  });

  registerPricing(app, { settings, prices, page: async () => (await read())?.page ?? null, pageHeaders, withNonce });
}

/** Headers of a page whose components add styles with this nonce. */
function pageHeaders(nonce: string): Record<string, string> {
  return {
    'content-security-policy': pagePolicy(` 'nonce-${nonce}'`),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  };
}

/** The page passes the nonce to components that add styles later. */
function withNonce(page: string, nonce: string): string {
  return page.replaceAll(NONCE_PLACE, nonce);
}
