import { GatewayError } from '../errors/gateway-error.ts';
import { type Share, Shares, type Tenant } from '../lib/fair/shares.ts';
import { UnsentBudget, type UnsentMemory } from '../lib/fair/unsent-memory.ts';

/** Limits of the memory and the disk space that all bodies together can use. */
export interface BodyBudgetLimits {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** The account that sends a body. */
export type BodyTenant = Tenant;

/** A body is large if it is encoded or has more bytes than this. */
export const LARGE_BODY_BYTES = 1024 * 1024;

/** The fraction of the memory that large bodies can use; the remainder is reserved for small ones. */
const LARGE_PART = 3 / 4;

/**
 * Divides memory and disk space for bodies between accounts, as `Shares` describes. Large bodies and responses together have at most three
 * quarters of the memory, so that some always remains for small requests.
 */
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

  /** Changes the limits. Space that is already allocated stays allocated. */
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

  /** Takes memory from the share for large bodies; returns `null` if the account cannot have it now. */
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

  /** Takes disk space; returns `null` if the account cannot have it now. */
  takeDisk(tenant: BodyTenant, sizeBytes: number): { release(): void } | null {
    return this.#disk.take(tenant, sizeBytes);
  }

  /** Creates an object that tracks the memory of the unsent bytes of one response. */
  unsentOf(tenant: BodyTenant): UnsentMemory {
    return this.#unsent.of(tenant);
  }

  /** Takes memory for a small body. @throws GatewayError `overloaded` if there is none. */
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

/** The space that one body occupies in memory or on disk. */
export class BodySpace {
  readonly #shares: Shares;
  readonly #tenant: BodyTenant;
  #share: Share | null = null;

  constructor(shares: Shares, tenant: BodyTenant) {
    this.#shares = shares;
    this.#tenant = tenant;
  }

  /**
   * Grows or shrinks the space to this number of bytes.
   *
   * @throws GatewayError `overloaded` if there is not enough; the previous space stays allocated.
   */
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

  /** Frees all space. May be called again; `need` may be called after it. */
  release(): void {
    this.#share?.release();
    this.#share = null;
  }
}

/** The memory that one body occupies. */
export class BodyMemory {
  readonly #all: BodySpace;
  readonly #large: BodySpace;
  #isLarge = false;

  constructor(memory: Shares, largeMemory: Shares, tenant: BodyTenant) {
    this.#all = new BodySpace(memory, tenant);
    this.#large = new BodySpace(largeMemory, tenant);
  }

  /**
   * Like `BodySpace.need`. A body that was large once remains large.
   *
   * @throws GatewayError `overloaded`.
   */
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

/**
 * The smallest possible limits of memory and disk space, as multiples of the largest body. A body of unknown length temporarily needs twice
 * its size in memory, while its blocks are joined.
 */
export const LARGEST_IN_MEMORY = 4;
export const LARGEST_ON_DISK = 2;

const DEFAULT_MEMORY_PART = 1 / 4;
const DEFAULT_DISK_PART = 1 / 2;
const DEFAULT_DISK_BYTES_MAX = 8 * 2 ** 30;

/** A quarter of the memory that the process can use, but at least enough for the largest bodies. */
export function defaultBodyMemoryBytes(availableBytes: number, bodyLimitBytes: number): number {
  return Math.max(Math.floor(availableBytes * DEFAULT_MEMORY_PART), LARGEST_IN_MEMORY * bodyLimitBytes);
}

/** Half of the free disk space, and at most 8 GiB. */
export function defaultUploadDiskBytes(freeBytes: number): number {
  return Math.min(Math.floor(freeBytes * DEFAULT_DISK_PART), DEFAULT_DISK_BYTES_MAX);
}
