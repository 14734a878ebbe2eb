import { randomFillSync } from 'node:crypto';
import type { KeyAdminParts } from '../api/keys/key-keeper.ts';
import type { PeopleParts } from '../api/registers/people.ts';
import { createSessionReader } from '../api/sessions/session-reader.ts';
import type { AdminPeopleParts } from '../api/users/admin.ts';
import type { Config } from '../config/schema.ts';
import type { DirectoryDatabase } from '../db/home-lanes.ts';
import type { ClientAddresses } from '../http/client-address.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import { createAdminTokensStore } from '../people/admin-tokens-store.ts';
import { createLeftUserStore, LEFT_USERS_KEPT_DAYS } from '../people/left-user-store.ts';
import { createLinkStore } from '../people/link-store.ts';
import { createMembershipStore } from '../people/membership-store.ts';
import { createOidcFlowStore } from '../people/oidc-flow-store.ts';
import { type CountMail, createOneTimeLinks, type DeliverLink } from '../people/one-time-links.ts';
import { createSessionStore } from '../people/session-store.ts';
import { createUserStore } from '../people/user-store.ts';
import type { Guesses } from './guesses.ts';
import { requestLane } from './lanes.ts';
import type { HousekeepingTask } from './maintenance.ts';
import { createOidc } from './oidc.ts';

interface PeopleOptions {
  readonly directory: Pick<DirectoryDatabase, 'lane'>;
  /** The configuration in force. */
  readonly config: () => Config;
  /** Where the gateway listens, for links if no public address is configured. */
  readonly ownUrl: () => string;
  readonly addresses: ClientAddresses;
  readonly clock: Clock;
  readonly monotonicMs: () => number;
  readonly guesses: Pick<Guesses, 'attempts' | 'passwords'>;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Sends links to people; absent: whoever makes a link passes it on. */
  readonly deliverLink?: DeliverLink;
  /** Absent: no mails are sent. */
  readonly countMail?: CountMail;
}

export type People = PeopleParts & AdminPeopleParts & Pick<KeyAdminParts, 'isMember'>;

/** Wires people: their sessions, what they are asked at signing in, and what operators and owners do about them. */
export function createPeople(options: PeopleOptions): People {
  const { config, addresses, clock, ids } = options;
  const lane = requestLane(options.directory.lane('admin'));
  const sessionTimes = () => {
    const { sessionIdle, sessionMax } = config().people;
    return { idleMs: sessionIdle, maxMs: sessionMax };
  };
  const publicUrl = () => config().server.publicUrl ?? null;
  const sessions = createSessionStore(lane, sessionTimes);
  const links = createLinkStore(lane);
  const members = createMembershipStore(lane);
  return {
    users: createUserStore(lane),
    members,
    isMember: async (accountId, userId) => (await members.find(accountId, userId))?.status === 'active',
    sessions,
    links,
    oneTimeLinks: createOneTimeLinks({
      links,
      baseUrl: () => publicUrl() ?? options.ownUrl(),
      deliverLink: options.deliverLink ?? (() => undefined),
      countMail: options.countMail ?? (async () => 0),
      clock,
      ids,
      fillRandom: randomFillSync,
    }),
    ...createOidc({ ...options, lane, links, publicUrl }),
    passwords: options.guesses.passwords,
    limits: options.guesses.attempts,
    sessionTimes,
    billingTimezone: () => config().billing.timezone,
    sessionReader: createSessionReader({ sessions, publicUrl, addresses, clock }),
    publicUrl,
    addresses,
    clock,
    ids,
  };
}

const DAY_MS = 86_400_000;

/** Removes sessions and links that have expired, and users who have left. */
export function peopleHousekeeping(directory: Pick<DirectoryDatabase, 'lane'>, clock: Clock): HousekeepingTask[] {
  const lane = directory.lane('housekeeping');
  const times = () => ({ idleMs: 0, maxMs: 0 });
  const [sessions, links, flows] = [createSessionStore(lane, times), createLinkStore(lane), createOidcFlowStore(lane)];
  const leftUsers = createLeftUserStore(lane);
  const tokens = createAdminTokensStore(lane);
  return [
    { name: 'sessions that are over', run: (signal) => sessions.deleteExpired(clock.nowMs(), signal) },
    { name: 'links that have expired', run: (signal) => links.deleteExpired(clock.nowMs(), signal) },
    { name: 'sign-ins that nobody has completed', run: (signal) => flows.deleteExpired(clock.nowMs(), signal) },
    {
      name: 'what tokens made that have expired',
      async run() {
        const nowMs = clock.nowMs();
        for (const id of await tokens.listEnded(nowMs)) await tokens.revoke(id, new Date(nowMs), false);
      },
    },
    {
      name: 'users who have left',
      run(signal) {
        const nowMs = clock.nowMs();
        return leftUsers.forgetLeftBefore(nowMs - LEFT_USERS_KEPT_DAYS * DAY_MS, nowMs, signal);
      },
    },
  ];
}
