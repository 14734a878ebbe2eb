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
import type { SessionParts } from './sessions.ts';
import type { Visit } from './visit.ts';
import { linkViewResponse, linkViewToWire, whoAmIResponse, whoAmIToWire } from './wire.ts';

export type LinkParts = SessionParts & {
  readonly links: LinkStore;
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>;
};

/** The beginning of their paths; whoever asks there has nothing but a token. */
export const LINKS = '/links/';

/** In the body, because logs and histories have addresses. */
export const linkToken = storable(z.string({ error: 'Expected the token of a link.' }).max(200));

const lookAt = z.strictObject({ token: linkToken });

const useOf = z.strictObject({
  token: linkToken,
  /** What the person wants to be called; a new user without an e-mail address signs in with it. */
  name: shortText.optional(),
  /** Absent: the person who has signed in accepts an invitation. */
  password: password.optional(),
});

/** What a link is for, by its token. @throws GatewayError 404 if it does not work. */
export async function lookAtLink(
  { links, clock }: { readonly links: Pick<LinkStore, 'look'>; readonly clock: Clock },
  token: string,
): Promise<{ readonly hash: Buffer; readonly view: LinkView }> {
  const hash = hashSecretToken(token);
  const view = isSecretToken(token) ? await links.look(hash, new Date(clock.nowMs())) : null;
  if (view === null) throw peopleError('void');
  return { hash, view };
}

/** One-time links: what one is for, and its use. */
export function linkEndpoints(parts: LinkParts): PeopleEndpoint[] {
  const { links, users, passwords, clock, ids } = parts;

  /** By whom a link is used, and with what. */
  async function useFor(body: z.infer<typeof useOf>, view: LinkView, visit: Visit): Promise<LinkUse> {
    if (body.password !== undefined) {
      const name = body.name ?? view.name;
      if (view.kind === 'invitation' && name === null) throw invalidRequest('name: Say what to call you.', 'name');
      requireGoodPassword(body.password, [view.email, name]);
      const passwordHash = await orBusy(passwords.hash(body.password, { network: visit.network, isKnown: false }));
      return { newUserId: ids.next('usr'), name, passwordHash };
    }
    if (view.kind !== 'invitation') throw invalidRequest('password: Choose one.', 'password');
    const user = await visit.findUser();
    if (user !== null) return { userId: user.id };
    throw new GatewayError('invalidApiKey', {
      message: 'Sign in to accept this invitation as yourself, or choose a name and a password.',
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
        const { view } = await lookAtLink(parts, body.token);
        parts.limits.tryWorked(visit.network);
        return linkViewToWire(view);
      },
    }),
    peopleEndpoint({
      method: 'POST',
      path: '/links/use',
      // Whose link it was shows when it is used.
      subject: { kind: 'user', responded: (response) => (response as z.infer<typeof whoAmIResponse>).user.id },
      status: 201,
      summary: 'Use a one-time link: set a password, or accept an invitation, and be signed in',
      needs: 'anyone',
      body: useOf,
      response: whoAmIResponse,
      async run({ body }, visit) {
        const { hash, view } = await lookAtLink(parts, body.token);
        const use = await useFor(body, view, visit);
        const used = await links.use(hash, use, new Date(clock.nowMs()));
        // Until then it counts: a link that goes on working, because the name is taken, would make a password be hashed each time.
        if (typeof used === 'string') throw linkError(used, view);
        parts.limits.tryWorked(visit.network);
        visit.hasChanged = true;
        const own = 'userId' in use ? await visit.findUser() : null;
        const sessionId = own?.sessionId ?? (await visit.beginSession(used.userId, null));
        const user = await users.find(used.userId);
        if (user === null || sessionId === null) throw signInError('wrong');
        const { id, name, operatorRole, memberships } = user;
        visit.actor = { kind: 'user', id, name, sessionId, operatorRole, memberships, authenticatedAtMs: null };
        return whoAmIToWire(user, sessionId, parts.billingTimezone());
      },
    }),
  ];
}

function linkError(refusal: Parameters<typeof peopleError>[0], view: LinkView): GatewayError {
  if (refusal !== 'name_taken' || view.email === null) return peopleError(refusal);
  return new GatewayError('conflict', {
    code: 'sign_in_first',
    message: 'Somebody signs in with this e-mail address already. Sign in, then open the link again.',
  });
}
