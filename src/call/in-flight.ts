/** Counts what is under way, so that a shutdown can wait for it. */
export class InFlight {
  #count = 0;
  #listeners: (() => void)[] = [];

  get count(): number {
    return this.#count;
  }

  async track<Result>(work: Promise<Result>): Promise<Result> {
    this.#count++;
    try {
      return await work;
    } finally {
      this.#count--;
      if (this.#count === 0) {
        const listeners = this.#listeners;
        this.#listeners = [];
        for (const listener of listeners) listener();
      }
    }
  }

  /** Resolves with true when nothing is under way any more, or with false when the time is over. */
  idle(timeoutMs: number): Promise<boolean> {
    if (this.#count === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), timeoutMs);
      this.#listeners.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
