/** Returned for work that exceeds its time limit. */
export const LATE = Symbol('late');

interface Waiting {
  readonly dueMs: number;
  readonly resolve: (result: typeof LATE) => void;
}

/** A time limit for many tasks, all with the same timer. */
export class InTime {
  readonly #limitMs: number;
  /** Pending tasks. All have the same limit, so they are in the order of their deadlines. */
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | null = null;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** Returns the result of the work, or `LATE`. Late work continues, and the caller must handle its result. */
  of<Result>(work: Promise<Result>): Promise<Result | typeof LATE> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { dueMs: performance.now() + this.#limitMs, resolve };
      this.#waiting.add(waiting);
      if (this.#timer === null) this.#watch(this.#limitMs);
      work.then(
        (result) => {
          this.#end(waiting);
          resolve(result);
        },
        (error: unknown) => {
          this.#end(waiting);
          reject(error);
        },
      );
    });
  }

  #end(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    if (this.#waiting.size > 0 || this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #watch(ms: number): void {
    this.#timer = setTimeout(() => this.#check(performance.now()), ms);
  }

  #check(nowMs: number): void {
    this.#timer = null;
    for (const waiting of this.#waiting) {
      if (waiting.dueMs > nowMs) {
        this.#watch(Math.ceil(waiting.dueMs - nowMs));
        return;
      }
      this.#waiting.delete(waiting);
      waiting.resolve(LATE);
    }
  }
}
