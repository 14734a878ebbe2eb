/** The result of work in time, if it takes longer than the limit. */
export const LATE = Symbol('late');

interface Waiting {
  readonly dueMs: number;
  readonly resolve: (result: typeof LATE) => void;
}

/** Work that has one limit of time. All of it shares one timer, which runs only as long as any is under way. */
export class InTime {
  readonly #limitMs: number;
  /** In the order of their ends, since all have the same limit. */
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | null = null;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** The result of work, or `LATE`; the work then goes on, and its caller has to handle how it ends. */
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
    this.#timer = setTimeout(() => this.#look(performance.now()), ms);
  }

  #look(nowMs: number): void {
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
