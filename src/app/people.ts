import { randomFillSync } from 'node:crypto';
import type { KeyAdminDependencies } from '../api/keys/key-keeper.ts';
import { ACCOUNT_PREFIX } from '../api/management/prefixes.ts';
import type { PeopleApiDependencies } from '../api/registers/people.ts';
import { createSessionReader } from '../api/sessions/session-reader.ts';
import type { AdminPeopleDependencies } from '../api/users/admin.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryDatabase } from '../db/home-pools.ts';
import { requestPool } from '../db/request-pool.ts';
import type { ClientAddresses } from '../http/client-address.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import {
  type AnnouncementsInForce,
  createAnnouncementsInForce,
} from '../notices/announcements/announcements-in-force.ts';
import { type AnnouncementsStore, createAnnouncementsStore } from '../notices/announcements/announcements-store.ts';
import { createIdentityStore } from '../people/identity-store.ts';
import { createLinkStore } from '../people/link-store.ts';
import { createMembershipStore } from '../people/membership-store.ts';
import { createOidcClient } from '../people/oidc-client.ts';
import { createOidcFlowStore } from '../people/oidc-flow-store.ts';
import { createOidcSignIn } from '../people/oidc-sign-in.ts';
import { type CountMail, createOneTimeLinks, type DeliverLink } from '../people/one-time-links.ts';
import { createPasswordResets, type PasswordResets, type RecordReset } from '../people/password-resets.ts';
import { createSessionStore } from '../people/session-store.ts';
import { createUserStore } from '../people/user-store.ts';
import type { Guesses } from './guesses.ts';

interface PeopleDependencies {
  readonly directory: Pick<DirectoryDatabase, 'pool'>;
  readonly config: () => Config;
  /** Returns the listening address, which links have if no public address is configured. */
  readonly ownUrl: () => string;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly guesses: Pick<Guesses, 'attempts' | 'passwords'>;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Mails a link; absent: its creator passes it on. */
  readonly deliverLink?: DeliverLink;
  /** Counts mails; absent: no mail is sent. */
  readonly countMail?: CountMail;
  /** Whether people can reset passwords by mail; absent: they cannot. */
  readonly hasMail?: () => boolean;
  /** Records resets; absent: there are none. */
  readonly recordReset?: RecordReset;
}

export type People = PeopleApiDependencies &
  AnnouncementParts &
  AdminPeopleDependencies &
  Pick<KeyAdminDependencies, 'isMember'> & { readonly resets: PasswordResets };

interface AnnouncementParts {
  readonly announcements: AnnouncementsStore;
  readonly announcementsInForce: AnnouncementsInForce;
}

export function createPeople(deps: PeopleDependencies): People {
  const { config, addresses, clock, ids } = deps;
  const pool = requestPool(deps.directory.pool('admin'));
  const sessionTimes = () => {
    const { sessionIdle, sessionMax } = config().people;
    return { idleMs: sessionIdle, maxMs: sessionMax };
  };
  const publicUrl = () => config().server.publicUrl ?? null;
  const sessions = createSessionStore(pool, sessionTimes);
  const links = createLinkStore(pool);
  const members = createMembershipStore(pool);
  const identities = createIdentityStore(pool);
  const announcements = createAnnouncementsStore(pool);
  const users = createUserStore(pool);
  const oneTimeLinks = createOneTimeLinks({
    links,
    baseUrl: () => publicUrl() ?? deps.ownUrl(),
    deliverLink: deps.deliverLink ?? (() => false),
    countMail: deps.countMail ?? (async () => 0),
    clock,
    ids,
    fillRandom: randomFillSync,
  });
  return {
    users,
    members,
    isMember: async (accountId, userId) => (await members.find(accountId, userId))?.status === 'active',
    sessions,
    links,
    oneTimeLinks,
    resets: createPasswordResets({
      users,
      oneTimeLinks,
      hasMail: deps.hasMail ?? (() => false),
      record: deps.recordReset ?? (async () => undefined),
      logger: deps.logger,
    }),
    identities,
    announcements,
    announcementsInForce: createAnnouncementsInForce(announcements, clock),
    oidcProviders: () =>
      Object.entries(config().oidc).map(([name, settings]) => ({
        name,
        displayName: settings.displayName ?? name,
        settings,
        // A configuration with OpenID Connect providers must have a public address.
        redirectUri: `${publicUrl() ?? ''}${ACCOUNT_PREFIX}/oidc/${name}/callback`,
      })),
    oidc: createOidcSignIn({
      client: createOidcClient(deps.monotonicMs),
      flows: createOidcFlowStore(pool),
      identities,
      links,
      clock,
      ids,
      fillRandom: randomFillSync,
      logger: deps.logger,
    }),
    passwords: deps.guesses.passwords,
    limits: deps.guesses.attempts,
    sessionTimes,
    billingTimezone: () => config().billing.timezone,
    sessionReader: createSessionReader({ sessions, publicUrl, addresses, clock }),
    publicUrl,
    addresses,
    clock,
    ids,
  };
}
