import { debtAfter, overMs, type Rate } from '../rate-debts.ts';
import { WorkTime } from './work-time.ts';

interface TimeShareLimits {
  /** Maximum number of tasks of one tenant that run concurrently. */
  readonly atOnceMax: number;
  /** Maximum number of waiting tasks of one tenant. Further tasks are refused. */
  readonly waitingMax: number;
  /** Milliseconds of work that a tenant can use at once after being idle. */
  readonly burstMs: number;
  /** Milliseconds of work per millisecond that a tenant can use after the burst. */
  readonly share: number;
}

/** Thrown if the tenant already has `waitingMax` waiting tasks. */
export class ShareBusyError extends Error {
  /** Milliseconds until the tenant's share allows more work; 0 if the tenant only waits for its own running tasks. */
  readonly pauseMs: number;

  constructor(pauseMs: number) {
    super('too many tasks of this tenant are waiting');
    this.name = 'ShareBusyError';
    this.pauseMs = pauseMs;
  }
}

interface Tenant {
  running: number;
  readonly waiting: (() => void)[];
  /** When the share of the tenant covers all its work so far. */
  repaidAtMs: number;
  timer: NodeJS.Timeout | null;
}

/** Number of remembered tenants from which on idle ones without debt are forgotten. */
const REMEMBERED_MAX = 10_000;

/**
 * Gives each tenant a share of time: a token bucket of milliseconds of work. The times of concurrent tasks are added up. Time in which a
 * task waits for other tenants does not count; the task reports it to its `WorkTime`.
 */
export class TimeShares {
  readonly #limits: TimeShareLimits;
  readonly #rate: Rate;
  readonly #nowMs: () => number;
  readonly #tenants = new Map<string, Tenant>();

  constructor(limits: TimeShareLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#rate = { burst: limits.burstMs, everyMs: 1 / limits.share };
    this.#nowMs = nowMs;
  }

  /** Number of remembered tenants; some of them are idle. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Runs a task once its tenant's share and concurrency limit allow it. @throws ShareBusyError */
  async run<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#runInOrder(this.#tenantOf(id), work, this.#limits.waitingMax);
  }

  /** Runs a further task of work that has already started, like `run`. It is never refused, so the caller must limit such tasks. */
  goOn<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#runInOrder(this.#tenantOf(id), work, Number.POSITIVE_INFINITY);
  }

  async #runInOrder<Result>(
    tenant: Tenant,
    work: (time: WorkTime) => Promise<Result>,
    waitingMax: number,
  ): Promise<Result> {
    if (tenant.waiting.length === 0 && this.#mayBegin(tenant)) tenant.running++;
    else if (tenant.waiting.length >= waitingMax) throw new ShareBusyError(this.#pauseMs(tenant));
    else await this.#wait(tenant);
    const time = new WorkTime(this.#nowMs);
    try {
      return await work(time);
    } finally {
      tenant.running--;
      tenant.repaidAtMs = debtAfter(tenant.repaidAtMs, this.#rate, this.#nowMs(), time.workedMs);
      // The next work is started later, so that pending work of other tenants runs first.
      if (tenant.waiting.length > 0) setImmediate(() => this.#serve(tenant));
    }
  }

  /** Resolves when the work may start. It then counts as running. */
  #wait(tenant: Tenant): Promise<void> {
    return new Promise<void>((resolve) => {
      tenant.waiting.push(resolve);
      this.#serve(tenant);
    });
  }

  /** Starts waiting tasks that may run now, and sets a timer for the others. */
  #serve(tenant: Tenant): void {
    while (tenant.waiting.length > 0 && this.#mayBegin(tenant)) {
      tenant.running++;
      tenant.waiting.shift()!();
    }
    if (tenant.waiting.length === 0 || tenant.running > 0 || tenant.timer !== null) return;
    tenant.timer = setTimeout(() => {
      tenant.timer = null;
      this.#serve(tenant);
    }, this.#pauseMs(tenant));
  }

  #mayBegin(tenant: Tenant): boolean {
    return tenant.running < this.#limits.atOnceMax && this.#pauseMs(tenant) === 0;
  }

  #pauseMs({ repaidAtMs }: Tenant): number {
    return Math.max(0, Math.ceil(overMs(repaidAtMs, this.#rate, this.#nowMs())));
  }

  #tenantOf(id: string): Tenant {
    const known = this.#tenants.get(id);
    if (known !== undefined) return known;
    if (this.#tenants.size >= REMEMBERED_MAX) this.#forgetIdle();
    const tenant: Tenant = { running: 0, waiting: [], repaidAtMs: 0, timer: null };
    this.#tenants.set(id, tenant);
    return tenant;
  }

  #forgetIdle(): void {
    const nowMs = this.#nowMs();
    for (const [id, { running, waiting, repaidAtMs }] of this.#tenants) {
      if (running === 0 && waiting.length === 0 && repaidAtMs <= nowMs) this.#tenants.delete(id);
    }
  }
}
