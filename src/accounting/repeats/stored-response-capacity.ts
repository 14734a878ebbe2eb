import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { rememberRecent } from '../../lib/recent.ts';

interface StoredResponseCapacityOptions {
  /** Reads the total size of the account's stored responses, expired ones included. */
  readonly readBytes: (accountId: string) => Promise<number>;
  /** This is a function because the configuration may be reloaded. */
  readonly bytesMax: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface AccountBytes {
  bytes: number;
  readAtMs: number;
}

export const ROW_BYTES = 1_024;

const ACCOUNTS_MAX = 10_000;
/** How long a size is used before it is read again. Other nodes store responses, too. */
const READ_AGAIN_MS = 600_000;
/** How long a size is used while the capacity is used up. It is shorter, because stored responses may have expired. */
const READ_FULL_AGAIN_MS = 60_000;

/**
 * Limits the size of an account's stored responses. The database sums it when a node first sees an account, and when capacity seems used
 * up. In between, the node adds what it stores itself. So the limit can be exceeded for up to ten minutes.
 */
export function createStoredResponseCapacity(options: StoredResponseCapacityOptions) {
  const { readBytes, bytesMax, clock, logger } = options;
  const known = rememberRecent<AccountBytes>(ACCOUNTS_MAX);
  const reading = new Map<string, Promise<AccountBytes>>();

  function read(accountId: string): Promise<AccountBytes> {
    let read = reading.get(accountId);
    if (read === undefined) {
      read = readBytes(accountId)
        .then((bytes) => {
          const account = { bytes, readAtMs: clock.nowMs() };
          known.set(accountId, account);
          return account;
        })
        .finally(() => reading.delete(accountId));
      reading.set(accountId, read);
    }
    return read;
  }

  function isOlderThan(account: AccountBytes, ms: number): boolean {
    return clock.nowMs() - account.readAtMs >= ms;
  }

  return {
    /** Returns whether the body fits. If not, the row is stored without its body. @throws if the database is down */
    async take(accountId: string, bodyBytes: number): Promise<boolean> {
      const hasCapacity = ({ bytes }: AccountBytes): boolean => bytes + bodyBytes + ROW_BYTES <= bytesMax();
      let account = known.get(accountId);
      if (account === undefined || isOlderThan(account, READ_AGAIN_MS)) account = await read(accountId);
      if (!hasCapacity(account) && isOlderThan(account, READ_FULL_AGAIN_MS)) {
        account = await read(accountId);
        if (!hasCapacity(account)) logger.warn({ accountId, bytes: account.bytes, bytesMax: bytesMax() }, NO_CAPACITY);
      }
      const isStored = hasCapacity(account);
      account.bytes += isStored ? bodyBytes + ROW_BYTES : ROW_BYTES;
      return isStored;
    },
    /** Makes the next response read the size again, because one that was counted may not have been stored. */
    forget: (accountId: string): void => void known.delete(accountId),
  };
}

const NO_CAPACITY =
  'an account reached the limit of its stored responses; further responses are not stored, and repeats of their calls are refused';
