import { sqlState } from '../../db/errors.ts';
import { type Batch, type Batcher, createBatcher, type ItemLimit } from '../../lib/batcher.ts';

/**
 * Batches go on past accounts whose row in `balances` somebody else holds locked, such as an operator in a transaction:
 *
 *     batch ─▶ locks all, waits 100 ms ─▶ done
 *                     │ not free
 *                     ▼
 *              locks those that are free ─▶ done
 *                     │ the others
 *                     ▼
 *              each account by itself, on one of two connections that may wait ─▶ done, or its time is over
 *
 * While an account waits there, its later items go there directly, so that a lock delays the batches of others once.
 */

/**
 * How a transaction locks the rows of accounts: `all` of them at once, or it fails after a moment; those that are `free`, and
 * returns `locked` for the items of others; or all of them, `waiting` on a connection for that.
 */
export type LockMode = 'all' | 'free' | 'waiting';

/** What stands for the result of an item whose account is locked: nothing, where the mode does not leave any out. */
export type LockedIn<Locks extends LockMode> = 'free' extends Locks ? 'locked' : never;

const LOCK_NOT_AVAILABLE = '55P03';

/** True where a transaction was given up because a lock was not free. */
const isLockTimeout = (error: unknown): boolean => sqlState(error) === LOCK_NOT_AVAILABLE;

/** Runs work on all accounts, or, where a lock is not free in time, on those that are free. */
export async function pastLocked<Result>(run: (locks: 'all' | 'free') => Promise<Result>): Promise<Result> {
  try {
    return await run('all');
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return run('free');
  }
}

interface LockedAccountsOptions<Item, Result> {
  readonly run: (
    items: readonly Item[],
    locks: LockMode,
    signal: AbortSignal,
  ) => Promise<readonly (Result | 'locked')[]>;
  readonly accountOf: (item: Item) => string;
  readonly isItemFault: (error: unknown) => boolean;
  readonly batchItemsMax: number;
  readonly waitingItemsMax: number;
  /** How long an item may wait, where its batch does not say. */
  readonly limit: ItemLimit;
  /** An account's items begin to wait for its lock. */
  readonly onLocked?: ((accountId: string) => void) | undefined;
}

interface LockedAccounts<Item, Result> {
  /** For a batcher. Results of items that wait are promises. */
  run(items: readonly Item[], batch: Batch): Promise<readonly (Result | Promise<Result>)[]>;
  /** Resolves when nothing waits for a lock. */
  drain(): Promise<void>;
}

export function createLockedAccounts<Item, Result>(
  options: LockedAccountsOptions<Item, Result>,
): LockedAccounts<Item, Result> {
  const { accountOf } = options;
  const waiting = new Map<string, Batcher<Item, Result>>();

  function wait(item: Item, dueMs: number): Promise<Result> {
    const accountId = accountOf(item);
    const own = waiting.get(accountId) ?? createBatcher<Item, Result>({ ...options, run: runWaiting });
    const result = own.submit(item, Number.isFinite(dueMs) ? dueMs : undefined);
    if (!waiting.has(accountId)) {
      waiting.set(accountId, own);
      options.onLocked?.(accountId);
      void own.drain().then(() => waiting.delete(accountId));
    }
    return result;
  }

  async function runWaiting(items: readonly Item[], { signal }: Batch): Promise<readonly Result[]> {
    return (await options.run(items, 'waiting', signal)) as readonly Result[];
  }

  async function runFree(items: readonly Item[], signal: AbortSignal): Promise<readonly (Result | 'locked')[]> {
    try {
      return await pastLocked((locks) => options.run(items, locks, signal));
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      // Something other than the rows of accounts is locked, which one account's items may be to blame for.
      return items.map(() => 'locked');
    }
  }

  return {
    async run(items, { signal, dueMs }) {
      const waits = items.map((item) => waiting.size > 0 && waiting.has(accountOf(item)));
      const free = items.filter((_item, i) => !waits[i]);
      const results = free.length === 0 ? [] : await runFree(free, signal);
      let next = 0;
      return items.map((item, i) => {
        const result = waits[i] ? 'locked' : results[next++]!;
        return result === 'locked' ? wait(item, dueMs[i]!) : result;
      });
    },
    async drain() {
      await Promise.all([...waiting.values()].map((own) => own.drain()));
    },
  };
}
