import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import { type AccountRole, type Actor, signatureOf } from './actor.ts';
import { type GrantRefusal, refusalOfGrant } from './grants.ts';
import type { InvitationsLimit, LinkKind, LinkStore, LockedUser } from './link-store.ts';
import { createSecretToken, hashSecretToken } from './secret-token.ts';

const HOUR_MS = 3_600_000;

/** How long links are valid. Links for a password reset end early, because somebody is waiting for them. */
const LIFETIMES_MS: Readonly<Record<LinkKind, number>> = {
  first_sign_in: 7 * 24 * HOUR_MS,
  invitation: 7 * 24 * HOUR_MS,
  reset: HOUR_MS,
};

/** A link that works once, for anybody who has it. */
export interface OneTimeLink {
  readonly kind: LinkKind;
  readonly url: string;
  readonly expiresAt: Date;
  /** E-mail address of the recipient; `null`: the creator passes the link on. */
  readonly email: string | null;
  readonly name: string | null;
  readonly accountName: string | null;
  readonly createdBy: string;
}

/**
 * Delivers a link by mail. Returns whether a mail is being sent. A failure does no harm, because the response to the creator contains the
 * link, too.
 */
export type DeliverLink = (link: OneTimeLink) => boolean;

/** A link that its creator gets, and the address to which it is mailed, too; `null`: the creator passes it on. */
export type ShownLink = OneTimeLink & { readonly mailedTo: string | null };

/**
 * Counts a mail that an account causes (`null`: an operator). Returns 0 if the mail may be sent, otherwise the milliseconds to wait. Counts
 * nothing if mail is not configured.
 */
export type CountMail = (accountId: string | null, email: string, kind?: 'link' | 'reset') => Promise<number>;

interface OneTimeLinksDependencies {
  readonly links: Pick<LinkStore, 'insertForUser' | 'insertReset' | 'insertInvitation'>;
  readonly baseUrl: () => string;
  readonly deliverLink: DeliverLink;
  readonly countMail: CountMail;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly fillRandom: FillRandom;
}

interface LinkedUser {
  readonly id: string;
  readonly email: string | null;
  readonly name: string;
  readonly hasPassword: boolean;
}

interface AskedInvitation {
  readonly accountId: string;
  readonly accountName: string;
  readonly email: string | null;
  readonly role: AccountRole;
}

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>;

export function createOneTimeLinks(dependencies: OneTimeLinksDependencies) {
  const { links, baseUrl, deliverLink, countMail, clock, ids, fillRandom } = dependencies;

  function begin(kind: LinkKind, by: Actor) {
    const createdBy = signatureOf(by);
    const token = createSecretToken(fillRandom);
    const atMs = clock.nowMs();
    const expiresAt = new Date(atMs + LIFETIMES_MS[kind]);
    return {
      stored: {
        id: ids.next('lnk'),
        tokenHash: hashSecretToken(token),
        createdBy,
        createdByUserId: by.kind === 'user' ? by.id : null,
        createdByTokenId: by.kind === 'admin_token' ? by.id : null,
        at: new Date(atMs),
        expiresAt,
      },
      url: linkUrl(baseUrl(), token),
    };
  }

  return {
    /**
     * Creates a link for a user. Returns `suspended` if the user is suspended or absent. `isNew`: `by` has just created the user, so what
     * `by` may give was checked.
     */
    async forUser(
      { id, email, name, hasPassword }: LinkedUser,
      by: Actor,
      isNew: boolean,
    ): Promise<ShownLink | GrantRefusal | 'suspended'> {
      const kind = hasPassword ? 'reset' : 'first_sign_in';
      const { stored, url } = begin(kind, by);
      const { createdBy } = stored;
      const refuse = ({ operatorRole }: LockedUser) => refusalOfGrant(by, isNew ? null : operatorRole, clock.nowMs());
      const refusal = await links.insertForUser(id, stored, kind, refuse);
      if (refusal !== null) return refusal;
      const link = { kind, url, expiresAt: stored.expiresAt, email, name, accountName: null, createdBy } as const;
      // If the limit is reached, no mail is sent: the response to the creator contains the link, too.
      const isMailed = email !== null && (await countMail(null, email)) === 0 && deliverLink(link);
      return { ...link, mailedTo: isMailed ? email : null };
    },
    /**
     * Creates a link for a user who forgot the password, and mails it. Earlier links stay valid: whoever knows the name could end them
     * otherwise. Returns `null` if the user cannot have one, or got too many.
     */
    async resetByMail({ id, email }: { readonly id: string; readonly email: string }): Promise<OneTimeLink | null> {
      if ((await countMail(null, email, 'reset')) > 0) return null;
      const { stored, url } = begin('reset', { kind: 'visitor' });
      if (!(await links.insertReset(id, email, stored))) return null;
      const { createdBy, expiresAt } = stored;
      const link = { kind: 'reset', url, expiresAt, email, name: null, accountName: null, createdBy } as const;
      deliverLink(link);
      return link;
    },
    async invite(
      { accountId, accountName, email, role }: AskedInvitation,
      by: Actor,
    ): Promise<(ShownLink & { readonly id: string }) | InvitationsLimit | { readonly mailWaitMs: number }> {
      const mailWaitMs = email === null ? 0 : await countMail(accountId, email);
      if (mailWaitMs > 0) return { mailWaitMs };
      const { stored, url } = begin('invitation', by);
      const limit = await links.insertInvitation({ ...stored, email, accountId, role });
      if (limit !== null) return limit;
      const { id, createdBy, expiresAt } = stored;
      const link = { kind: 'invitation', url, expiresAt, email, name: null, accountName, createdBy } as const;
      return { id, ...link, mailedTo: deliverLink(link) ? email : null };
    },
  };
}

/** Returns the URL of a link. The token is in the fragment, which browsers do not send, so it is in no log. */
function linkUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/console#/welcome?token=${token}`;
}
