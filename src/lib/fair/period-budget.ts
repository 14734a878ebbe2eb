import { FairQueue, type QueuedItem } from './fair-queue.ts';

interface PeriodBudgetOptions {
  /** Amount of work in one period, in a unit of the caller's choice. Work that exceeds it is still completed. */
  readonly amountMax: number;
  /** Maximum number of waiting tasks that each later period resumes. Each task may do one more unit of work before it waits again. */
  readonly resumedMax: number;
  /** Runs a function in the next period. An example is `setImmediate`, if a period is an iteration of the event loop. */
  readonly inNextPeriod: (run: () => void) => unknown;
}

/**
 * Limits the work of a period, such as an iteration of the event loop, so that many busy sockets do not delay other events. Tasks that
 * exceed the budget wait for a later period, in which tenants take turns. Below the limit, counting work costs one addition.
 */
export class PeriodBudget {
  readonly #amountMax: number;
  readonly #resumedMax: number;
  readonly #inNextPeriod: PeriodBudgetOptions['inNextPeriod'];
  readonly #waiting = new FairQueue<() => void>();
  /** Amount of work since the limit was last exceeded. It is at least the work of the current period. */
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

  /** Counts the work of a task that never waits. */
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
