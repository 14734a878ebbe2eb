import type { Clock } from '../lib/clock.ts';
import type { FillRandom, Ids } from '../lib/ids.ts';
import { type AccountRole, type Actor, signatureOf } from './actor.ts';
import { type GrantRefusal, refusalOfGrant } from './grants.ts';
import type { InvitationsLimit, LinkKind, LinkStore, LockedUser } from './link-store.ts';
import { createSecretToken, hashSecretToken } from './secret-token.ts';

const HOUR_MS = 3_600_000;

/** For how long links work. One that replaces a password is asked for by somebody who waits for it. */
const LIFETIMES_MS: Readonly<Record<LinkKind, number>> = {
  first_sign_in: 7 * 24 * HOUR_MS,
  invitation: 7 * 24 * HOUR_MS,
  reset: HOUR_MS,
};

/** A link that was made. Whoever has it can use it, once. */
export interface OneTimeLink {
  readonly kind: LinkKind;
  readonly url: string;
  readonly expiresAt: Date;
  /** Where it may be sent; `null`: whoever made it passes it on. */
  readonly email: string | null;
  /** What the person is called, if that is known. */
  readonly name: string | null;
  /** The account that it invites to. */
  readonly accountName: string | null;
  readonly createdBy: string;
}

/** Sends a link to its person, in the background. It never fails what made the link, which is shown anyway. */
export type DeliverLink = (link: OneTimeLink) => void;

/**
 * Counts a mail to an address that an account causes (`null`: an operator does). Returns 0, or after how many milliseconds it may be
 * sent: then it is not counted. If no mail is sent at all, none is counted.
 */
export type CountMail = (accountId: string | null, email: string) => Promise<number>;

interface OneTimeLinksParts {
  readonly links: Pick<LinkStore, 'insertForUser' | 'insertInvitation'>;
  /** The address that people reach the gateway at, without a path. */
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

export function createOneTimeLinks(parts: OneTimeLinksParts) {
  const { links, baseUrl, deliverLink, countMail, clock, ids, fillRandom } = parts;

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
     * A link by which a user sets a password; `suspended` if there is no such user, or it is suspended.
     *
     * @param isNew `by` has just made the user: what it gives has been decided.
     */
    async forUser(
      { id, email, name, hasPassword }: LinkedUser,
      by: Actor,
      isNew: boolean,
    ): Promise<OneTimeLink | GrantRefusal | 'suspended'> {
      const kind = hasPassword ? 'reset' : 'first_sign_in';
      const { stored, url } = begin(kind, by);
      const { createdBy } = stored;
      const refuse = ({ operatorRole }: LockedUser) => refusalOfGrant(by, isNew ? null : operatorRole, clock.nowMs());
      const refusal = await links.insertForUser(id, stored, kind, refuse);
      if (refusal !== null) return refusal;
      const link = { kind, url, expiresAt: stored.expiresAt, email, name, accountName: null, createdBy } as const;
      // Whoever made it has it too.
      if (email !== null && (await countMail(null, email)) === 0) deliverLink(link);
      return link;
    },
    /** An invitation, with its id. Nothing is made if the account has too many, or too many mails were sent. */
    async invite(
      { accountId, accountName, email, role }: AskedInvitation,
      by: Actor,
    ): Promise<(OneTimeLink & { readonly id: string }) | InvitationsLimit | { readonly mailWaitMs: number }> {
      const mailWaitMs = email === null ? 0 : await countMail(accountId, email);
      if (mailWaitMs > 0) return { mailWaitMs };
      const { stored, url } = begin('invitation', by);
      const limit = await links.insertInvitation({ ...stored, email, accountId, role });
      if (limit !== null) return limit;
      const { id, createdBy, expiresAt } = stored;
      const link = { kind: 'invitation', url, expiresAt, email, name: null, accountName, createdBy } as const;
      deliverLink(link);
      return { id, ...link };
    },
  };
}

/** The token stands in the fragment, which browsers send to no server and no log has. */
function linkUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/console#/welcome?token=${token}`;
}
