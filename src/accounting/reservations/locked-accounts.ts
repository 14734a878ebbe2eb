import { isDataError, isLockTimeout } from '../../db/errors.ts';
import { type Batch, type BatcherOptions, ItemBatcher, type ItemLimit } from '../../lib/batcher.ts';

/**
 * Runs batches so that an account that another transaction has locked, such as one of an operator, does not delay the others:
 *
 *     batch ─▶ locks all accounts, waits up to 100 ms ─▶ done
 *                     │ timeout
 *                     ▼
 *              locks the accounts that are free ─▶ done
 *                     │ other accounts
 *                     ▼
 *              each account separately, on one of two connections that can wait ─▶ done, or timeout
 *
 * While an account waits, its later items wait with it, so a lock delays the batches of other accounts only once.
 */

/**
 * How a batch locks its accounts:
 * - `all`: all at once; fails after a short wait
 * - `free`: only those that nobody else has locked; the others' items get the result `locked`
 * - `waiting`: all, on a connection that is reserved for waiting
 */
export type LockMode = 'all' | 'free' | 'waiting';

export type LockedIn<Locks extends LockMode> = 'free' extends Locks ? 'locked' : never;

/** Runs work with all accounts locked. If a lock is not free in time, runs it again with only the free accounts locked. */
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

interface AccountBatcherOptions<Item, Result>
  extends Omit<BatcherOptions<Item, Result>, 'run' | 'isItemFault' | 'batchItemsMax'> {
  readonly run: (
    items: readonly Item[],
    locks: LockMode,
    signal: AbortSignal,
  ) => Promise<readonly (Result | 'locked')[]>;
  readonly accountOf: (item: Item) => string;
  /** Wraps batches that do not wait for locks. Their duration shows whether the database responds. */
  readonly guarded: (run: RunBatch<Item, Result>) => RunBatch<Item, Result>;
  /** Time limit for items that wait for a lock and have no limit of their own. */
  readonly lockLimit: ItemLimit;
  readonly onLocked?: ((accountId: string) => void) | undefined;
}

/** Runs a batch. If an item waits for a lock, its result is a promise. */
export type RunBatch<Item, Result> = (
  items: readonly Item[],
  batch: Batch,
) => Promise<readonly (Result | Promise<Result>)[]>;

const ITEMS = { isItemFault: isDataError, batchItemsMax: BATCH_ITEMS_MAX };

export class AccountBatcher<Item, Result> extends ItemBatcher<Item, Result> {
  readonly #options: AccountBatcherOptions<Item, Result>;
  readonly #locked = new Map<string, ItemBatcher<Item, Result>>();

  constructor(options: AccountBatcherOptions<Item, Result>) {
    super({ ...options, ...ITEMS, run: options.guarded((items, batch) => this.#runPastWaiting(items, batch)) });
    this.#options = options;
  }

  async #runPastWaiting(items: readonly Item[], batch: Batch): Promise<readonly (Result | Promise<Result>)[]> {
    const { accountOf } = this.#options;
    const waits = this.#locked.size === 0 ? null : items.map((item) => this.#locked.has(accountOf(item)));
    const free = waits === null ? items : items.filter((_item, i) => !waits[i]);
    const results = free.length === 0 ? [] : await this.#runFree(free, batch.signal);
    if (waits === null && !results.includes('locked')) return results as readonly Result[];
    let next = 0;
    return items.map((item, i) => {
      const result = waits?.[i] ? 'locked' : results[next++]!;
      return result === 'locked' ? this.#wait(item, batch.dueMs[i]!) : result;
    });
  }

  async #runFree(items: readonly Item[], signal: AbortSignal): Promise<readonly (Result | 'locked')[]> {
    const { run, kindOf } = this.#options;
    try {
      return await run(items, 'all', signal);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    }
    try {
      return await run(items, 'free', signal);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      // The lock is not on an account's row. Items of one account or of one kind may be the cause, so they run separately.
      const kinds = kindOf === undefined ? new Set() : new Set(items.map(kindOf));
      return kinds.size > 1 ? this.#runByKind(items, signal) : items.map(() => 'locked');
    }
  }

  async #runByKind(items: readonly Item[], signal: AbortSignal): Promise<readonly (Result | 'locked')[]> {
    const results = new Map<Item, Result | 'locked'>();
    for (const some of Map.groupBy(items, this.#options.kindOf!).values()) {
      const ofKind = await this.#runFree(some, signal);
      for (const [i, item] of some.entries()) results.set(item, ofKind[i]!);
    }
    return items.map((item) => results.get(item)!);
  }

  #wait(item: Item, dueMs: number): Promise<Result> {
    const { accountOf, run, lockLimit: limit, onLocked, kindOf, bytes, waitingItemsMax } = this.#options;
    const accountId = accountOf(item);
    const runWaiting: RunBatch<Item, Result> = async (items, { signal }) =>
      (await run(items, 'waiting', signal)) as readonly Result[];
    const options = { ...ITEMS, kindOf, bytes, waitingItemsMax, limit, run: runWaiting };
    const own = this.#locked.get(accountId) ?? new ItemBatcher<Item, Result>(options);
    const result = own.submit(item, Number.isFinite(dueMs) ? dueMs : undefined);
    if (!this.#locked.has(accountId)) {
      this.#locked.set(accountId, own);
      onLocked?.(accountId);
      void own.drain().then(() => this.#locked.delete(accountId));
    }
    return result;
  }
}
