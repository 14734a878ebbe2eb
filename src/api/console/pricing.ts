import { hash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { GatewayError } from '../../errors/gateway-error.ts';
import { etagOf, isKnown, servePage } from '../served-file.ts';
import { type BrandingSettings, writeBranding } from './branding.ts';

/** Address of the price page. The console's script shows prices there (`console/src/features/pricing`). */
export const PRICING_PATH = '/pricing';

/** Age of the prices, as of the public catalog (contract 4.9). */
const CACHE_SECONDS = 60;

interface PricingDependencies {
  readonly settings: () => BrandingSettings;
  /** The page of the console; `null`: it is not built. */
  readonly page: () => Promise<string | null>;
  /** The listed models with their prices, as JSON. */
  readonly prices: () => string;
  readonly pageHeaders: (nonce: string) => Record<string, string>;
  readonly withNonce: (page: string, nonce: string) => string;
}

/** Serves the price page to everybody while `console.pricing` is on; otherwise its addresses do not exist. */
export function registerPricing(app: FastifyInstance, deps: PricingDependencies): void {
  const { settings, page, prices, pageHeaders, withNonce } = deps;

  function requireOn(): void {
    if (!settings().console.pricing) throw absent();
  }

  servePage(app, PRICING_PATH, async (request, reply) => {
    requireOn();
    const built = await page();
    if (built === null) throw absent();
    const unsigned = writeBranding(built, settings());
    // Unlike the console's, this page can be cached, so its nonce must stay the same for the same content. It admits only styles.
    const nonce = hash('sha256', unsigned, 'base64');
    const text = withNonce(unsigned, nonce);
    const etag = etagOf(text);
    reply
      .headers({ ...pageHeaders(nonce), 'cache-control': 'public, no-cache', etag })
      .type('text/html; charset=utf-8');
    return isKnown(request.headers, etag) ? reply.code(304).send() : reply.send(text);
  });

  servePage(app, `${PRICING_PATH}/models`, async (request, reply) => {
    requireOn();
    const text = prices();
    const etag = etagOf(text);
    reply
      .headers({ 'cache-control': `public, max-age=${CACHE_SECONDS}`, 'x-content-type-options': 'nosniff', etag })
      .type('application/json');
    return isKnown(request.headers, etag) ? reply.code(304).send() : reply.send(text);
  });
}

function absent(): GatewayError {
  return new GatewayError('pathUnknown', { headers: { 'cache-control': 'no-store' } });
}
