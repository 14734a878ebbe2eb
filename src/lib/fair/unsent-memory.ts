import type { Share, Shares, Tenant } from './shares.ts';

/** A response of up to this size is not counted: the buffer of a socket can hold it. */
const UNCOUNTED_BYTES = 16 * 1024;
/** A response of up to this size never waits: each connection needs that much to relay at all. */
const WITHOUT_WAIT_BYTES = 128 * 1024;

/**
 * The memory of unsent bytes of responses: their clients do not read, or the bytes are kept until they are metered. Bytes that have arrived
 * and exceed the budget take no share, so that other accounts keep theirs, but the gateway stops reading that response from its provider. To
 * avoid a deadlock of responses that wait for each other, one waiting response at a time may exceed the budget until it releases its memory.
 */
export class UnsentBudget {
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  /** The waiting responses, in the order of arrival. */
  readonly #waiting = new Map<UnsentMemory, () => void>();
  /** The response that may exceed the budget. */
  #beyond: UnsentMemory | null = null;
  #beyondBytes = 0;
  #isWaking = false;

  constructor(memory: Shares, largeMemory: Shares) {
    this.#memory = memory;
    this.#largeMemory = largeMemory;
  }

  of(tenant: Tenant): UnsentMemory {
    return new UnsentMemory(this, this.#memory, this.#largeMemory, tenant);
  }

  /** The bytes that exceed the shares. */
  get beyondBytes(): number {
    return this.#beyondBytes;
  }

  countBeyond(beyondBytes: number): void {
    this.#beyondBytes += beyondBytes;
  }

  /** Call this when memory was returned. */
  freed(): void {
    if (this.#waiting.size === 0 || this.#isWaking) return;
    this.#isWaking = true;
    // After the caller has finished: a resumed response changes the same shares.
    queueMicrotask(() => {
      this.#isWaking = false;
      for (const [memory, onFreed] of this.#waiting) {
        if (!this.#mayContinue(memory)) continue;
        this.#waiting.delete(memory);
        onFreed();
      }
    });
  }

  /** Whether more of a response may be read; if not, `onFreed` runs when it may. */
  mayGoOn(memory: UnsentMemory, onFreed: () => void): boolean {
    if (this.#mayContinue(memory)) return true;
    this.#waiting.set(memory, onFreed);
    return false;
  }

  /** Call this when the response no longer needs to exceed the budget. */
  stopExceeding(memory: UnsentMemory): void {
    if (this.#beyond !== memory) return;
    this.#beyond = null;
    this.freed();
  }

  stopWaiting(memory: UnsentMemory): void {
    this.#waiting.delete(memory);
  }

  #mayContinue(memory: UnsentMemory): boolean {
    if (this.#beyond === memory || memory.takeShares()) return true;
    if (this.#beyond !== null) return false;
    this.#beyond = memory;
    return true;
  }
}

/** The memory of one response. */
export class UnsentMemory {
  readonly #budget: UnsentBudget;
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  readonly #tenant: Tenant;
  #shares: readonly [Share, Share] | null = null;
  /** The bytes that exceed the shares. */
  #beyondBytes = 0;
  #isReleased = false;

  constructor(budget: UnsentBudget, memory: Shares, largeMemory: Shares, tenant: Tenant) {
    this.#budget = budget;
    this.#memory = memory;
    this.#largeMemory = largeMemory;
    this.#tenant = tenant;
  }

  /** Sets the number of unsent bytes. Returns whether the budget covers them. */
  hold(sizeBytes: number): boolean {
    const isUncounted = sizeBytes <= UNCOUNTED_BYTES && this.#shares === null && this.#beyondBytes === 0;
    if (isUncounted || this.#isReleased) return true;
    if (sizeBytes <= WITHOUT_WAIT_BYTES) this.#budget.stopExceeding(this);
    const more = sizeBytes - (this.#shares?.[0].amount ?? 0);
    if (more < 0) for (const share of this.#shares!) share.shrink(-more);
    this.#setBeyond(Math.max(more, 0));
    return this.takeShares();
  }

  /** Tries to take shares for the bytes beyond them. Returns whether all bytes have shares. */
  takeShares(): boolean {
    const more = this.#beyondBytes;
    if (more === 0) return true;
    const tenant = this.#tenant;
    if (!this.#memory.mayTake(tenant, more) || !this.#largeMemory.mayTake(tenant, more)) return false;
    if (this.#shares === null) {
      this.#shares = [this.#memory.take(tenant, more)!, this.#largeMemory.take(tenant, more)!];
    } else {
      for (const share of this.#shares) share.grow(more);
    }
    this.#setBeyond(0);
    return true;
  }

  get isCounted(): boolean {
    return this.#shares !== null || this.#beyondBytes > 0;
  }

  /** Whether more of the response may be read from the provider; if not, `onFreed` runs when it may. */
  mayGoOn(onFreed: () => void): boolean {
    const sizeBytes = (this.#shares?.[0].amount ?? 0) + this.#beyondBytes;
    return sizeBytes <= WITHOUT_WAIT_BYTES || this.#budget.mayGoOn(this, onFreed);
  }

  /** Call this when nothing more is read from the provider. */
  stopWaiting(): void {
    this.#budget.stopWaiting(this);
  }

  /** Returns all memory. May be called again; nothing is counted after it. */
  release(): void {
    this.#isReleased = true;
    if (!this.isCounted) return;
    this.#budget.stopWaiting(this);
    this.#setBeyond(0);
    for (const share of this.#shares ?? []) share.release();
    this.#shares = null;
    this.#budget.stopExceeding(this);
  }

  #setBeyond(sizeBytes: number): void {
    this.#budget.countBeyond(sizeBytes - this.#beyondBytes);
    this.#beyondBytes = sizeBytes;
  }
}
