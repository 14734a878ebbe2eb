import { WorkTime } from './work-time.ts';

/** Work that may wait for its share of the time. */
interface TimeShareLimits {
  /** Pieces of work of one holder at a time. */
  readonly atOnceMax: number;
  /** Pieces of work of one holder that wait, beyond which more are refused. */
  readonly waitingMax: number;
  /** What a holder may use at once after it was idle, in milliseconds of work. */
  readonly burstMs: number;
  /** What it may use from then on: milliseconds of work a millisecond. */
  readonly share: number;
}

/** More work of this holder waits than may. */
export class ShareBusyError extends Error {
  /** How long the holder rests before more is done; 0: something of it is being done. */
  readonly pauseMs: number;

  constructor(pauseMs: number) {
    super('too much work of this holder waits');
    this.name = 'ShareBusyError';
    this.pauseMs = pauseMs;
  }
}

interface Holder {
  running: number;
  readonly waiting: (() => void)[];
  /** Work done and not yet allowed for, as of `atMs`. */
  debtMs: number;
  atMs: number;
  timer: NodeJS.Timeout | null;
}

/** How many idle holders are remembered before those without a debt are forgotten. */
const REMEMBERED_MAX = 10_000;

/**
 * Gives each holder a share of the time, so that one with any amount of work leaves the rest to others. Each piece of work is told how its
 * time is measured: what it waits for behind the work of others is not counted, or a holder would rest for what they have done. Several at
 * a time count several times.
 */
export class TimeShares {
  readonly #limits: TimeShareLimits;
  readonly #nowMs: () => number;
  readonly #holders = new Map<string, Holder>();

  /** `nowMs`: any clock that never goes back. */
  constructor(limits: TimeShareLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  /** Holders that work, wait or owe something, and some that did. */
  get size(): number {
    return this.#holders.size;
  }

  /**
   * Does a piece of work at its holder's turn.
   *
   * @throws ShareBusyError
   */
  async run<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#atTurn(this.#holderOf(id), work, this.#limits.waitingMax);
  }

  /** Does a further piece of work that has begun, which is not refused: whoever calls it bounds how many there are. */
  goOn<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#atTurn(this.#holderOf(id), work, Number.POSITIVE_INFINITY);
  }

  async #atTurn<Result>(
    holder: Holder,
    work: (time: WorkTime) => Promise<Result>,
    waitingMax: number,
  ): Promise<Result> {
    if (holder.waiting.length === 0 && this.#mayBegin(holder)) holder.running++;
    else if (holder.waiting.length >= waitingMax) throw new ShareBusyError(this.#pauseMs(holder));
    else await this.#turn(holder);
    const time = new WorkTime(this.#nowMs);
    try {
      return await work(time);
    } finally {
      holder.running--;
      this.#settle(holder);
      holder.debtMs += time.workedMs;
      // Whoever else has something to do comes first.
      if (holder.waiting.length > 0) setImmediate(() => this.#serve(holder));
    }
  }

  /** Resolves when the holder may begin it; it counts as running then. */
  #turn(holder: Holder): Promise<void> {
    return new Promise<void>((resolve) => {
      holder.waiting.push(resolve);
      this.#serve(holder);
    });
  }

  /** Begins what waits, as far as the holder may now; what may not is looked at again behind a pause, or when something has ended. */
  #serve(holder: Holder): void {
    while (holder.waiting.length > 0 && this.#mayBegin(holder)) {
      holder.running++;
      holder.waiting.shift()!();
    }
    if (holder.waiting.length === 0 || holder.running > 0 || holder.timer !== null) return;
    holder.timer = setTimeout(() => {
      holder.timer = null;
      this.#serve(holder);
    }, this.#pauseMs(holder));
  }

  #mayBegin(holder: Holder): boolean {
    return holder.running < this.#limits.atOnceMax && this.#pauseMs(holder) === 0;
  }

  /** How long the holder has to rest for what it has done. */
  #pauseMs(holder: Holder): number {
    this.#settle(holder);
    return Math.max(0, Math.ceil((holder.debtMs - this.#limits.burstMs) / this.#limits.share));
  }

  #settle(holder: Holder): void {
    const nowMs = this.#nowMs();
    holder.debtMs = Math.max(0, holder.debtMs - (nowMs - holder.atMs) * this.#limits.share);
    holder.atMs = nowMs;
  }

  #holderOf(id: string): Holder {
    const known = this.#holders.get(id);
    if (known !== undefined) return known;
    if (this.#holders.size >= REMEMBERED_MAX) this.#forget();
    const holder: Holder = { running: 0, waiting: [], debtMs: 0, atMs: this.#nowMs(), timer: null };
    this.#holders.set(id, holder);
    return holder;
  }

  #forget(): void {
    for (const [id, holder] of this.#holders) {
      this.#settle(holder);
      if (holder.running === 0 && holder.waiting.length === 0 && holder.debtMs === 0) this.#holders.delete(id);
    }
  }
}
