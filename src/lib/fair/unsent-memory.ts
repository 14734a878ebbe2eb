import type { Share, ShareHolder, Shares } from './shares.ts';

/** Up to this size a response is not counted: a socket takes as much at once. */
const UNCOUNTED_BYTES = 16 * 1024;
/** Up to this size a response never waits for room: it is what a connection needs to relay anything. */
const WITHOUT_WAIT_BYTES = 128 * 1024;

/**
 * The memory of responses of which not all can be sent: because their clients do not read, or because they are kept until
 * they are measured. What has come and has no room takes no share, so that others have theirs, but no more is read from its
 * provider. So that responses which keep room from each other all end, one of those that wait may go on at a time, beyond
 * the budget, until its memory is given back.
 */
export class UnsentBudget {
  readonly #memory: Shares;
  readonly #largeMemory: Shares;
  /** Those that wait for room, the one that has waited longest first. */
  readonly #waiting = new Map<UnsentMemory, () => void>();
  /** The one that goes on without room. */
  #beyond: UnsentMemory | null = null;
  #beyondBytes = 0;
  #isWaking = false;

  constructor(memory: Shares, largeMemory: Shares) {
    this.#memory = memory;
    this.#largeMemory = largeMemory;
  }

  of(holder: ShareHolder): UnsentMemory {
    return new UnsentMemory(this, this.#memory, this.#largeMemory, holder);
  }

  /** What there is beyond the shares. */
  get beyondBytes(): number {
    return this.#beyondBytes;
  }

  counts(beyondBytes: number): void {
    this.#beyondBytes += beyondBytes;
  }

  /** Memory was given back. */
  freed(): void {
    if (this.#waiting.size === 0 || this.#isWaking) return;
    this.#isWaking = true;
    // Behind what has given it back: what goes on takes more of the same shares.
    queueMicrotask(() => {
      this.#isWaking = false;
      for (const [memory, onRoom] of this.#waiting) {
        if (!this.#goesOn(memory)) continue;
        this.#waiting.delete(memory);
        onRoom();
      }
    });
  }

  /** Whether a response may be read on; if not, `onRoom` runs when it may. */
  mayGoOn(memory: UnsentMemory, onRoom: () => void): boolean {
    if (this.#goesOn(memory)) return true;
    this.#waiting.set(memory, onRoom);
    return false;
  }

  /** The response no longer needs to go on beyond the budget. */
  comesBack(memory: UnsentMemory): void {
    if (this.#beyond !== memory) return;
    this.#beyond = null;
    this.freed();
  }

  /** The response does not wait for room any more. */
  stopWaiting(memory: UnsentMemory): void {
    this.#waiting.delete(memory);
  }

  #goesOn(memory: UnsentMemory): boolean {
    if (this.#beyond === memory || memory.findsRoom()) return true;
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
  readonly #holder: ShareHolder;
  #shares: readonly [Share, Share] | null = null;
  /** What there was no room for. */
  #beyondBytes = 0;
  #isReleased = false;

  constructor(budget: UnsentBudget, memory: Shares, largeMemory: Shares, holder: ShareHolder) {
    this.#budget = budget;
    this.#memory = memory;
    this.#largeMemory = largeMemory;
    this.#holder = holder;
  }

  /** Counts what there is now. Returns whether there is room for it. */
  hold(sizeBytes: number): boolean {
    if (this.#isReleased || (!this.isCounted && sizeBytes <= UNCOUNTED_BYTES)) return true;
    if (sizeBytes <= WITHOUT_WAIT_BYTES) this.#budget.comesBack(this);
    const more = sizeBytes - this.#sharedBytes;
    if (more < 0) for (const share of this.#shares!) share.shrink(-more);
    this.#setBeyond(Math.max(more, 0));
    return this.findsRoom();
  }

  /** Takes what there was no room for, if there is now. Returns whether there is room for all. */
  findsRoom(): boolean {
    const more = this.#beyondBytes;
    if (more === 0) return true;
    const holder = this.#holder;
    if (!this.#memory.hasRoomFor(holder, more) || !this.#largeMemory.hasRoomFor(holder, more)) return false;
    if (this.#shares === null) {
      this.#shares = [this.#memory.take(holder, more)!, this.#largeMemory.take(holder, more)!];
    } else {
      for (const share of this.#shares) share.grow(more);
    }
    this.#setBeyond(0);
    return true;
  }

  get isCounted(): boolean {
    return this.#shares !== null || this.#beyondBytes > 0;
  }

  /** Whether more may be read from the provider; if not, `onRoom` runs when it may. */
  mayGoOn(onRoom: () => void): boolean {
    const sizeBytes = this.#sharedBytes + this.#beyondBytes;
    return sizeBytes <= WITHOUT_WAIT_BYTES || this.#budget.mayGoOn(this, onRoom);
  }

  /** Nothing more is read from the provider. */
  stopWaiting(): void {
    this.#budget.stopWaiting(this);
  }

  /** Gives everything back. May be called again; nothing is counted after it. */
  release(): void {
    this.#isReleased = true;
    if (!this.isCounted) return;
    this.#budget.stopWaiting(this);
    this.#setBeyond(0);
    for (const share of this.#shares ?? []) share.release();
    this.#shares = null;
    this.#budget.comesBack(this);
  }

  get #sharedBytes(): number {
    return this.#shares?.[0].amount ?? 0;
  }

  #setBeyond(sizeBytes: number): void {
    this.#budget.counts(sizeBytes - this.#beyondBytes);
    this.#beyondBytes = sizeBytes;
  }
}
