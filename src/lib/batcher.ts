import { NamedError } from './named-error.ts';
import { systemTimers, type Timers } from './timers.ts';

/**
 * Coalesces work: whatever is submitted while one batch is under way goes into the next one.
 *
 *   submit ─▶ waiting ─▶ (previous batch done) ─▶ run(items) ─▶ each caller gets its own result
 *
 * An idle batcher starts at the end of the current turn of the event loop, so calls that arrived together share a
 * statement and a lone call waits for nothing. One batch runs at a time, which keeps the order of arrival; if it is slow, one of
 * other kinds may run beside it.
 *
 * When `run` throws and `isItemFault` says that an item was to blame, the items are run again one by one, so that only
 * the faulty ones fail. Any other error fails the whole batch, because no item caused it.
 *
 * With a limit, an item fails when its time is over, whether it waits or runs. Once that is true of all items of the batch
 * that runs, its signal aborts; the next batch begins when `run` has ended.
 */
interface BatcherOptions<Item, Result> {
  /**
   * Does the work; returns one result an item, in the same order. A result may be a promise if it takes longer than the
   * batch: the next batch does not wait for it.
   */
  readonly run: (items: readonly Item[], batch: Batch) => Promise<readonly (Result | Promise<Result>)[]>;
  /** True where the error came from the data of an item rather than from the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  readonly batchItemsMax: number;
  /** The size of an item, and of a batch; one that has more goes by itself. By default only their number is limited. */
  readonly bytes?: { readonly of: (item: Item) => number; readonly batchMax: number } | undefined;
  /** Items of a kind that may wait; one more is refused with `BatcherFullError`. */
  readonly waitingItemsMax: number;
  /** By default all are of one kind. */
  readonly kindOf?: ((item: Item) => string) | undefined;
  /** How long a batch may take until one of the kinds that it does not have begins beside it; by default none does. */
  readonly besideAfterMs?: number | undefined;
  /** How long an item may take from its submission; by default as long as it likes. */
  readonly limit?: ItemLimit | undefined;
}

export interface ItemLimit {
  readonly ms: number;
  readonly timers: Timers;
}

/** What a batch is told about its items. */
export interface Batch {
  /** Aborts when no item of the batch has any time left. */
  readonly signal: AbortSignal;
  /** When the time of each item is over, by the limit's timers. */
  readonly dueMs: readonly number[];
}

export interface Batcher<Item, Result> {
  /** `dueMs`: when the time of the item is over, if that is not its limit from now on. */
  submit(item: Item, dueMs?: number): Promise<Result>;
  /** Resolves when nothing waits and nothing runs. */
  drain(): Promise<void>;
  /** Items waiting or running. */
  readonly size: number;
}

/** A batcher that says how many of a kind there are. */
export interface KindBatcher<Item, Result> extends Batcher<Item, Result> {
  /** Items of a kind that wait or run. */
  countOf(kind: string): number;
}

/** The work was never begun, so nothing came of it for certain. */
export class NotBegunError extends NamedError {}

/** The queue has reached its limit: the database is slower than the calls that come in. */
export class BatcherFullError extends NotBegunError {
  constructor(limit: number) {
    super(`more than ${limit} items are waiting for the database`);
  }
}

/** The work was begun and took too long; its outcome is unknown. */
export class LateError extends NamedError {
  constructor(message = 'the database did not respond in time') {
    super(message);
  }
}

/** Wraps work without results: each item resolves once the whole batch is done. */
export function withoutResults<Item>(
  work: (items: readonly Item[], batch: Batch) => Promise<void>,
): (items: readonly Item[], batch: Batch) => Promise<undefined[]> {
  return async (items, batch) => {
    await work(items, batch);
    return items.map(() => undefined);
  };
}

