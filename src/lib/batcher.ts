import { BatcherFullError, LateError, NotBegunError } from './batcher-errors.ts';
import { systemTimers, type Timers } from './timers.ts';

/**
 * Combines work into batches: items that are submitted while a batch runs form the next one.
 *
 * submit ─▶ waiting ─▶ (previous batch done) ─▶ run(items) ─▶ each caller gets its own result
 *
 * An idle batcher starts a batch at the end of the current iteration of the event loop, so that items that arrive together share it. One
 * batch runs at a time; if it is slow, a batch of items of other kinds can run concurrently.
 *
 * If `run` throws and `isItemFault` returns true, the items run again one by one, so that only the faulty ones fail. Any other error fails
 * the whole batch. With a limit, an item fails at its deadline, even while it runs.
 */
export interface BatcherOptions<Item, Result> {
  /** Does the work. Returns one result per item, in the same order. The next batch does not wait for results that are promises. */
  readonly run: (items: readonly Item[], batch: Batch) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Whether an error was caused by the data of an item rather than by the connection. */
  readonly isItemFault: (error: unknown) => boolean;
  readonly batchItemsMax: number;
  /** How to measure an item, and the maximum size of a batch; absent: only the number of items is limited. A larger item runs alone. */
  readonly bytes?: { readonly of: (item: Item) => number; readonly batchMax: number } | undefined;
  /** Maximum number of waiting items of a kind. Further items are refused with `BatcherFullError`. */
  readonly waitingItemsMax: number;
  readonly kindOf?: ((item: Item) => string) | undefined;
  /** After this time in milliseconds, a batch counts as slow; absent: never. */
  readonly besideAfterMs?: number | undefined;
  /** Time limit of an item, counted from when it was submitted; absent: none. */
  readonly limit?: ItemLimit | undefined;
}

export interface ItemLimit {
  readonly ms: number;
  readonly timers: Timers;
}

export interface Batch {
  /** Aborts when the deadlines of all items in the batch have passed. */
  readonly signal: AbortSignal;
  /** Deadline of each item, on the clock of the limit's timers. */
  readonly dueMs: readonly number[];
}

export interface Batcher<Item, Result> {
  /** Submits an item. `dueMs`: its deadline; absent: now plus the limit. */
  submit(item: Item, dueMs?: number): Promise<Result>;
  drain(): Promise<void>;
  readonly size: number;
}

/** Adapts work that has no results: every item resolves when its batch is complete. */
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
  readonly kind: string;
  readonly dueMs: number;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch that runs. `current`: the items that run now: all or, after a fault, one at a time. */
interface Running<Item, Result> {
  readonly entries: readonly Entry<Item, Result>[];
  current: readonly Entry<Item, Result>[];
  aborts: AbortController;
  readonly startedAtMs: number;
}

const NO_LIMIT: ItemLimit = { ms: Number.POSITIVE_INFINITY, timers: systemTimers };

