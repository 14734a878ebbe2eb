import { z } from 'zod';
import type { AnnouncementsInForce } from '../../notices/announcements/announcements-in-force.ts';
import { signerIdOf } from '../../people/actor.ts';
import type { Invitation, LinkView } from '../../people/link-store.ts';
import type { ShownLink } from '../../people/one-time-links.ts';
import type { Session } from '../../people/session-store.ts';
import type { User } from '../../people/user-list-store.ts';
import { announcementToReaders, shownAnnouncements } from '../announcements/wire.ts';
import { at, listOf, signerId } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { accountRole, operatorRole } from './fields.ts';

export const userStatus = z.enum(['active', 'suspended']);

const membership = z.strictObject({ accountId: z.string(), accountName: z.string(), role: accountRole });

export const userResponse = z
  .strictObject({
    id: z.string(),
    email: z
      .string()
      .nullable()
      .describe('The address with which the user signs in; null: the user signs in with the name.'),
    name: z.string(),
    operatorRole: operatorRole.nullable(),
    status: userStatus,
    hasPassword: z.boolean(),
    memberships: listOf(membership),
    unconfirmedTokenId: z
      .string()
      .nullable()
      .describe(
        'The token that created the user. When the token is revoked or expires, the user is suspended. null: no token created the user, or an operator confirmed the user.',
      ),
    createdAt: at,
    lastSignInAt: at.nullable(),
  })
  .meta({ id: 'User' });
export type UserResponse = z.infer<typeof userResponse>;

export function userToWire(user: User): UserResponse {
  return shown(userResponse, user);
}

/** A link, which is shown only once. */
export const linkMembers = {
  link: z.string().describe('The link. It works once, for anybody who has it.'),
  linkKind: z.enum(['first_sign_in', 'invitation', 'reset']),
  linkExpiresAt: at,
  linkMailedTo: z
    .string()
    .nullable()
    .describe('The address to which the link is mailed; null: it is not mailed, pass it on yourself.'),
  linkHint: z.string().nullable().describe('A warning if the address in the link might not work; otherwise null.'),
};

export const linkResponse = z.strictObject(linkMembers).meta({ id: 'OneTimeLink' });
export type LinkResponse = z.infer<typeof linkResponse>;

const NO_PUBLIC_URL =
  'server.publicUrl is not configured, so the link contains the address on which the gateway listens. It may not work from other machines.';

export function linkToWire(
  { url, kind, expiresAt, mailedTo }: Pick<ShownLink, 'url' | 'kind' | 'expiresAt' | 'mailedTo'>,
  publicUrl: string | null,
): LinkResponse {
  return {
    link: url,
    linkKind: kind,
    linkExpiresAt: expiresAt.toISOString(),
    linkMailedTo: mailedTo,
    linkHint: publicUrl === null ? NO_PUBLIC_URL : null,
  };
}

export const invitationMembers = {
  id: z.string(),
  email: z.string().nullable(),
  role: accountRole,
  createdBy: z.string(),
  createdById: signerId,
  createdAt: at,
  expiresAt: at,
};

export const invitationResponse = z.strictObject(invitationMembers).meta({ id: 'Invitation' });

export function invitationToWire(invitation: Invitation): z.infer<typeof invitationResponse> {
  return shown(invitationResponse, { ...invitation, createdById: signerIdOf(invitation.createdBy) });
}

export const whoAmIResponse = z
  .strictObject({
    sessionId: z.string(),
    user: z.strictObject({
      id: z.string(),
      email: z.string().nullable(),
      name: z.string(),
      hasPassword: z.boolean().describe('Whether the user can sign in with a password.'),
    }),
    operatorRole: operatorRole.nullable().describe('The user’s role in the admin API; null: none.'),
    memberships: listOf(membership),
    billingTimezone: z.string().describe('The time zone of days and months in usage sums, such as Asia/Shanghai.'),
    announcements: shownAnnouncements,
  })
  .meta({ id: 'WhoAmI' });

/** What the gateway tells every signed-in user. */
export interface ForEveryUser {
  readonly billingTimezone: () => string;
  readonly announcementsInForce: Pick<AnnouncementsInForce, 'read'>;
}

export async function whoAmIToWire(
  user: User,
  sessionId: string,
  { billingTimezone, announcementsInForce }: ForEveryUser,
): Promise<z.infer<typeof whoAmIResponse>> {
  const { id, email, name, hasPassword, operatorRole, memberships } = userToWire(user);
  return {
    sessionId,
    user: { id, email, name, hasPassword },
    operatorRole,
    memberships,
    billingTimezone: billingTimezone(),
    announcements: (await announcementsInForce.read(true)).map(announcementToReaders),
  };
}

export const sessionResponse = z
  .strictObject({
    id: z.string(),
    isThisOne: z.boolean().describe('Whether this is the session that sent the request.'),
    createdAt: at,
    lastSeenAt: at.describe('When the session was last used, accurate to a minute.'),
    expiresAt: at,
    clientAddress: z.string().nullable(),
    userAgent: z.string().nullable(),
  })
  .meta({ id: 'Session' });

export function sessionToWire(session: Session, ownId: string | null): z.infer<typeof sessionResponse> {
  return shown(sessionResponse, { ...session, isThisOne: session.id === ownId });
}

export const linkViewResponse = z
  .strictObject({
    kind: z.enum(['first_sign_in', 'invitation', 'reset']),
    email: z.string().nullable(),
    name: z.string().nullable(),
    accountName: z.string().nullable().describe('The account of an invitation.'),
    role: accountRole.nullable(),
    expiresAt: at,
  })
  .meta({ id: 'LinkView' });

export function linkViewToWire(view: LinkView): z.infer<typeof linkViewResponse> {
  return shown(linkViewResponse, view);
}
