import { randomFillSync } from 'node:crypto';
import { ACCOUNT_PREFIX } from '../api/management/prefixes.ts';
import type { OidcParts } from '../api/sessions/oidc.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryLane } from '../db/home-lanes.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createIdentityStore } from '../people/identity-store.ts';
import type { LinkStore } from '../people/link-store.ts';
import { createOidcClient } from '../people/oidc-client.ts';
import { createOidcFlowStore } from '../people/oidc-flow-store.ts';
import { createOidcSignIn } from '../people/oidc-sign-in.ts';

interface OidcOptions {
  readonly lane: DirectoryLane;
  readonly links: LinkStore;
  readonly config: () => Config;
  readonly publicUrl: () => string | null;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** Wires sign-in by OpenID Connect. */
export function createOidc(options: OidcOptions): Pick<OidcParts, 'oidc' | 'oidcProviders' | 'identities'> {
  const { lane, links, config, publicUrl, clock, monotonicMs, ids, logger } = options;
  const identities = createIdentityStore(lane);
  return {
    identities,
    oidcProviders: () =>
      Object.entries(config().oidc).map(([name, settings]) => ({
        name,
        displayName: settings.displayName ?? name,
        settings,
        // The rules of the configuration ask for the public address.
        redirectUri: `${publicUrl() ?? ''}${ACCOUNT_PREFIX}/oidc/${name}/callback`,
      })),
    oidc: createOidcSignIn({
      client: createOidcClient(monotonicMs),
      flows: createOidcFlowStore(lane),
      identities,
      links,
      clock,
      ids,
      fillRandom: randomFillSync,
      logger,
    }),
  };
}
