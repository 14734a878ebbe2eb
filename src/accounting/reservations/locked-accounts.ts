import { isDataError, isLockTimeout } from '../../db/errors.ts';
import { type Batch, type Batcher, createBatcher, type ItemLimit, type KindBatcher } from '../../lib/batcher.ts';

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

/** What stands for the result of an item whose account is locked: nothing, if the mode does not leave any out. */
export type LockedIn<Locks extends LockMode> = 'free' extends Locks ? 'locked' : never;

/** Runs work on all accounts, or, if a lock is not free in time, on those that are free. */
export async function pastLocked<Result>(run: (locks: 'all' | 'free') => Promise<Result>): Promise<Result> {
  try {
    return await run('all');
  } catch (error) {
    if (!isLockTimeout(error)) throw error;
    return run('free');
  }
}

export const BATCH_ITEMS_MAX = 256;
export const WAITING_ITEMS_MAX = 50_000;

interface AccountBatcherOptions<Item, Result> {
  readonly run: (
    items: readonly Item[],
    locks: LockMode,
    signal: AbortSignal,
  ) => Promise<readonly (Result | 'locked')[]>;
  readonly accountOf: (item: Item) => string;
  /** Wraps batches that do not wait for a lock: what their time says of the database. */
  readonly guarded: (run: RunBatch<Item, Result>) => RunBatch<Item, Result>;
  /** How long an item may take; by default as long as it likes, until it waits for a lock. */
  readonly limit?: ItemLimit | undefined;
  /** How long an item may wait for a lock, if it has no limit. */
  readonly lockLimit: ItemLimit;
  readonly waitingItemsMax?: number | undefined;
  /** As of batchers. */
  readonly kindOf?: ((item: Item) => string) | undefined;
  readonly besideAfterMs?: number | undefined;
  readonly bytes?: { readonly of: (item: Item) => number; readonly batchMax: number } | undefined;
  /** An account's items begin to wait for its lock. */
  readonly onLocked?: ((accountId: string) => void) | undefined;
}

/** Results of items that wait are promises. */
export type RunBatch<Item, Result> = (
  items: readonly Item[],
  batch: Batch,
) => Promise<readonly (Result | Promise<Result>)[]>;

/** Coalesces work on accounts, past those that are locked. */
export function createAccountBatcher<Item, Result>(
  options: AccountBatcherOptions<Item, Result>,
): KindBatcher<Item, Result> {
  const {
    accountOf,
    guarded,
    limit,
    lockLimit,
    waitingItemsMax = WAITING_ITEMS_MAX,
    kindOf,
    bytes,
    onLocked,
  } = options;
  const batches = { isItemFault: isDataError, batchItemsMax: BATCH_ITEMS_MAX, waitingItemsMax, kindOf, bytes };
  const waiting = new Map<string, Batcher<Item, Result>>();

  function wait(item: Item, dueMs: number): Promise<Result> {
    const accountId = accountOf(item);
    const own =
      waiting.get(accountId) ?? createBatcher<Item, Result>({ ...batches, limit: lockLimit, run: runWaiting });
    const result = own.submit(item, Number.isFinite(dueMs) ? dueMs : undefined);
    if (!waiting.has(accountId)) {
      waiting.set(accountId, own);
      onLocked?.(accountId);
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
      // Something other than the rows of accounts is locked, which one account's items may be to blame for, or one kind of items.
      const kinds = kindOf === undefined ? new Set() : new Set(items.map(kindOf));
      return kinds.size > 1 ? runByKind(items, signal) : items.map(() => 'locked');
    }
  }

  async function runByKind(items: readonly Item[], signal: AbortSignal): Promise<readonly (Result | 'locked')[]> {
    const results = new Map<Item, Result | 'locked'>();
    for (const some of Map.groupBy(items, kindOf!).values()) {
      const ofKind = await runFree(some, signal);
      for (const [i, item] of some.entries()) results.set(item, ofKind[i]!);
    }
    return items.map((item) => results.get(item)!);
  }

  async function runAll(
    items: readonly Item[],
    { signal, dueMs }: Batch,
  ): Promise<readonly (Result | Promise<Result>)[]> {
    const waits = items.map((item) => waiting.size > 0 && waiting.has(accountOf(item)));
    const free = items.filter((_item, i) => !waits[i]);
    const results = free.length === 0 ? [] : await runFree(free, signal);
    let next = 0;
    return items.map((item, i) => {
      const result = waits[i] ? 'locked' : results[next++]!;
      return result === 'locked' ? wait(item, dueMs[i]!) : result;
    });
  }

  return createBatcher<Item, Result>({
    ...batches,
    limit,
    run: guarded(runAll),
    besideAfterMs: options.besideAfterMs,
  });
}
