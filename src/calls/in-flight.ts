/** Counts work that is under way, so that a shutdown can wait for its end. */
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

  /** Resolves when no work is under way. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
