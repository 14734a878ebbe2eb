import { debtAfter, overMs, type Rate } from '../rate-debts.ts';
import { WorkTime } from './work-time.ts';

interface TimeShareLimits {
  /** Pieces of work of one tenant that run at a time. */
  readonly atOnceMax: number;
  /** Pieces of work of one tenant that may wait; further ones are refused. */
  readonly waitingMax: number;
  /** Milliseconds of work that an idle tenant may use at once. */
  readonly burstMs: number;
  /** Milliseconds of work per millisecond after that. */
  readonly share: number;
}

/** A tenant already has `waitingMax` pieces of work waiting. */
export class ShareBusyError extends Error {
  /** How long the tenant must wait for its share; 0 if only its running work delays it. */
  readonly pauseMs: number;

  constructor(pauseMs: number) {
    super('too much work of this tenant is waiting');
    this.name = 'ShareBusyError';
    this.pauseMs = pauseMs;
  }
}

interface Tenant {
  running: number;
  readonly waiting: (() => void)[];
  /** When the tenant's share has covered all its work. */
  repaidAtMs: number;
  timer: NodeJS.Timeout | null;
}

/** Beyond this number of tenants, idle tenants whose work is repaid are forgotten. */
const REMEMBERED_MAX = 10_000;

/**
 * Gives each tenant a share of the time: a token bucket filled with milliseconds of work, so that a tenant with any amount of work leaves
 * time to others. Work reports to its `WorkTime` when it waits for the work of other tenants, which does not count. Concurrent pieces of
 * work each count in full.
 */
export class TimeShares {
  readonly #limits: TimeShareLimits;
  readonly #rate: Rate;
  readonly #nowMs: () => number;
  readonly #tenants = new Map<string, Tenant>();

  /** `nowMs`: a monotonic clock. */
  constructor(limits: TimeShareLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#rate = { burst: limits.burstMs, everyMs: 1 / limits.share };
    this.#nowMs = nowMs;
  }

  /** Tenants that are remembered: all that are active or in debt, and some idle ones. */
  get size(): number {
    return this.#tenants.size;
  }

  /**
   * Runs a piece of work as soon as its tenant's share and concurrency allow it.
   *
   * @throws ShareBusyError
   */
  async run<Result>(id: string, work: (time: WorkTime) => Promise<Result>): Promise<Result> {
    return this.#runInOrder(this.#tenantOf(id), work, this.#limits.waitingMax);
  }

  /** As `run`, for a further piece of started work: it is never refused, and the caller must limit the number of these. */
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
      // Pending work of other tenants runs first.
      if (tenant.waiting.length > 0) setImmediate(() => this.#serve(tenant));
    }
  }

  /** Resolves when the work may begin; it is counted as running from then on. */
  #wait(tenant: Tenant): Promise<void> {
    return new Promise<void>((resolve) => {
      tenant.waiting.push(resolve);
      this.#serve(tenant);
    });
  }

  /** Begins the waiting work that may run now. The rest is tried again after the pause, or when running work ends. */
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
