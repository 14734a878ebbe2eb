import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import type { Logger } from '../lib/logger.ts';
import type { IdentityRefusal, IdentityStore } from './identity-store.ts';
import type { LinkRefusal, LinkStore } from './link-store.ts';
import { type OidcClient, OidcError, type OidcFault, type OidcSettings, type ProvenIdentity } from './oidc-client.ts';
import type { OidcFlow, OidcFlowStore } from './oidc-flow-store.ts';
import { flowSecretsOf } from './oidc-secrets.ts';
import { createSecretToken, hashSecretToken, isSecretToken } from './secret-token.ts';

/** How long somebody may take at the provider. */
export const FLOW_MS = 600_000;

/** A provider, by its name in the configuration. */
export interface NamedProvider {
  readonly name: string;
  readonly settings: OidcSettings;
  /** Where it sends the browser back to. */
  readonly redirectUri: string;
}

interface OidcSignInParts {
  readonly client: OidcClient;
  readonly flows: OidcFlowStore;
  readonly identities: IdentityStore;
  readonly links: Pick<LinkStore, 'look' | 'use'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
  readonly logger: Logger;
}

/** Why nobody is signed in; machine-readable, for the page to which the browser goes. */
export type OidcRefusal =
  | OidcFault
  | LinkRefusal
  | IdentityRefusal
  /** This browser has begun no sign-in, or it has used it, or has taken too long. */
  | 'sign_in_expired'
  /** Nobody signs in with this identity, and there is no invitation. */
  | 'not_invited'
  /** Whoever wanted to add this way to sign in has not signed in any more. */
  | 'signed_out';

export interface BegunFlow {
  /** Where the browser is sent. */
  readonly url: string;
  /** For the browser's cookie. Secret. */
  readonly handle: string;
  readonly expiresAt: Date;
}

/** What a sign-in changes, beside the session that it begins. */
interface IdentityChange {
  readonly action: 'identities.create' | 'links.use';
  readonly issuer: string;
  readonly subject: string;
}

/** Records a change, before it is made and after. */
export type RecordChange = (
  change: IdentityChange,
  work: () => Promise<ChangedUser | OidcRefusal>,
) => Promise<ChangedUser | OidcRefusal>;

interface ChangedUser {
  readonly userId: string;
}

/** What has come of a sign-in at a provider. */
export interface OidcOutcome {
  readonly userId: string;
  /** Whether the person had signed in before, and has added a way to do so. */
  readonly isAttached: boolean;
  /** When the person signed in at the provider, as that says; `null`: nobody knows. */
  readonly authenticatedAtMs: number | null;
  readonly returnTo: string;
}

export type OidcSignIn = ReturnType<typeof createOidcSignIn>;

/** A sign-in at an OpenID provider: it begins here, and is completed when the browser comes back. */
export function createOidcSignIn(parts: OidcSignInParts) {
  const { client, flows, identities, links, clock, ids, fillRandom, logger } = parts;

  function logFault({ name }: NamedProvider, { fault, reason }: OidcError): void {
    logger.warn({ oidcProvider: name, fault, reason }, 'a sign-in at an OpenID provider has failed');
  }

  /** Whose the identity is, or becomes by an invitation. It is found by issuer and subject alone: anybody can have an address. */
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
    /**
     * @param isAgain whether the person has to sign in again at the provider.
     * @throws OidcError if the provider is not there.
     */
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
    /**
     * @param handle of the browser's cookie.
     * @param query what the provider has sent the browser back with.
     * @param findSignedIn the person who has signed in in that browser, if any.
     * @param record makes the change with its row in the change log.
     */
    async complete(
      provider: NamedProvider,
      handle: string | null,
      query: URLSearchParams,
      findSignedIn: () => Promise<string | null>,
      record: RecordChange,
    ): Promise<OidcOutcome | OidcRefusal> {
      if (handle === null || !isSecretToken(handle)) return 'sign_in_expired';
      const secrets = flowSecretsOf(handle);
      // What another site has made up does not use up the sign-in that is under way.
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
      // A clock of the provider that is fast must not make the session recent for longer.
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

/** Of somebody without an e-mail address it is what the person signs in with, and then must not look like one. */
function nameOf({ name }: ProvenIdentity, email: string | null): string {
  if (email !== null) return name ?? email;
  return name?.split('@')[0]?.trim() || 'Unnamed';
}
