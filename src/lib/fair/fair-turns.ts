import { FairQueue } from './fair-queue.ts';

/** Lets a few pieces of work run at a time; waiting work is served by turns of accounts. */
export class FairTurns {
  readonly #atOnceMax: number;
  readonly #waiting = new FairQueue<() => void>();
  #running = 0;

  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /**
   * Returns a promise that resolves at this account's turn, or `null` if the turn is now. Every turn ends with
   * `leave`.
   */
  enter(accountId: string): Promise<void> | null {
    if (this.#running < this.#atOnceMax) {
      this.#running++;
      return null;
    }
    return new Promise((resolve) => this.#waiting.push(accountId, resolve));
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}
