import { FairQueue, type QueuedItem } from './fair-queue.ts';

interface PeriodBudgetOptions {
  /** Amount of work in one period, in any unit. Work that exceeds it is still completed. */
  readonly amountMax: number;
  /** Maximum number of waiting tasks that resume in a later period. Each may do one more unit of work before it waits again. */
  readonly resumedMax: number;
  /** Runs a function in the next period, such as `setImmediate` for iterations of the event loop. */
  readonly inNextPeriod: (run: () => void) => unknown;
}

/**
 * Limits the work in a period, such as an iteration of the event loop, so that many busy sockets do not delay other events. When the budget
 * is exceeded, tasks wait for a later period, in which tenants take turns.
 */
export class PeriodBudget {
  readonly #amountMax: number;
  readonly #resumedMax: number;
  readonly #inNextPeriod: PeriodBudgetOptions['inNextPeriod'];
  readonly #waiting = new FairQueue<() => void>();
  /** Work since the limit was last exceeded: at least the work of the current period. */
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

  /** Counts completed work. Returns `null` if the task may continue; otherwise `resume` runs later, unless the returned item is removed. */
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
