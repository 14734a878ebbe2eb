import { FairQueue } from './fair-queue.ts';

interface SlotLimits {
  readonly slotsMax: number;
  /** Maximum number of slots for all tenants together; absent: all. The others are for work without a tenant. */
  readonly tenantsSlotsMax?: number;
  /** Maximum number of slots for one tenant; absent: `tenantsSlotsMax`. */
  readonly tenantSlotsMax?: number;
}

interface TenantWork {
  running: number;
  waiting: number;
}

interface Waiter {
  readonly tenant: string;
  readonly begin: () => void;
}

/**
 * Limits how much work runs concurrently. Tenants are served in turn. Work without a tenant (`null`), such as an operator's, comes first.
 * The queue is unlimited.
 */
export class FairSlots {
  readonly #slotsMax: number;
  readonly #tenantsSlotsMax: number;
  readonly #tenantSlotsMax: number;
  readonly #waiting: (() => void)[] = [];
  readonly #tenantsWaiting = new FairQueue<Waiter>();
  readonly #tenants = new Map<string, TenantWork>();
  #running = 0;
  #tenantsRunning = 0;

  constructor({ slotsMax, tenantsSlotsMax = slotsMax, tenantSlotsMax = tenantsSlotsMax }: SlotLimits) {
    this.#slotsMax = slotsMax;
    this.#tenantsSlotsMax = tenantsSlotsMax;
    this.#tenantSlotsMax = tenantSlotsMax;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#waiting.length + this.#tenantsWaiting.size;
  }

  get tenantsWaiting(): number {
    return this.#tenantsWaiting.size;
  }

  waitingOf(tenant: string | null): number {
    return tenant === null ? this.#waiting.length : (this.#tenants.get(tenant)?.waiting ?? 0);
  }

  /** Whether `enter` would return a slot without waiting. */
  hasSlotFor(tenant: string | null): boolean {
    if (this.#running >= this.#slotsMax) return false;
    if (tenant === null) return true;
    const running = this.#tenants.get(tenant)?.running ?? 0;
    return this.#tenantsRunning < this.#tenantsSlotsMax && running < this.#tenantSlotsMax;
  }

  /** Takes a slot, which `leave` frees. Returns `null` if a slot was free, otherwise a promise that resolves when the caller gets one. */
  enter(tenant: string | null): Promise<void> | null {
    if (this.hasSlotFor(tenant)) {
      this.#take(tenant);
      return null;
    }
    return new Promise((begin) => {
      if (tenant === null) {
        this.#waiting.push(begin);
        return;
      }
      this.#workOf(tenant).waiting++;
      this.#tenantsWaiting.push(tenant, { tenant, begin });
    });
  }

  leave(tenant: string | null): void {
    this.#running--;
    if (tenant !== null) {
      this.#tenantsRunning--;
      const work = this.#workOf(tenant);
      work.running--;
      if (work.running === 0 && work.waiting === 0) this.#tenants.delete(tenant);
    }
    this.#passOn();
  }

  /** Gives a slot that has become free to at most one waiting caller. */
  #passOn(): void {
    if (this.#waiting.length > 0 && this.hasSlotFor(null)) {
      this.#take(null);
      this.#waiting.shift()!();
      return;
    }
    const next = this.#tenantsWaiting.shift(({ tenant }) => this.hasSlotFor(tenant));
    if (next === undefined) return;
    this.#workOf(next.tenant).waiting--;
    this.#take(next.tenant);
    next.begin();
  }

  #take(tenant: string | null): void {
    this.#running++;
    if (tenant === null) return;
    this.#tenantsRunning++;
    this.#workOf(tenant).running++;
  }

  #workOf(tenant: string): TenantWork {
    let work = this.#tenants.get(tenant);
    if (work === undefined) {
      work = { running: 0, waiting: 0 };
      this.#tenants.set(tenant, work);
    }
    return work;
  }
}