export class ItemBatcher<Item, Result> implements Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  readonly #limit: ItemLimit;
  readonly #besideAfterMs: number;
  readonly #waiting: Entry<Item, Result>[] = [];
  readonly #waitingOfKind = new Map<string, number>();
  readonly #running = new Set<Running<Item, Result>>();
  /** Items of batches that have ended, whose results are promises that are still pending. */
  readonly #deferred = new Set<Entry<Item, Result>>();
  #isTimed = false;
  #isBesideTimed = false;
  #isScheduled = false;
  readonly #idleListeners: (() => void)[] = [];

  constructor(options: BatcherOptions<Item, Result>) {
    const { limit = NO_LIMIT, besideAfterMs = Number.POSITIVE_INFINITY } = options;
    this.#options = options;
    this.#limit = limit;
    this.#besideAfterMs = besideAfterMs;
  }

  submit(item: Item, dueMs?: number): Promise<Result> {
    const { kindOf, waitingItemsMax } = this.#options;
    const kind = kindOf === undefined ? '' : kindOf(item);
    const waitingOfKind = this.#waitingOfKind.get(kind) ?? 0;
    if (waitingOfKind >= waitingItemsMax) return Promise.reject(new BatcherFullError(waitingItemsMax));
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const nowMs = this.#limit.ms === Number.POSITIVE_INFINITY ? 0 : this.#limit.timers.nowMs();
    const entry = { item, kind, dueMs: dueMs ?? nowMs + this.#limit.ms, resolve, reject };
    this.#waiting.push(entry);
    this.#waitingOfKind.set(kind, waitingOfKind + 1);
    if (!this.#isTimed && entry.dueMs !== Number.POSITIVE_INFINITY) this.#watch(entry.dueMs, nowMs);
    if (this.#running.size > 0 && !this.#areAllSlow()) this.#watchSlow();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(this.#begin);
    }
    return promise;
  }

  drain(): Promise<void> {
    if (!this.#isScheduled && this.#running.size === 0 && this.#deferred.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idleListeners.push(resolve));
  }

  countOf(wanted: string): number {
    let count = this.#waitingOfKind.get(wanted) ?? 0;
    for (const { kind } of this.#deferred) if (kind === wanted) count++;
    for (const { entries } of this.#running) for (const { kind } of entries) if (kind === wanted) count++;
    return count;
  }

  get size(): number {
    let count = this.#waiting.length + this.#deferred.size;
    for (const { entries } of this.#running) count += entries.length;
    return count;
  }

  readonly #begin = (): void => {
    this.#isScheduled = false;
    while (this.#waiting.length > 0) {
      const batch =
        this.#running.size === 0 ? this.#waiting.splice(0, this.#countFor(this.#waiting)) : this.#takeOthers();
      if (batch.length === 0) break;
      void this.#run(batch);
    }
    if (this.#waiting.length > 0) this.#watchSlow();
    else if (this.#idleListeners.length > 0) this.#callIdleListeners();
  };

  /** Returns how many waiting entries fit into the next batch; at least one. */
  #countFor(entries: readonly Entry<Item, Result>[]): number {
    const { batchItemsMax, bytes } = this.#options;
    const most = Math.min(entries.length, batchItemsMax);
    if (bytes === undefined) return most;
    let count = 0;
    for (let left = bytes.batchMax; count < most; count++) {
      left -= bytes.of(entries[count]!.item);
      if (left < 0 && count > 0) break;
    }
    return count;
  }

  /** Takes the waiting entries whose kinds are not running. Empty if no batch can start now. */
  #takeOthers(): Entry<Item, Result>[] {
    if (!this.#areAllSlow()) return [];
    const kinds = new Set<string>();
    for (const { entries } of this.#running) for (const { kind } of entries) kinds.add(kind);
    if (![...this.#waitingOfKind].some(([kind, count]) => count > 0 && !kinds.has(kind))) return [];
    const others = this.#waiting.filter(({ kind }) => !kinds.has(kind));
    const batch = new Set(others.slice(0, this.#countFor(others)));
    this.#keepWaiting((entry) => !batch.has(entry));
    return [...batch];
  }

  #keepWaiting(stays: (entry: Entry<Item, Result>) => boolean): void {
    this.#waiting.splice(0, this.#waiting.length, ...this.#waiting.filter(stays));
  }

  #areAllSlow(): boolean {
    if (this.#besideAfterMs === Number.POSITIVE_INFINITY) return this.#running.size === 0;
    const slowSinceMs = this.#limit.timers.nowMs() - this.#besideAfterMs;
    for (const { startedAtMs } of this.#running) if (startedAtMs > slowSinceMs) return false;
    return true;
  }

  async #run(entries: readonly Entry<Item, Result>[]): Promise<void> {
    for (const { kind } of entries) this.#waitingOfKind.set(kind, this.#waitingOfKind.get(kind)! - 1);
    const startedAtMs = this.#limit.timers.nowMs();
    const running: Running<Item, Result> = { entries, current: entries, aborts: new AbortController(), startedAtMs };
    this.#running.add(running);
    const fault = await this.#runOnce(running);
    for (const entry of fault ? entries : []) {
      // The deadline has passed while earlier items ran one by one.
      if (entry.dueMs <= this.#limit.timers.nowMs()) entry.reject(new LateError());
      else {
        running.current = [entry];
        running.aborts = new AbortController();
        await this.#runOnce(running);
      }
    }
    this.#running.delete(running);
    this.#begin();
  }

  /** Runs the current items. Returns true if one of several items made the run fail. */
  async #runOnce({ current, aborts: { signal } }: Running<Item, Result>): Promise<boolean> {
    const items: Item[] = [];
    const dueMs: number[] = [];
    for (const entry of current) {
      items.push(entry.item);
      dueMs.push(entry.dueMs);
    }
    try {
      const results = await this.#options.run(items, { signal, dueMs });
      if (results.length !== items.length) {
        throw new Error(`a batch of ${items.length} items returned ${results.length} results`);
      }
      for (let i = 0; i < items.length; i++) {
        const result = results[i]!;
        if (result instanceof Promise) this.#defer(current[i]!, result);
        else current[i]!.resolve(result);
      }
    } catch (error) {
      if (items.length > 1 && this.#options.isItemFault(error)) return true;
      for (const entry of current) entry.reject(error);
    }
    return false;
  }

  #defer(entry: Entry<Item, Result>, result: Promise<Result>): void {
    this.#deferred.add(entry);
    result.then(entry.resolve, entry.reject).finally(() => {
      this.#deferred.delete(entry);
      this.#callIdleListeners();
    });
  }

  /** Sets a single timer, for when all running batches will count as slow. */
  #watchSlow(): void {
    if (this.#isBesideTimed || this.#besideAfterMs === Number.POSITIVE_INFINITY) return;
    this.#isBesideTimed = true;
    let slowAtMs = 0;
    for (const { startedAtMs } of this.#running) slowAtMs = Math.max(slowAtMs, startedAtMs + this.#besideAfterMs);
    const leftMs = slowAtMs - this.#limit.timers.nowMs();
    this.#limit.timers.after(leftMs > 0 ? leftMs : this.#besideAfterMs, () => {
      this.#isBesideTimed = false;
      this.#begin();
    });
  }

  #callIdleListeners(): void {
    if (this.#isScheduled || this.#waiting.length + this.#running.size + this.#deferred.size > 0) return;
    for (const listener of this.#idleListeners.splice(0)) listener();
  }

  /** Sets a single timer, for the first deadline. */
  #watch(dueMs: number, nowMs: number): void {
    this.#isTimed = true;
    // The deadline of an item that comes from another batcher may have passed already.
    this.#limit.timers.after(Math.max(dueMs - nowMs, 0), () => {
      this.#isTimed = false;
      this.#failLate(this.#limit.timers.nowMs());
    });
  }

  #failLate(nowMs: number): void {
    let nextMs = Number.POSITIVE_INFINITY;
    const isLate = ({ dueMs }: Entry<Item, Result>): boolean => {
      if (dueMs > nowMs) nextMs = Math.min(nextMs, dueMs);
      return dueMs <= nowMs;
    };
    for (const { entries } of this.#running)
      for (const entry of entries) if (isLate(entry)) entry.reject(new LateError());
    for (const entry of this.#deferred) if (isLate(entry)) entry.reject(new LateError());
    this.#keepWaiting((entry) => {
      if (!isLate(entry)) return true;
      this.#waitingOfKind.set(entry.kind, this.#waitingOfKind.get(entry.kind)! - 1);
      entry.reject(new NotBegunError('the deadline passed before the request was started'));
      return false;
    });
    for (const { current, aborts } of this.#running) {
      if (current.every(({ dueMs }) => dueMs <= nowMs)) aborts.abort(new LateError());
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#watch(nextMs, nowMs);
  }
}
