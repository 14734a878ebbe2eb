import type { Share, Shares, Tenant } from './shares.ts';

/** Up to this size, a response is not counted, because the buffer of a socket can hold it. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Up to this many unsent bytes, a response never waits: each connection needs them for relaying. */
const WITHOUT_WAIT_BYTES = 128 * 1024;

/**
 * Limits the memory for unsent bytes of responses: those that the client has not read, or that are not metered yet. Once the budget is
 * exceeded, the gateway stops reading responses from providers; bytes that it already has do not reduce the shares of other accounts. To
 * avoid a deadlock, one waiting response at a time may exceed the budget until it returns its memory.
 */
export class UnsentBudget {
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  readonly #waiting = new Map<UnsentMemory, () => void>();
  /** The response that currently may exceed the budget; `null`: none. */
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

  /** Bytes of all responses for which no share was available. */
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
    // Later than the caller, because a resumed response changes the same shares.
    queueMicrotask(() => {
      this.#isWaking = false;
      for (const [memory, onFreed] of this.#waiting) {
        if (!this.#mayContinue(memory)) continue;
        this.#waiting.delete(memory);
        onFreed();
      }
    });
  }

  /** Whether more of a response may be read. If not, `onFreed` is called once it may. */
  mayGoOn(memory: UnsentMemory, onFreed: () => void): boolean {
    if (this.#mayContinue(memory)) return true;
    this.#waiting.set(memory, onFreed);
    return false;
  }

  /** Call this when a response no longer needs to exceed the budget. */
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

export class UnsentMemory {
  readonly #budget: UnsentBudget;
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  readonly #tenant: Tenant;
  #shares: readonly [Share, Share] | null = null;
  /** Bytes of this response for which no share was available. */
  #beyondBytes = 0;
  #isReleased = false;

  constructor(budget: UnsentBudget, memory: Shares, largeMemory: Shares, tenant: Tenant) {
    this.#budget = budget;
    this.#memory = memory;
    this.#largeMemory = largeMemory;
    this.#tenant = tenant;
  }

  /** Sets the number of unsent bytes. Returns false if they exceed the budget. */
  hold(sizeBytes: number): boolean {
    const isUncounted = sizeBytes <= UNCOUNTED_BYTES && this.#shares === null && this.#beyondBytes === 0;
    if (isUncounted || this.#isReleased) return true;
    if (sizeBytes <= WITHOUT_WAIT_BYTES) this.#budget.stopExceeding(this);
    const more = sizeBytes - (this.#shares?.[0].amount ?? 0);
    if (more < 0) for (const share of this.#shares!) share.shrink(-more);
    this.#setBeyond(Math.max(more, 0));
    return this.takeShares();
  }

  /** Tries to take shares for the bytes without one. Returns whether all bytes have one now. */
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

  /** Whether more of the response may be read from the provider. If not, `onFreed` is called once it may. */
  mayGoOn(onFreed: () => void): boolean {
    const sizeBytes = (this.#shares?.[0].amount ?? 0) + this.#beyondBytes;
    return sizeBytes <= WITHOUT_WAIT_BYTES || this.#budget.mayGoOn(this, onFreed);
  }

  /** Call this when nothing more is read from the provider. */
  stopWaiting(): void {
    this.#budget.stopWaiting(this);
  }

  /** Returns all memory. From then on, nothing is counted. May be called repeatedly. */
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
