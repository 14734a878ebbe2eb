import type { Logger } from '../lib/logger.ts';
import type { OneTimeLink } from '../people/one-time-links.ts';
import { type MailTerms, sendOneMail } from './mail-sender.ts';
import { shownName } from './shown-name.ts';

/** A link that works once, for the person who has the address. */
export type LinkForMail = Pick<OneTimeLink, 'kind' | 'url' | 'expiresAt' | 'email' | 'accountName'>;

interface LinkMailerParts {
  /** `null` if no mail is configured. */
  readonly terms: () => MailTerms | null;
  readonly logger: Logger;
}

/** Mails under way, and those that wait; links beyond that are left to whoever made them. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 100;

export function createLinkMailer({ terms, logger }: LinkMailerParts) {
  const waiting: LinkForMail[] = [];
  const sending = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function sendOne(link: LinkForMail, to: string): Promise<void> {
    const current = terms();
    if (current === null) return;
    try {
      const result = await sendOneMail(current, { to, ...linkText(link), id: null }, stopping.signal);
      // Neither the link nor the address is for the log.
      if (result.outcome === 'failed') logger.warn({ kind: link.kind, reason: result.error }, NOT_SENT);
    } catch (error) {
      if (!stopping.signal.aborted) logger.warn({ kind: link.kind, err: error }, NOT_SENT);
    }
  }

  function next(): void {
    if (sending.size >= AT_ONCE_MAX || stopping.signal.aborted) return;
    const link = waiting.shift();
    if (link === undefined || link.email === null) return;
    const work = sendOne(link, link.email).finally(() => {
      sending.delete(work);
      next();
    });
    sending.add(work);
  }

  return {
    /** Sends a link in the background, once: it is stored nowhere, and whoever made it has it too. */
    send(link: LinkForMail): void {
      if (link.email === null || terms() === null) return;
      if (waiting.length >= WAITING_MAX) {
        logger.warn({ kind: link.kind }, NOT_SENT);
        return;
      }
      waiting.push(link);
      next();
    },
    /** Ends what is under way. */
    async stop(): Promise<void> {
      stopping.abort(new Error('the node stops'));
      await Promise.all(sending);
    },
  };
}

const NOT_SENT = 'a link could not be sent by mail; whoever made it has it';

function linkText({ kind, url, expiresAt, accountName }: LinkForMail): { subject: string; text: string } {
  const until = `It works once, until ${expiresAt.toISOString()}.`;
  const account = accountName === null ? null : shownName(accountName);
  switch (kind) {
    case 'first_sign_in':
      return { subject: 'Your access', text: `Choose a password by this link. ${until}\n\n${url}\n` };
    case 'invitation':
      return {
        subject: `Invitation to ${account ?? 'an account'}`,
        text: `You are invited to the account ${account ?? ''}. Accept by this link. ${until}\n\n${url}\n`,
      };
    case 'reset':
      return {
        subject: 'A new password',
        text: `Choose a new password by this link. ${until} If you did not ask for it, ignore it.\n\n${url}\n`,
      };
  }
}
