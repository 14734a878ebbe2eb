/**
 * Coalesces work: whatever is submitted while one batch is under way goes into the next one.
 *
 *   submit ─▶ waiting ─▶ (previous batch done) ─▶ run(items) ─▶ each caller gets its own result
 *
 * An idle batcher starts at the end of the current turn of the event loop, so calls that arrived together share a
 * statement and a lone call waits for nothing. One batch runs at a time, which keeps the order of arrival.
 *
 * When `run` throws and `isItemFault` says that an item was to blame, the items are run again one by one, so that only
 * the faulty ones fail. Any other error fails the whole batch, because no item caused it.
 */
export interface BatcherOptions<Item, Result> {
  /** Does the work; returns one result an item, in the same order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** True where the error came from the data of an item rather than from the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  readonly batchItemsMax: number;
  /** Items that may wait; one more is refused with `BatcherFullError`. */
  readonly waitingItemsMax: number;
}

export interface Batcher<Item, Result> {
  submit(item: Item): Promise<Result>;
  /** Resolves when nothing waits and nothing runs. */
  drain(): Promise<void>;
  /** Items waiting or running. */
  readonly size: number;
}

/** The queue has reached its limit: the database is slower than the calls that come in. */
export class BatcherFullError extends Error {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
    this.name = 'BatcherFullError';
  }
}

/** Wraps work without results: each item resolves once the whole batch is done. */
export function withoutResults<Item>(
  work: (items: readonly Item[]) => Promise<void>,
): (items: readonly Item[]) => Promise<undefined[]> {
  return async (items) => {
    await work(items);
    return items.map(() => undefined);
  };
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): Batcher<Item, Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let runningItems = 0;
  let isScheduled = false;
  let idleListeners: (() => void)[] = [];

  async function runBatch(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      if (results.length !== batch.length) {
        throw new Error(`a batch of ${batch.length} items gave ${results.length} results`);
      }
      for (let i = 0; i < batch.length; i++) batch[i]!.resolve(results[i]!);
    } catch (error) {
      if (batch.length > 1 && options.isItemFault(error)) {
        for (const entry of batch) await runBatch([entry]);
      } else {
        for (const entry of batch) entry.reject(error);
      }
    }
  }

  async function loop(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, options.batchItemsMax);
      runningItems = batch.length;
      await runBatch(batch);
      runningItems = 0;
    }
    isScheduled = false;
    const listeners = idleListeners;
    idleListeners = [];
    for (const listener of listeners) listener();
  }

  return {
    submit(item) {
      if (waiting.length >= options.waitingItemsMax) {
        return Promise.reject(new BatcherFullError(options.waitingItemsMax));
      }
      return new Promise<Result>((resolve, reject) => {
        waiting.push({ item, resolve, reject });
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(() => void loop());
      });
    },
    drain() {
      if (!isScheduled) return Promise.resolve();
      return new Promise((resolve) => idleListeners.push(resolve));
    },
    get size() {
      return waiting.length + runningItems;
    },
  };
}
