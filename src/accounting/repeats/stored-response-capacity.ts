import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { rememberRecent } from '../../lib/recent.ts';

interface StoredResponseCapacityOptions {
  /** Total size of the account's stored responses, valid or not. */
  readonly readBytes: (accountId: string) => Promise<number>;
  /** A function, because the configuration may be reloaded. */
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
/** The size is read again after this time, because other nodes store responses, too. */
const READ_AGAIN_MS = 600_000;
/** The shorter interval while the capacity is used up, because stored responses may have expired. */
const READ_FULL_AGAIN_MS = 60_000;

/**
 * The database sums the size when a node first sees an account, and when capacity seems used up; in between, the node adds what it stores.
 * So the limit can be exceeded for up to ten minutes.
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
    /** Returns whether the body fits; the row is stored and counted in any case. @throws if the database is down. */
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
    /** Reads the size again at the next response, because a response that took capacity may not have been stored. */
    forget: (accountId: string): void => void known.delete(accountId),
  };
}

const NO_CAPACITY =
  'an account reached the limit of its stored responses; further responses are not stored, and repeats of their calls are refused';
