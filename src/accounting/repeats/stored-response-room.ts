import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import { rememberRecent } from '../../lib/recent.ts';

interface StoredResponseRoomOptions {
  /** What the responses of an account take, valid or not. */
  readonly readBytes: (accountId: string) => Promise<number>;
  /** Read anew each time: the configuration may be reloaded. */
  readonly bytesMax: () => number;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface AccountBytes {
  bytes: number;
  readAtMs: number;
}

/** What a row takes beside its body. */
export const ROW_BYTES = 1_024;

const ACCOUNTS_MAX = 10_000;
/** Other nodes store, too. */
const READ_AGAIN_MS = 600_000;
/** If there is no room: responses may have expired. */
const READ_FULL_AGAIN_MS = 60_000;

/**
 * How much an account's stored responses take. The database sums it up if a node meets an account, and where the room seems
 * to be used up; in between the node adds what it stores itself. So no call pays for a sum over all responses of its account,
 * and the limit may be exceeded by what other nodes store within ten minutes.
 */
export function createStoredResponseRoom(options: StoredResponseRoomOptions) {
  const { readBytes, bytesMax, clock, logger } = options;
  const known = rememberRecent<AccountBytes>(ACCOUNTS_MAX);
  const reading = new Map<string, Promise<AccountBytes>>();

  /** Once for all bodies that wait for it. */
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
    /**
     * Takes room for a response; returns whether there was any for its body. Its row is stored in any case, and counts.
     *
     * @throws if the database is down.
     */
    async take(accountId: string, bodyBytes: number): Promise<boolean> {
      const hasRoom = ({ bytes }: AccountBytes): boolean => bytes + bodyBytes + ROW_BYTES <= bytesMax();
      let account = known.get(accountId);
      if (account === undefined || isOlderThan(account, READ_AGAIN_MS)) account = await read(accountId);
      if (!hasRoom(account) && isOlderThan(account, READ_FULL_AGAIN_MS)) {
        account = await read(accountId);
        if (!hasRoom(account)) logger.warn({ accountId, bytes: account.bytes, bytesMax: bytesMax() }, NO_ROOM);
      }
      const isStored = hasRoom(account);
      account.bytes += isStored ? bodyBytes + ROW_BYTES : ROW_BYTES;
      return isStored;
    },
    /** What was taken for an account may not have been stored: the database is asked again. */
    forget: (accountId: string): void => void known.delete(accountId),
  };
}

const NO_ROOM = 'the stored responses of an account take all of their room; repeats of its further calls are refused';
