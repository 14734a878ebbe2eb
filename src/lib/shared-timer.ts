import { systemTimers, type Timers } from './timers.ts';

/** What has to be looked at by an instant, which may move while it waits. */
export interface Watched {
  /** By the clock of the timers; `Infinity`: not at all. */
  readonly dueMs: number;
  /** Its time is over. */
  passed(): void;
}

/**
 * One timer for much that has a limit of time and nearly always ends before: a timer each would be set, and taken back, for each call.
 * When it fires, it looks at all, and is set for the earliest of those that are left.
 */
export class SharedTimer {
  readonly #timers: Timers;
  readonly #watched = new Set<Watched>();
  #cancel: () => void = () => undefined;
  #firesAtMs = Number.POSITIVE_INFINITY;

  constructor(timers: Timers = systemTimers) {
    this.#timers = timers;
  }

  /** Begins to watch, or hears that what is watched is due earlier than it was; later needs no word. */
  watch(each: Watched): void {
    this.#watched.add(each);
    if (each.dueMs < this.#firesAtMs) this.#set(each.dueMs, this.#timers.nowMs());
  }

  leave(each: Watched): void {
    this.#watched.delete(each);
  }

  #set(atMs: number, nowMs: number): void {
    this.#cancel();
    this.#firesAtMs = atMs;
    this.#cancel = this.#timers.after(Math.max(Math.ceil(atMs - nowMs), 0), () => this.#look());
  }

  #look(): void {
    const nowMs = this.#timers.nowMs();
    this.#firesAtMs = Number.POSITIVE_INFINITY;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const each of this.#watched) {
      if (each.dueMs <= nowMs) each.passed();
      else nextMs = Math.min(nextMs, each.dueMs);
    }
    // Whatever has passed may have begun something that is watched, too.
    if (nextMs < this.#firesAtMs) this.#set(nextMs, nowMs);
  }
}
