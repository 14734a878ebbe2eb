import { GatewayError } from '../errors/gateway-error.ts';
import { type Share, type ShareHolder, Shares } from '../lib/fair/shares.ts';
import { UnsentBudget, type UnsentMemory } from '../lib/fair/unsent-memory.ts';

/** The memory and disk that all bodies together may take. */
export interface BodyBudgetLimits {
  readonly memoryBytes: number;
  readonly diskBytes: number;
}

/** The account of a body. */
export type BodyHolder = ShareHolder;

/** Beyond this size a body is large, and so is any body that has to be decoded. */
export const LARGE_BODY_BYTES = 1024 * 1024;

/** Of the memory; the rest is for small bodies. */
const LARGE_PART = 3 / 4;

/**
 * The memory and the disk that all bodies share, each account with the share that `Shares` gives it. Large bodies, and all
 * responses, have three quarters of the memory at most, so that they never keep small requests out.
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

  /** Space that is taken already stays taken. */
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

  /** Memory for what is no body but as large, counted as that of a large one; `null` if there is none for this account now. */
  takeMemory(holder: BodyHolder, sizeBytes: number): { release(): void } | null {
    const large = this.#largeMemory.take(holder, sizeBytes);
    if (large === null) return null;
    const all = this.#memory.take(holder, sizeBytes);
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

  /** As `takeMemory`, of the disk. */
  takeDisk(holder: BodyHolder, sizeBytes: number): { release(): void } | null {
    return this.#disk.take(holder, sizeBytes);
  }

  /** The memory of a response of which not all can be sent. */
  unsentOf(holder: BodyHolder): UnsentMemory {
    return this.#unsent.of(holder);
  }

  /** @throws GatewayError `overloaded` if there is no memory for a small body. */
  takeSmall(holder: BodyHolder, sizeBytes: number): Share {
    const share = this.#memory.take(holder, sizeBytes);
    if (share === null) throw overloaded();
    return share;
  }

  memoryOf(holder: BodyHolder): BodyMemory {
    return new BodyMemory(this.#memory, this.#largeMemory, holder);
  }

  diskOf(holder: BodyHolder): BodySpace {
    return new BodySpace(this.#disk, holder);
  }
}

/** An amount of one capacity that follows what a body needs. */
export class BodySpace {
  readonly #shares: Shares;
  readonly #holder: BodyHolder;
  #share: Share | null = null;

  constructor(shares: Shares, holder: BodyHolder) {
    this.#shares = shares;
    this.#holder = holder;
  }

  /**
   * Takes what is missing up to this number of bytes, and gives back what is beyond it.
   *
   * @throws GatewayError `overloaded` if there is not enough; space that was taken before stays taken.
   */
  need(sizeBytes: number): void {
    const more = sizeBytes - (this.#share?.amount ?? 0);
    if (more <= 0) {
      this.#share?.shrink(-more);
    } else if (this.#share === null) {
      this.#share = this.#shares.take(this.#holder, more);
      if (this.#share === null) throw overloaded();
    } else if (!this.#share.grow(more)) {
      throw overloaded();
    }
  }

  /** Gives everything back. May be called again; `need` takes anew after it. */
  release(): void {
    this.#share?.release();
    this.#share = null;
  }
}

/** The memory of one body. */
export class BodyMemory {
  readonly #all: BodySpace;
  readonly #large: BodySpace;
  #isLarge = false;

  constructor(memory: Shares, largeMemory: Shares, holder: BodyHolder) {
    this.#all = new BodySpace(memory, holder);
    this.#large = new BodySpace(largeMemory, holder);
  }

  /**
   * As `need` of one space, if the body counts as large or not: once it does, it always does.
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

/** The largest bodies that memory and disk have room for at least: of one whose length is not known, as it comes and as one piece. */
export const LARGEST_IN_MEMORY = 4;
export const LARGEST_ON_DISK = 2;

const DEFAULT_MEMORY_PART = 1 / 4;
const DEFAULT_DISK_PART = 1 / 2;
const DEFAULT_DISK_BYTES_MAX = 8 * 2 ** 30;

/** If nothing is configured: a quarter of the memory that the process may use, and room for two of the largest bodies. */
export function defaultBodyMemoryBytes(availableBytes: number, bodyLimitBytes: number): number {
  return Math.max(Math.floor(availableBytes * DEFAULT_MEMORY_PART), LARGEST_IN_MEMORY * bodyLimitBytes);
}

/** If nothing is configured: half of what is free, and no more than 8 GiB. */
export function defaultUploadDiskBytes(freeBytes: number): number {
  return Math.min(Math.floor(freeBytes * DEFAULT_DISK_PART), DEFAULT_DISK_BYTES_MAX);
}
