import { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AnnouncementsInForce } from '../../notices/announcements/announcements-in-force.ts';
import { CONSOLE_PATH, isConsolePath } from '../../people/console-path.ts';
import { refusalOfGrant } from '../../people/grants.ts';
import type { Identity, IdentityStore } from '../../people/identity-store.ts';
import type { LinkStore } from '../../people/link-store.ts';
import { OidcError } from '../../people/oidc-client.ts';
import { type BegunFlow, FLOW_MS, type NamedProvider, type OidcSignIn } from '../../people/oidc-sign-in.ts';
import { announcementToReaders, shownAnnouncements } from '../announcements/wire.ts';
import { conflict, notFound, orNotFound, unprocessable } from '../management/endpoint.ts';
import { at, listOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { password } from './fields.ts';
import { linkToken, lookAtLink } from './links.ts';
import { type OwnUserDependencies, requireOwnPassword } from './own-user.ts';
import { peopleError, tooManyAttempts } from './people-errors.ts';
import type { Visit } from './visit.ts';

interface ShownProvider extends NamedProvider {
  readonly displayName: string;
}

export interface OidcDependencies {
  readonly oidc: OidcSignIn;
  readonly oidcProviders: () => readonly ShownProvider[];
  readonly identities: IdentityStore;
  readonly links: Pick<LinkStore, 'look'>;
  readonly announcementsInForce: Pick<AnnouncementsInForce, 'read'>;
  readonly clock: Clock;
}

const returnTo = z
  .string({ error: 'Expected an address such as /console.' })
  .refine(isConsolePath, `Expected an address below ${CONSOLE_PATH}.`)
  .default(CONSOLE_PATH);

const flow = z
  .strictObject({
    token: linkToken.optional(),
    /** Whether the identity is added to the signed-in user. */
    attach: z.boolean({ error: 'Expected true or false.' }).default(false),
    /** Password of the user. Required with `attach` if the user has one. */
    currentPassword: password.optional(),
    /** Whether the user must sign in at the provider again, even with a session there. */
    again: z.boolean({ error: 'Expected true or false.' }).default(false),
    returnTo,
  })
  .refine(({ token, attach }) => token === undefined || !attach, { error: 'Send token or attach, not both.' });

const identityResponse = z
  .strictObject({
    id: z.string(),
    provider: z.string().nullable().describe('The provider’s name in the configuration; null: no longer configured.'),
    issuer: z.string(),
    subject: z.string().describe('The user’s id at that issuer.'),
    createdAt: at,
    lastUsedAt: at.nullable(),
  })
  .meta({ id: 'Identity' });

export function oidcEndpoints(dependencies: OidcDependencies & OwnUserDependencies): PeopleEndpoint[] {
  const { oidcProviders, identities, users, announcementsInForce } = dependencies;

  async function findLink(token: string): Promise<Buffer> {
    const { hash, view } = await lookAtLink(dependencies, token);
    if (view.kind === 'reset') throw unprocessable('This link can only be used to set a password.', 'token');
    return hash;
  }

  /** Returns the user to whom an identity may be added. This requires the user's password or, without one, a recent sign-in. */
  async function findAttaching(visit: Visit, given: string | undefined): Promise<string> {
    const user = await visit.findUser();
    if (user === null) throw new GatewayError('invalidApiKey', { message: 'Sign in first.' });
    const known = await users.credentialOf(user.id);
    if (known?.passwordHash == null) {
      const refusal = refusalOfGrant(user, user.operatorRole, dependencies.clock.nowMs());
      if (refusal !== null) throw peopleError(refusal);
      return user.id;
    }
    if (given === undefined) {
      throw invalidRequest('currentPassword: Adding a sign-in method requires your password.', 'currentPassword');
    }
    await requireOwnPassword(dependencies, user.id, visit.network, given);
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
      summary: 'List the OpenID providers at which people can sign in, and the announcements for everyone',
      needs: 'anyone',
      response: z.strictObject({
        data: listOf(z.strictObject({ name: z.string(), displayName: z.string() })),
        announcements: shownAnnouncements,
      }),
      run: async () => ({
        data: oidcProviders().map(({ name, displayName }) => ({ name, displayName })),
        announcements: (await announcementsInForce.read(false)).map(announcementToReaders),
      }),
    }),
    peopleEndpoint({
      method: 'POST',
      path: '/oidc/:id/flows',
      status: 201,
      summary:
        'Begin a sign-in at an OpenID provider, optionally with a one-time link or to add the identity to the signed-in user',
      needs: 'anyone',
      // Nothing changes before the browser returns from the provider.
      isChange: false,
      body: flow,
      response: z.strictObject({ url: z.string().describe('Where to send the browser.'), expiresAt: at }),
      async run({ id, body }, visit) {
        const { token, attach, again, currentPassword } = body;
        const provider = findProvider(dependencies, id);
        await countAttempt(dependencies, visit);
        const linkTokenHash = token === undefined ? null : await findLink(token);
        const attachToUserId = attach ? await findAttaching(visit, currentPassword) : null;
        const asked = { linkTokenHash, attachToUserId, returnTo: body.returnTo };
        const { url, expiresAt } = await beginFlow(dependencies, visit, provider, asked, again);
        return { url, expiresAt: expiresAt.toISOString() };
      },
    }),
    peopleEndpoint({
      method: 'GET',
      path: '/identities',
      summary: 'List the signed-in user’s identities at OpenID providers',
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
      summary: 'Remove one of the signed-in user’s identities',
      needs: 'signed_in',
      async run({ id }, { user }) {
        const refusal = await identities.remove(user.id, id);
        if (refusal === 'absent') throw notFound('identity', id);
        if (refusal === 'last_way') {
          throw conflict('This is your last sign-in method. Add another identity or a password first.');
        }
      },
    }),
  ];
}

export function findProvider({ oidcProviders }: Pick<OidcDependencies, 'oidcProviders'>, name: string): ShownProvider {
  return orNotFound(oidcProviders().find((one) => one.name === name) ?? null, 'OpenID provider', name);
}

/** Counts an attempt. @throws GatewayError 429 if the network made too many */
async function countAttempt({ limits }: Pick<OwnUserDependencies, 'limits'>, { network }: Visit): Promise<void> {
  const waitMs = await limits.begin(null, network);
  if (waitMs > 0) throw tooManyAttempts(waitMs);
}

/** Begins a sign-in and sets the cookie that identifies the browser. @throws GatewayError 502 if the provider fails */
async function beginFlow(
  { oidc }: Pick<OidcDependencies, 'oidc'>,
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
        : 'The OpenID provider sent an invalid response. Contact the operator of this gateway.',
      cause: error,
    });
  }
}
