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

  /** Resolves when nothing is under way any more. */
  idle(): Promise<void> {
    if (this.#count === 0) return Promise.resolve();
    return new Promise((resolve) => this.#listeners.push(resolve));
  }
}
