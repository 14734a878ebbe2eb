import { GatewayError } from '../errors/gateway-error.ts';
import { type Share, Shares, type Tenant } from '../lib/fair/shares.ts';
import { UnsentBudget, type UnsentMemory } from '../lib/fair/unsent-memory.ts';

/** Limits for all bodies together. */
export interface BodyBudgetLimits {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

export type BodyTenant = Tenant;

/** A body counts as large if it is compressed or has more bytes than this. */
export const LARGE_BODY_BYTES = 1024 * 1024;

/** Share of the memory that large bodies can use. The rest is only for small bodies. */
const LARGE_PART = 3 / 4;

/** Divides memory and disk space for bodies between accounts. `Shares` defines how much a single account can take. */
export class BodyBudgets {
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  readonly #disk: Shares;
  readonly #unsent: UnsentBudget;

  constructor({ memoryBytes, diskBytes }: BodyBudgetLimits) {
    const onFreed = (): void => this.#unsent.freed();
    this.#memory = new Shares(memoryBytes, onFreed);
    this.#largeMemory = new Shares(memoryBytes * LARGE_PART, onFreed);
    this.#disk = new Shares(diskBytes);
    this.#unsent = new UnsentBudget(this.#memory, this.#largeMemory);
  }

  /** Changes the limits. Space that is in use stays in use, even above a smaller limit. */
  change({ memoryBytes, diskBytes }: BodyBudgetLimits): void {
    this.#memory.capacity = memoryBytes;
    this.#largeMemory.capacity = memoryBytes * LARGE_PART;
    this.#disk.capacity = diskBytes;
    this.#unsent.freed();
  }

  get memoryUsedBytes(): number {
    return this.#memory.used + this.#unsent.beyondBytes;
  }

  get diskUsedBytes(): number {
    return this.#disk.used;
  }

  get limits(): BodyBudgetLimits {
    return { memoryBytes: this.#memory.capacity, diskBytes: this.#disk.capacity };
  }

  /** Takes memory for a large body or response; `null` if the account cannot have it now. */
  takeMemory(tenant: BodyTenant, sizeBytes: number): { release(): void } | null {
    const large = this.#largeMemory.take(tenant, sizeBytes);
    if (large === null) return null;
    const all = this.#memory.take(tenant, sizeBytes);
    if (all === null) {
      large.release();
      return null;
    }
    return {
      release() {
        large.release();
        all.release();
      },
    };
  }

  takeDisk(tenant: BodyTenant, sizeBytes: number): { release(): void } | null {
    return this.#disk.take(tenant, sizeBytes);
  }

  unsentOf(tenant: BodyTenant): UnsentMemory {
    return this.#unsent.of(tenant);
  }

  /** Takes memory for a small body. @throws GatewayError `overloaded` if there is none */
  takeSmall(tenant: BodyTenant, sizeBytes: number): Share {
    const share = this.#memory.take(tenant, sizeBytes);
    if (share === null) throw overloaded();
    return share;
  }

  memoryOf(tenant: BodyTenant): BodyMemory {
    return new BodyMemory(this.#memory, this.#largeMemory, tenant);
  }

  diskOf(tenant: BodyTenant): BodySpace {
    return new BodySpace(this.#disk, tenant);
  }
}

export class BodySpace {
  readonly #shares: Shares;
  readonly #tenant: BodyTenant;
  #share: Share | null = null;

  constructor(shares: Shares, tenant: BodyTenant) {
    this.#shares = shares;
    this.#tenant = tenant;
  }

  /** Changes the size of the space. @throws GatewayError `overloaded` if there is not enough; the space then keeps its size */
  need(sizeBytes: number): void {
    const more = sizeBytes - (this.#share?.amount ?? 0);
    if (more <= 0) {
      this.#share?.shrink(-more);
    } else if (this.#share === null) {
      this.#share = this.#shares.take(this.#tenant, more);
      if (this.#share === null) throw overloaded();
    } else if (!this.#share.grow(more)) {
      throw overloaded();
    }
  }

  /** Returns the space; `need` can take it again. May be called repeatedly. */
  release(): void {
    this.#share?.release();
    this.#share = null;
  }
}

export class BodyMemory {
  readonly #all: BodySpace;
  readonly #large: BodySpace;
  #isLarge = false;

  constructor(memory: Shares, largeMemory: Shares, tenant: BodyTenant) {
    this.#all = new BodySpace(memory, tenant);
    this.#large = new BodySpace(largeMemory, tenant);
  }

  /** See `BodySpace.need`. A body that was large once stays large. */
  need(sizeBytes: number, isLarge = this.#isLarge): void {
    this.#isLarge ||= isLarge;
    if (this.#isLarge) this.#large.need(sizeBytes);
    this.#all.need(sizeBytes);
  }

  release(): void {
    this.#all.release();
    this.#large.release();
  }
}

function overloaded(): GatewayError {
  return new GatewayError('overloaded', { headers: { 'retry-after': '2' } });
}

/** Minimum sizes of the memory and disk budgets, in bodies of the maximum size. Joining a body of unknown length takes twice its size. */
export const LARGEST_IN_MEMORY = 4;
export const LARGEST_ON_DISK = 2;

const DEFAULT_MEMORY_PART = 1 / 4;
const DEFAULT_DISK_PART = 1 / 2;
const DEFAULT_DISK_BYTES_MAX = 8 * 2 ** 30;

export function defaultBodyMemoryBytes(availableBytes: number, bodyLimitBytes: number): number {
  return Math.max(Math.floor(availableBytes * DEFAULT_MEMORY_PART), LARGEST_IN_MEMORY * bodyLimitBytes);
}

export function defaultUploadDiskBytes(freeBytes: number): number {
  return Math.min(Math.floor(freeBytes * DEFAULT_DISK_PART), DEFAULT_DISK_BYTES_MAX);
}
