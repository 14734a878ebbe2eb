import { z } from 'zod';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LinkStore, LinkUse, LinkView } from '../../people/link-store.ts';
import type { Passwords } from '../../people/passwords.ts';
import { hashSecretToken, isSecretToken } from '../../people/secret-token.ts';
import { storable } from '../management/storable.ts';
import { shortText } from '../management/wire.ts';
import { type PeopleEndpoint, peopleEndpoint } from './endpoint.ts';
import { password } from './fields.ts';
import { orBusy, peopleError, requireGoodPassword, signInError } from './people-errors.ts';
import type { SessionDependencies } from './sessions.ts';
import type { Visit } from './visit.ts';
import { linkViewResponse, linkViewToWire, whoAmIResponse, whoAmIToWire } from './wire.ts';

export type LinkDependencies = SessionDependencies & {
  readonly links: LinkStore;
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>;
};

/** Beginning of the paths at which the token of a link is the only credential. */
export const LINKS = '/links/';

/** The token of a link. It is sent in the body, because URLs are in logs and browser histories. */
export const linkToken = storable(z.string({ error: 'Expected the token of a link.' }).max(200));

const lookAt = z.strictObject({ token: linkToken });

const useOf = z.strictObject({
  token: linkToken,
  /** Name with which a new user without an e-mail address signs in. */
  name: shortText.optional(),
  password: password.optional(),
});

/** Returns what a link is for. @throws GatewayError 404 if it is not valid */
export async function lookAtLink(
  { links, clock }: { readonly links: Pick<LinkStore, 'look'>; readonly clock: Clock },
  token: string,
): Promise<{ readonly hash: Buffer; readonly view: LinkView }> {
  const hash = hashSecretToken(token);
  const view = isSecretToken(token) ? await links.look(hash, new Date(clock.nowMs())) : null;
  if (view === null) throw peopleError('void');
  return { hash, view };
}

export function linkEndpoints(dependencies: LinkDependencies): PeopleEndpoint[] {
  const { links, users, passwords, clock, ids } = dependencies;

  async function useFor(body: z.infer<typeof useOf>, view: LinkView, visit: Visit): Promise<LinkUse> {
    if (body.password !== undefined) {
      const name = body.name ?? view.name;
      if (view.kind === 'invitation' && name === null) throw invalidRequest('name: Enter a name.', 'name');
      requireGoodPassword(body.password, [view.email, name]);
      const passwordHash = await orBusy(passwords.hash(body.password, { network: visit.network, isKnown: false }));
      return { newUserId: ids.next('usr'), name, passwordHash };
    }
    if (view.kind !== 'invitation') throw invalidRequest('password: Choose a password.', 'password');
    const user = await visit.findUser();
    if (user !== null) return { userId: user.id };
    throw new GatewayError('invalidApiKey', {
      message: 'Sign in to accept this invitation, or choose a name and a password.',
    });
  }

  return [
    peopleEndpoint({
      method: 'POST',
      path: '/links/look',
      summary: 'Read what a one-time link is for',
      needs: 'anyone',
      isChange: false,
      body: lookAt,
      response: linkViewResponse,
      async run({ body }, visit) {
        const { view } = await lookAtLink(dependencies, body.token);
        dependencies.limits.tryWorked(visit.network);
        return linkViewToWire(view);
      },
    }),
    peopleEndpoint({
      method: 'POST',
      path: '/links/use',
      // The id comes from the response, because the user is known only after the link is used.
      subject: { kind: 'user', responded: (response) => (response as z.infer<typeof whoAmIResponse>).user.id },
      status: 201,
      summary: 'Use a one-time link: set a password or accept an invitation, and sign in',
      needs: 'anyone',
      body: useOf,
      response: whoAmIResponse,
      async run({ body }, visit) {
        const { hash, view } = await lookAtLink(dependencies, body.token);
        const use = await useFor(body, view, visit);
        const used = await links.use(hash, use, new Date(clock.nowMs()));
        // A failed use counts as an attempt: it costs a password hash, and a link can stay valid after an error.
        if (typeof used === 'string') throw linkError(used, view);
        dependencies.limits.tryWorked(visit.network);
        visit.hasChanged = true;
        const own = 'userId' in use ? await visit.findUser() : null;
        const sessionId = own?.sessionId ?? (await visit.beginSession(used.userId, null));
        const user = await users.find(used.userId);
        if (user === null || sessionId === null) throw signInError('wrong');
        const { id, name, operatorRole, memberships } = user;
        visit.actor = { kind: 'user', id, name, sessionId, operatorRole, memberships, authenticatedAtMs: null };
        return whoAmIToWire(user, sessionId, dependencies);
      },
    }),
  ];
}

function linkError(refusal: Parameters<typeof peopleError>[0], view: LinkView): GatewayError {
  if (refusal !== 'name_taken' || view.email === null) return peopleError(refusal);
  return new GatewayError('conflict', {
    code: 'sign_in_first',
    message: 'This e-mail address is already in use. Sign in, then open the link again.',
  });
}