interface Entry<Item, Result> {
  readonly item: Item;
  readonly dueMs: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch that runs, and those of its items that are under way now: all, or one by one after a fault. */
interface Running<Item, Result> {
  readonly entries: readonly Entry<Item, Result>[];
  underWay: readonly Entry<Item, Result>[];
  aborts: AbortController | null;
  readonly startedAtMs: number;
}

const NO_LIMIT: ItemLimit = { ms: Number.POSITIVE_INFINITY, timers: systemTimers };

export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): KindBatcher<Item, Result> {
  const { besideAfterMs = Number.POSITIVE_INFINITY } = options;
  const { ms: limitMs, timers } = options.limit ?? NO_LIMIT;
  const waiting: Entry<Item, Result>[] = [];
  /** How many wait, by kind. */
  const waitingOfKind = new Map<string, number>();
  const kindOf = options.kindOf ?? (() => '');
  const running = new Set<Running<Item, Result>>();
  /** Those whose results come later than their batch. */
  const deferred = new Set<Entry<Item, Result>>();
  let isTimed = false;
  let isBesideTimed = false;
  let isScheduled = false;
  let idleListeners: (() => void)[] = [];

  async function run(batch: Entry<Item, Result>[], state: Running<Item, Result>): Promise<void> {
    state.underWay = batch;
    state.aborts = new AbortController();
    try {
      const { signal } = state.aborts;
      const results = await options.run(
        batch.map((entry) => entry.item),
        { signal, dueMs: batch.map((entry) => entry.dueMs) },
      );
      if (results.length !== batch.length) {
        throw new Error(`a batch of ${batch.length} items gave ${results.length} results`);
      }
      for (let i = 0; i < batch.length; i++) {
        const result = results[i]!;
        if (result instanceof Promise) defer(batch[i]!, result);
        else batch[i]!.resolve(result);
      }
    } catch (error) {
      if (batch.length > 1 && options.isItemFault(error)) {
        for (const entry of batch) {
          // Its caller was told so while others ran by themselves.
          if (entry.dueMs <= timers.nowMs()) entry.reject(new LateError());
          else await run([entry], state);
        }
      } else {
        for (const entry of batch) entry.reject(error);
      }
    }
  }

  function defer(entry: Entry<Item, Result>, result: Promise<Result>): void {
    deferred.add(entry);
    result.then(entry.resolve, entry.reject).finally(() => {
      deferred.delete(entry);
      callIdleListeners();
    });
  }

  /** How many of some that wait make a batch: one at least, if there is any. */
  function countFor(entries: readonly Entry<Item, Result>[]): number {
    const { batchItemsMax, bytes } = options;
    const most = Math.min(entries.length, batchItemsMax);
    if (bytes === undefined) return most;
    let count = 0;
    for (let left = bytes.batchMax; count < most; count++) {
      left -= bytes.of(entries[count]!.item);
      if (left < 0 && count > 0) break;
    }
    return count;
  }

  function countWaiting(item: Item, change: 1 | -1): void {
    const kind = kindOf(item);
    waitingOfKind.set(kind, (waitingOfKind.get(kind) ?? 0) + change);
  }

  /** Begins what may begin now. */
  function begin(): void {
    isScheduled = false;
    for (let batch = nextBatch(); batch.length > 0; batch = nextBatch()) void runBatch(batch);
    watchSlow();
    callIdleListeners();
  }

  /** Takes the next batch out of what waits; it is empty if none may begin now. */
  function nextBatch(): Entry<Item, Result>[] {
    if (running.size === 0) return waiting.splice(0, countFor(waiting));
    if (waiting.length === 0 || !areAllSlow()) return [];
    const kinds = new Set<string>();
    for (const { entries } of running) for (const { item } of entries) kinds.add(kindOf(item));
    if (![...waitingOfKind].some(([kind, count]) => count > 0 && !kinds.has(kind))) return [];
    const others = waiting.filter(({ item }) => !kinds.has(kindOf(item)));
    const batch = new Set(others.slice(0, countFor(others)));
    if (batch.size > 0) waiting.splice(0, waiting.length, ...waiting.filter((entry) => !batch.has(entry)));
    return [...batch];
  }

  function areAllSlow(): boolean {
    if (!Number.isFinite(besideAfterMs)) return running.size === 0;
    const slowSinceMs = timers.nowMs() - besideAfterMs;
    for (const { startedAtMs } of running) if (startedAtMs > slowSinceMs) return false;
    return true;
  }

  async function runBatch(batch: Entry<Item, Result>[]): Promise<void> {
    for (const { item } of batch) countWaiting(item, -1);
    const startedAtMs = timers.nowMs();
    const state: Running<Item, Result> = { entries: batch, underWay: batch, aborts: null, startedAtMs };
    running.add(state);
    await run(batch, state);
    running.delete(state);
    begin();
  }

  /** One timer, while something waits beside a batch: it looks again when all that run may be slow. */
  function watchSlow(): void {
    if (isBesideTimed || waiting.length === 0 || !Number.isFinite(besideAfterMs)) return;
    isBesideTimed = true;
    let slowAtMs = 0;
    for (const { startedAtMs } of running) slowAtMs = Math.max(slowAtMs, startedAtMs + besideAfterMs);
    const leftMs = slowAtMs - timers.nowMs();
    timers.after(leftMs > 0 ? leftMs : besideAfterMs, () => {
      isBesideTimed = false;
      begin();
    });
  }

  function callIdleListeners(): void {
    if (isScheduled || waiting.length > 0 || running.size > 0 || deferred.size > 0) return;
    const listeners = idleListeners;
    idleListeners = [];
    for (const listener of listeners) listener();
  }

  /** One timer for all items: it looks at those that are still there when the first one of them may be late. */
  function watch(dueMs: number, nowMs: number): void {
    if (isTimed || dueMs === Number.POSITIVE_INFINITY) return;
    isTimed = true;
    // An item that comes from another batcher may be due already.
    timers.after(Math.max(dueMs - nowMs, 0), () => {
      isTimed = false;
      failLate(timers.nowMs());
    });
  }

  function failLate(nowMs: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    const isLate = ({ dueMs }: Entry<Item, Result>): boolean => {
      if (dueMs > nowMs) nextMs = Math.min(nextMs, dueMs);
      return dueMs <= nowMs;
    };
    for (const { entries } of running) for (const entry of entries) if (isLate(entry)) entry.reject(new LateError());
    for (const entry of deferred) if (isLate(entry)) entry.reject(new LateError());
    const inTime: Entry<Item, Result>[] = [];
    for (const entry of waiting) {
      if (isLate(entry)) {
        countWaiting(entry.item, -1);
        entry.reject(new NotBegunError('the time of a question was over before its turn came'));
      } else inTime.push(entry);
    }
    waiting.splice(0, waiting.length, ...inTime);
    for (const { underWay, aborts } of running) {
      if (underWay.every(({ dueMs }) => dueMs <= nowMs)) aborts?.abort(new LateError());
    }
    watch(nextMs, nowMs);
  }

  return {
    submit(item, dueMs) {
      if ((waitingOfKind.get(kindOf(item)) ?? 0) >= options.waitingItemsMax) {
        return Promise.reject(new BatcherFullError(options.waitingItemsMax));
      }
      return new Promise<Result>((resolve, reject) => {
        const nowMs = limitMs === Number.POSITIVE_INFINITY ? 0 : timers.nowMs();
        const entry = { item, dueMs: dueMs ?? nowMs + limitMs, resolve, reject };
        waiting.push(entry);
        countWaiting(item, 1);
        watch(entry.dueMs, nowMs);
        if (running.size > 0 && !areAllSlow()) watchSlow();
        else if (!isScheduled) {
          isScheduled = true;
          setImmediate(begin);
        }
      });
    },
    drain() {
      if (!isScheduled && running.size === 0 && deferred.size === 0) return Promise.resolve();
      return new Promise((resolve) => idleListeners.push(resolve));
    },
    countOf(kind) {
      let count = waitingOfKind.get(kind) ?? 0;
      for (const { item } of deferred) if (kindOf(item) === kind) count++;
      for (const { entries } of running) for (const { item } of entries) if (kindOf(item) === kind) count++;
      return count;
    },
    get size() {
      let count = waiting.length + deferred.size;
      for (const { entries } of running) count += entries.length;
      return count;
    },
  };
}
