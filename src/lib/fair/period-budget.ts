import { FairQueue, type QueuedItem } from './fair-queue.ts';

interface PeriodBudgetOptions {
  /** Maximum amount of work in a period, in any unit. Work that exceeds it is still completed. */
  readonly amountMax: number;
  /** How many waiting tasks resume in each later period. Each one may do one more unit of work before it waits again. */
  readonly resumedMax: number;
  /** Schedules a function for the next period, such as `setImmediate` for iterations of the event loop. */
  readonly inNextPeriod: (run: () => void) => unknown;
}

/**
 * Limits the work in a period, such as an iteration of the event loop, so that many busy sockets do not delay other events. Once the budget
 * is exceeded, tasks wait for a later period, in which tenants are served in turn.
 */
export class PeriodBudget {
  readonly #amountMax: number;
  readonly #resumedMax: number;
  readonly #inNextPeriod: PeriodBudgetOptions['inNextPeriod'];
  readonly #waiting = new FairQueue<() => void>();
  /** Amount of work since the budget was last exceeded; at least that of the current period. */
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

  /** Counts work that was done. Returns `null` if the task may continue. Otherwise `resume` runs later, unless the item is removed. */
  spend(tenant: string, amount: number, resume: () => void): QueuedItem | null {
    this.count(amount);
    if (this.#amount <= this.#amountMax) return null;
    const queued = this.#waiting.push(tenant, resume);
    this.#schedule();
    return queued;
  }

  /** Counts work of a task that never waits for a later period. */
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
