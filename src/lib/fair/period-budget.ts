import { FairQueue, type QueuedItem } from './fair-queue.ts';

interface PeriodBudgetOptions {
  /** The work of one period, in a unit of the caller's choice. The piece of work that exceeds it is still done. */
  readonly amountMax: number;
  /** Waiting tasks that each later period resumes at most. Each may do one more piece of work before it waits again. */
  readonly resumedMax: number;
  /** Runs a function in the next period, such as `setImmediate` for iterations of the event loop. */
  readonly inNextPeriod: (run: () => void) => unknown;
}

/**
 * Limits the work of a period, such as an iteration of the event loop, so that other events need not wait for many busy sockets. Tasks that
 * exceed the budget wait for a later period, in which tenants take turns. Below the limit, a piece of work costs one addition.
 */
export class PeriodBudget {
  readonly #amountMax: number;
  readonly #resumedMax: number;
  readonly #inNextPeriod: PeriodBudgetOptions['inNextPeriod'];
  readonly #waiting = new FairQueue<() => void>();
  /** The work since the last time the limit was exceeded, which is at least the work of the current period. */
  #amount = 0;
  #isScheduled = false;

  constructor({ amountMax, resumedMax, inNextPeriod }: PeriodBudgetOptions) {
    this.#amountMax = amountMax;
    this.#resumedMax = resumedMax;
    this.#inNextPeriod = inNextPeriod;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Counts work that was done. Returns `null` if the task may continue in this period. Otherwise `resume` runs in a later period, unless
   * the returned item is removed first.
   */
  spend(tenant: string, amount: number, resume: () => void): QueuedItem | null {
    this.count(amount);
    if (this.#amount <= this.#amountMax) return null;
    const queued = this.#waiting.push(tenant, resume);
    this.#schedule();
    return queued;
  }

  /** Counts work of a task that never waits. */
  count(amount: number): void {
    this.#amount += amount;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#inNextPeriod(() => {
      this.#isScheduled = false;
      this.#amount = 0;
      for (let i = 0; i < this.#resumedMax && this.#amount <= this.#amountMax; i++) this.#waiting.shift()?.();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }
}
