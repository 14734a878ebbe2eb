import { FairQueue } from './fair-queue.ts';

/** What is done in one iteration of the event loop before others have to be served. */
const AMOUNT_MAX = 512 * 1024;
/** Of those that wait, so many continue in an iteration: each may do one more piece of work before it is paused again. */
const CONTINUED_MAX = 8;

/**
 * Limits the work of one iteration of the event loop. A socket whose peer sends fast is read up to 32 times in an iteration, and many such
 * sockets one after the other, so everything else would wait for all of them. Work beyond the limit waits for a later iteration, in which
 * accounts take turns. While there is less work, it costs an addition.
 */
export class LoopBudget {
  readonly #waiting = new FairQueue<() => void>();
  /** What was done since the limit was reached last; an iteration has done no more. */
  #amount = 0;
  #isScheduled = false;

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Counts work that was done. Returns whether there may be more of it in this iteration; if not, `onTurn` runs in a later one. */
  mayContinue(accountId: string, amount: number, onTurn: () => void): boolean {
    this.count(amount);
    if (this.#amount <= AMOUNT_MAX) return true;
    this.#waiting.push(accountId, onTurn);
    this.#schedule();
    return false;
  }

  /** Counts work that never waits. */
  count(amount: number): void {
    this.#amount += amount;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#amount = 0;
      for (let i = 0; i < CONTINUED_MAX && this.#amount <= AMOUNT_MAX; i++) this.#waiting.shift()?.();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
