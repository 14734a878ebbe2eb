import { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import { CONSOLE_PATH, isConsolePath } from '../../people/console-path.ts';
import { refusalOfGrant } from '../../people/grants.ts';
import type { Identity, IdentityStore } from '../../people/identity-store.ts';
import type { LinkStore } from '../../people/link-store.ts';
import { OidcError } from '../../people/oidc-client.ts';
import { type BegunFlow, FLOW_MS, type NamedProvider, type OidcSignIn } from '../../people/oidc-sign-in.ts';
import { conflict, notFound, orNotFound, unprocessable } from '../management/endpoint.ts';
import { at, listOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { password } from './fields.ts';
import { linkToken, lookAtLink } from './links.ts';
import { type OwnUserParts, requireOwnPassword } from './own-user.ts';
import { peopleError, tooManyAttempts } from './people-errors.ts';
import type { Visit } from './visit.ts';

/** A provider as people choose it. */
interface ShownProvider extends NamedProvider {
  readonly displayName: string;
}

export interface OidcParts {
  readonly oidc: OidcSignIn;
  /** Those of the configuration in force. */
  readonly oidcProviders: () => readonly ShownProvider[];
  readonly identities: IdentityStore;
  readonly links: Pick<LinkStore, 'look'>;
  readonly clock: Clock;
}

/** Where the browser goes after the sign-in. */
const returnTo = z
  .string({ error: 'Expected an address such as /console.' })
  .refine(isConsolePath, `Expected an address below ${CONSOLE_PATH}.`)
  .default(CONSOLE_PATH);

const flow = z
  .strictObject({
    /** Of an invitation, or of the link of a first sign-in. */
    token: linkToken.optional(),
    /** Whoever has signed in adds this way to do so. */
    attach: z.boolean({ error: 'Expected true or false.' }).default(false),
    /** With `attach`, if the person has a password. */
    currentPassword: password.optional(),
    /** The provider asks the person to sign in again, even if it has a session of that person. */
    again: z.boolean({ error: 'Expected true or false.' }).default(false),
    returnTo,
  })
  .refine(({ token, attach }) => token === undefined || !attach, { error: 'Send token or attach, not both.' });

const identityResponse = z
  .strictObject({
    id: z.string(),
    provider: z.string().nullable().describe('Its name in the configuration; null: it is not configured any more.'),
    issuer: z.string(),
    subject: z.string().describe('Who the person is at that issuer.'),
    createdAt: at,
    lastUsedAt: at.nullable(),
  })
  .meta({ id: 'Identity' });

/** Sign-in by OpenID Connect: providers, sign-ins with a body, own identities. */
export function oidcEndpoints(parts: OidcParts & OwnUserParts): PeopleEndpoint[] {
  const { oidcProviders, identities, users } = parts;

  async function findLink(token: string): Promise<Buffer> {
    const { hash, view } = await lookAtLink(parts, token);
    if (view.kind === 'reset') throw unprocessable('This link sets a password. Use it for that.', 'token');
    return hash;
  }

  /** What signs in is added by whoever knows the password, if there is one. */
  async function findAttaching(visit: Visit, given: string | undefined): Promise<string> {
    const user = await visit.findUser();
    if (user === null) throw new GatewayError('invalidApiKey', { message: 'Sign in first.' });
    const known = await users.credentialOf(user.id);
    if (known?.passwordHash == null) {
      const refusal = refusalOfGrant(user, user.operatorRole, parts.clock.nowMs());
      if (refusal !== null) throw peopleError(refusal);
      return user.id;
    }
    if (given === undefined) {
      throw invalidRequest('currentPassword: This adds a way to sign in; send your password too.', 'currentPassword');
    }
    await requireOwnPassword(parts, user.id, visit.network, given);
    return user.id;
  }

  function toWire(identity: Identity): z.infer<typeof identityResponse> {
    const provider = oidcProviders().find(({ settings }) => settings.issuer === identity.issuer)?.name ?? null;
    return shown(identityResponse, { ...identity, provider });
  }

  return [
    peopleEndpoint({
      method: 'GET',
      path: '/oidc',
      summary: 'List the OpenID providers at which people can sign in',
      needs: 'anyone',
      response: z.strictObject({ data: listOf(z.strictObject({ name: z.string(), displayName: z.string() })) }),
      run: async () => ({ data: oidcProviders().map(({ name, displayName }) => ({ name, displayName })) }),
    }),
    peopleEndpoint({
      method: 'POST',
      path: '/oidc/:id/flows',
      status: 201,
      summary: 'Begin a sign-in at an OpenID provider; it may use a one-time link, or add this way to sign in',
      needs: 'anyone',
      // Nothing has changed before the browser comes back.
      isChange: false,
      body: flow,
      response: z.strictObject({ url: z.string().describe('Where to send the browser.'), expiresAt: at }),
      async run({ id, body }, visit) {
        const { token, attach, again, currentPassword } = body;
        const provider = findProvider(parts, id);
        await countAttempt(parts, visit);
        const linkTokenHash = token === undefined ? null : await findLink(token);
        const attachToUserId = attach ? await findAttaching(visit, currentPassword) : null;
        const asked = { linkTokenHash, attachToUserId, returnTo: body.returnTo };
        const { url, expiresAt } = await beginFlow(parts, visit, provider, asked, again);
        return { url, expiresAt: expiresAt.toISOString() };
      },
    }),
    peopleEndpoint({
      method: 'GET',
      path: '/identities',
      summary: 'List the identities at OpenID providers by which the person signs in',
      needs: 'signed_in',
      response: z.strictObject({ data: listOf(identityResponse) }),
      run: async (_input, { user }) => ({ data: (await identities.list(user.id)).map(toWire) }),
    }),
    peopleEndpoint({
      method: 'DELETE',
      path: '/identities/:id',
      subject: {
        kind: 'identity',
        async read(id, _input, { user }) {
          const found = (await identities.list(user.id)).find((each) => each.id === id);
          return found === undefined ? null : toWire(found);
        },
      },
      summary: 'Remove one of the own identities',
      needs: 'signed_in',
      async run({ id }, { user }) {
        const refusal = await identities.remove(user.id, id);
        if (refusal === 'absent') throw notFound('identity', id);
        if (refusal === 'last_way') {
          throw conflict('You could not sign in any more. Add another identity, or a password, first.');
        }
      },
    }),
  ];
}

/** @throws GatewayError 404 */
export function findProvider({ oidcProviders }: Pick<OidcParts, 'oidcProviders'>, name: string): ShownProvider {
  return orNotFound(oidcProviders().find((one) => one.name === name) ?? null, 'OpenID provider', name);
}

/**
 * Counts an attempt by the network that it comes from, before anything is read.
 *
 * @throws GatewayError 429
 */
async function countAttempt({ limits }: Pick<OwnUserParts, 'limits'>, { network }: Visit): Promise<void> {
  const waitMs = await limits.begin(null, network);
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

/**
 * Begins a sign-in at a provider, and gives the browser what it is recognised by.
 *
 * @throws GatewayError 502 if the provider is at fault.
 */
async function beginFlow(
  { oidc }: Pick<OidcParts, 'oidc'>,
  visit: Visit,
  provider: NamedProvider,
  flow: Parameters<OidcSignIn['begin']>[1],
  isAgain: boolean,
): Promise<BegunFlow> {
  try {
    const begun = await oidc.begin(provider, flow, isAgain);
    visit.keepFlow(begun.handle, FLOW_MS);
    return begun;
  } catch (error) {
    if (!(error instanceof OidcError)) throw error;
    const isAway = error.fault === 'provider_unavailable';
    throw new GatewayError(isAway ? 'upstreamNotReached' : 'upstreamInvalid', {
      code: error.fault,
      message: isAway
        ? 'The OpenID provider does not respond. Try again in a moment, or sign in with a password.'
        : 'The OpenID provider has sent a response that is not valid. Tell the operator of this gateway.',
      cause: error,
    });
  }
}
