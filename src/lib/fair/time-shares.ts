import { debtAfter, overMs, type Rate } from '../rate-debts.ts';
import { WorkTime } from './work-time.ts';

interface TimeShareLimits {
  /** Maximum number of running tasks of one tenant. */
  readonly atOnceMax: number;
  /** Maximum number of waiting tasks of one tenant. Further tasks are refused. */
  readonly waitingMax: number;
  /** Milliseconds of work that an idle tenant can use at once. */
  readonly burstMs: number;
  /** Milliseconds of work per millisecond that a tenant can use after the burst. */
  readonly share: number;
}

/** The tenant already has `waitingMax` waiting tasks. */
export class ShareBusyError extends Error {
  /** Time in milliseconds until the tenant's share allows more work; 0 if the tenant waits only for its own running tasks. */
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
  /** When the tenant's share covers all its previous work. */
  repaidAtMs: number;
  timer: NodeJS.Timeout | null;
}

/** Number of tenants above which idle tenants without debt are forgotten. */
const REMEMBERED_MAX = 10_000;

/**
 * Gives each tenant a share of the time: a token bucket of milliseconds of work. The times of concurrent tasks are added. Time in which a
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

  /** Number of remembered tenants, including some that are idle. */
  get size(): number {
    return this.#tenants.size;
  }

  /** Runs a task when the share and the concurrency limit of its tenant allow it. @throws ShareBusyError */
  async run<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#runInOrder(this.#tenantOf(id), work, this.#limits.waitingMax);
  }

  /** Like `run`, for a further task of work that has started. It is never refused, so the caller must limit the number of such tasks. */
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
      // Lets pending work of other tenants run first.
      if (tenant.waiting.length > 0) setImmediate(() => this.#serve(tenant));
    }
  }

  /** Resolves when the work can start; it then counts as running. */
  #wait(tenant: Tenant): Promise<void> {
    return new Promise<void>((resolve) => {
      tenant.waiting.push(resolve);
      this.#serve(tenant);
    });
  }

  /** Starts the waiting tasks that can run now, and sets a timer for the others. */
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
