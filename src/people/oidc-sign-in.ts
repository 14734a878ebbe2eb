import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { IdentityRefusal, IdentityStore } from './identity-store.ts';
import type { LinkRefusal, LinkStore } from './link-store.ts';
import { type OidcClient, OidcError, type OidcFault, type OidcSettings, type ProvenIdentity } from './oidc-client.ts';
import type { OidcFlow, OidcFlowStore } from './oidc-flow-store.ts';
import { flowSecretsOf } from './oidc-secrets.ts';
import { createSecretToken, hashSecretToken, isSecretToken } from './secret-token.ts';

/** How long the user may take at the provider. */
export const FLOW_MS = 600_000;

export interface NamedProvider {
  readonly name: string;
  readonly settings: OidcSettings;
  readonly redirectUri: string;
}

interface OidcSignInDependencies {
  readonly client: OidcClient;
  readonly flows: OidcFlowStore;
  readonly identities: IdentityStore;
  readonly links: Pick<LinkStore, 'look' | 'use'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
  readonly logger: Logger;
}

/** Why a sign-in failed. The console has a message for each code. */
export type OidcRefusal =
  | OidcFault
  | LinkRefusal
  | IdentityRefusal
  /** The browser has not begun a sign-in, has completed it, or took too long. */
  | 'sign_in_expired'
  /** No user has the identity, and there is no invitation. */
  | 'not_invited'
  /** The user to whom the identity should be added is no longer signed in. */
  | 'signed_out';

export interface BegunFlow {
  readonly url: string;
  /** Secret for the browser's cookie. */
  readonly handle: string;
  readonly expiresAt: Date;
}

/** A change that a sign-in makes in addition to the new session. */
interface IdentityChange {
  readonly action: 'identities.create' | 'links.use';
  readonly issuer: string;
  readonly subject: string;
}

/** Makes a change, and records the state before and after it in the audit log. */
export type RecordChange = (
  change: IdentityChange,
  work: () => Promise<ChangedUser | OidcRefusal>,
) => Promise<ChangedUser | OidcRefusal>;

interface ChangedUser {
  readonly userId: string;
}

export interface OidcOutcome {
  readonly userId: string;
  /** Whether the identity was added to a signed-in user. */
  readonly isAttached: boolean;
  /** Time of the sign-in as the provider states it; `null`: not stated. */
  readonly authenticatedAtMs: number | null;
  readonly returnTo: string;
}

export type OidcSignIn = ReturnType<typeof createOidcSignIn>;

export function createOidcSignIn(dependencies: OidcSignInDependencies) {
  const { client, flows, identities, links, clock, ids, fillRandom, logger } = dependencies;

  function logFault({ name }: NamedProvider, { fault, reason }: OidcError): void {
    logger.warn({ oidcProvider: name, fault, reason }, 'sign-in at an OpenID provider failed');
  }

  /** Finds the user of an identity, or creates one. Never looks for an e-mail address, because anybody can claim one. */
  async function findOrMakeUser(
    proven: ProvenIdentity,
    { linkTokenHash }: OidcFlow,
    record: RecordChange,
  ): Promise<ChangedUser | OidcRefusal> {
    const { issuer, subject } = proven;
    const at = new Date(clock.nowMs());
    const known = await identities.findUser(issuer, subject);
    if (linkTokenHash === null) return known === null ? 'not_invited' : { userId: known };
    const link = await links.look(linkTokenHash, at);
    if (link === null) return 'void';
    if (known !== null && link.userId !== null) return 'identity_taken';
    const email = link.email ?? proven.email;
    const use =
      known === null
        ? {
            newUserId: ids.next('usr'),
            name: nameOf(proven, email),
            email: proven.email,
            identity: { id: ids.next('idn'), issuer, subject },
          }
        : { userId: known };
    const change = { action: 'links.use', issuer, subject } as const;
    return record(change, () => links.use(linkTokenHash, use, at));
  }

  return {
    /** Begins a sign-in. `isAgain`: the user must sign in again at the provider. @throws OidcError if the provider is unavailable */
    async begin(provider: NamedProvider, flow: OidcFlow, isAgain: boolean): Promise<BegunFlow> {
      const handle = createSecretToken(fillRandom);
      const expiresAt = new Date(clock.nowMs() + FLOW_MS);
      try {
        const secrets = flowSecretsOf(handle);
        const url = await client.authorizationUrl(provider.settings, secrets, provider.redirectUri, isAgain);
        await flows.insert({ ...flow, handleHash: hashSecretToken(handle), provider: provider.name, expiresAt });
        return { url, handle, expiresAt };
      } catch (error) {
        if (error instanceof OidcError) logFault(provider, error);
        throw error;
      }
    },
    /** Completes a sign-in. `handle`: value of the browser's cookie. `query`: parameters of the provider's redirect. */
    async complete(
      provider: NamedProvider,
      handle: string | null,
      query: URLSearchParams,
      findSignedIn: () => Promise<string | null>,
      record: RecordChange,
    ): Promise<OidcOutcome | OidcRefusal> {
      if (handle === null || !isSecretToken(handle)) return 'sign_in_expired';
      const secrets = flowSecretsOf(handle);
      // Another site can forge a callback, which must not use up the pending sign-in.
      if (query.get('state') !== secrets.state) return 'sign_in_expired';
      const flow = await flows.take(hashSecretToken(handle), provider.name, new Date(clock.nowMs()));
      if (flow === null) return 'sign_in_expired';
      let proven: ProvenIdentity;
      try {
        const callback = new URL(`${provider.redirectUri}?${query}`);
        proven = await client.identify(provider.settings, secrets, callback);
      } catch (error) {
        if (!(error instanceof OidcError)) throw error;
        logFault(provider, error);
        return error.fault;
      }
      const { attachToUserId, returnTo } = flow;
      const at = new Date(clock.nowMs());
      // The time must not be in the future: if the provider's clock is fast, the sign-in would count as recent for too long.
      const authenticatedAtMs =
        proven.authenticatedAtMs === null ? null : Math.min(proven.authenticatedAtMs, at.getTime());
      if (attachToUserId !== null) {
        if ((await findSignedIn()) !== attachToUserId) return 'signed_out';
        const { issuer, subject } = proven;
        const change = { action: 'identities.create', issuer, subject } as const;
        const added = await record(change, async () => {
          const refusal = await identities.add(attachToUserId, { id: ids.next('idn'), issuer, subject }, at);
          return refusal ?? { userId: attachToUserId };
        });
        return typeof added === 'string' ? added : { ...added, isAttached: true, authenticatedAtMs, returnTo };
      }
      const found = await findOrMakeUser(proven, flow, record);
      if (typeof found === 'string') return found;
      await identities.noteUse(proven.issuer, proven.subject, at);
      return { userId: found.userId, isAttached: false, authenticatedAtMs, returnTo };
    },
  };
}

/** Returns the name of a new user. Without an e-mail address, the user signs in with it, so it must not look like an address. */
function nameOf({ name }: ProvenIdentity, email: string | null): string {
  if (email !== null) return name ?? email;
  return name?.split('@')[0]?.trim() || 'Unnamed';
}
