import type { Logger } from '../lib/logger.ts';
import type { OneTimeLink } from '../people/one-time-links.ts';
import { type MailTerms, sendOneMail } from './mail-sender.ts';
import { shownName } from './shown-name.ts';

type LinkForMail = Pick<OneTimeLink, 'kind' | 'url' | 'expiresAt' | 'email' | 'accountName'>;

interface LinkMailerDependencies {
  readonly terms: () => MailTerms | null;
  readonly logger: Logger;
}

/** Maximum number of concurrent mails. If this or the next limit is reached, the creator must pass the link on. */
const AT_ONCE_MAX = 2;
const WAITING_MAX = 100;

export function createLinkMailer({ terms, logger }: LinkMailerDependencies) {
  const waiting: LinkForMail[] = [];
  const sending = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function sendOne(link: LinkForMail, to: string): Promise<void> {
    const current = terms();
    if (current === null) return;
    try {
      const result = await sendOneMail(current, { to, ...linkText(link), id: null }, stopping.signal);
      // The log must not contain the link or the address.
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
    /** Sends a mail once, without storing it, because the creator has the link, too. Returns whether it will be sent. */
    send(link: LinkForMail): boolean {
      if (link.email === null || terms() === null) return false;
      if (waiting.length >= WAITING_MAX) {
        logger.warn({ kind: link.kind }, NOT_SENT);
        return false;
      }
      waiting.push(link);
      next();
      return true;
    },
    async stop(): Promise<void> {
      stopping.abort(new Error('the node is stopping'));
      await Promise.all(sending);
    },
  };
}

const NOT_SENT = 'failed to mail a one-time link; its creator can still pass it on';

function linkText({ kind, url, expiresAt, accountName }: LinkForMail): { subject: string; text: string } {
  const until = `The link works once and expires at ${expiresAt.toISOString()}.`;
  const account = accountName === null ? null : shownName(accountName);
  switch (kind) {
    case 'first_sign_in':
      return { subject: 'Set your password', text: `Use this link to choose a password. ${until}\n\n${url}\n` };
    case 'invitation':
      return {
        subject: `Invitation to ${account ?? 'an account'}`,
        text: `You are invited to the account ${account ?? ''}. Use this link to accept. ${until}\n\n${url}\n`,
      };
    case 'reset':
      return {
        subject: 'Reset your password',
        text: `Use this link to choose a new password. ${until} If you did not request it, ignore this mail.\n\n${url}\n`,
      };
  }
}
