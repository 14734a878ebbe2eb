import type { Logger } from '../lib/logger.ts';
import type { OneTimeLink, OneTimeLinks } from './one-time-links.ts';
import type { UserStore } from './user-store.ts';

/** Who asks for a reset, for the audit log. */
export interface ResetSource {
  readonly clientAddress: string | null;
  readonly requestId: string;
}

/** Records a reset of a user in the audit log. `work` returns the link, or `null` if it creates none; then nothing is recorded. */
export type RecordReset = (
  userId: string,
  source: ResetSource,
  work: () => Promise<OneTimeLink | null>,
) => Promise<void>;

interface PasswordResetsDependencies {
  readonly users: Pick<UserStore, 'findCredential'>;
  readonly oneTimeLinks: Pick<OneTimeLinks, 'resetByMail'>;
  readonly hasMail: () => boolean;
  readonly record: RecordReset;
  readonly logger: Logger;
}

export type PasswordResets = ReturnType<typeof createPasswordResets>;

/** Maximum number of pending resets. Further ones are dropped; people can ask again. */
const WAITING_MAX = 100;

/**
 * Mails links to people who forgot their password. Only active users who have a password and an e-mail address get one. The response never
 * depends on this: everything that does is done after it, one reset at a time, so that neither the response nor its time reveals a user.
 */
export function createPasswordResets({ users, oneTimeLinks, hasMail, record, logger }: PasswordResetsDependencies) {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();

  async function reset(signInName: string, source: ResetSource): Promise<void> {
    const user = await users.findCredential(signInName);
    if (user?.status !== 'active' || user.email === null || user.passwordHash === null) return;
    const { userId, email } = user;
    await record(userId, source, () => oneTimeLinks.resetByMail({ id: userId, email }));
  }

  return {
    /** Whether a mail server is configured. */
    isAvailable: hasMail,
    /** Queues a reset of whoever signs in with this name. */
    request(signInName: string, source: ResetSource): void {
      if (waiting >= WAITING_MAX) {
        logger.warn({}, 'too many password resets are pending; dropped one');
        return;
      }
      waiting++;
      last = last
        .then(() => reset(signInName, source))
        .catch((error: unknown) => logger.error({ err: error }, 'failed to create a link for a password reset'))
        .finally(() => {
          waiting--;
        });
    },
    /** Resolves when no reset is pending. */
    stop: (): Promise<void> => last,
  };
}
