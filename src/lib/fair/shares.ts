/** The account of a share. */
export interface ShareHolder {
  readonly accountId: string;
  /** Whether there is no other account to share with. It is read anew for every amount. */
  readonly isOnlyAccount: boolean;
}

/** The amount that one holder has taken and not given back. */
export interface Share {
  readonly amount: number;
  /** Takes more; returns false, and takes nothing, if there is none for this account now. */
  grow(amount: number): boolean;
  /** Gives a part back. */
  shrink(amount: number): void;
  /** Gives everything back. May be called again; nothing can be taken after it. */
  release(): void;
}

/**
 * A capacity that accounts share: connections, places in a queue, bytes of memory or of a disk. Shares bind only
 * between accounts: the only account of a gateway may use everything; else the last eighth is for accounts that have
 * less than an eighth. So of two accounts each can always reach an eighth, whatever the other does, and nothing is set
 * aside for accounts that ask for nothing.
 */
export class Shares {
  #capacity: number;
  #used = 0;
  readonly #held = new Map<string, number>();
  readonly #onFreed: (() => void) | null;

  /** `onFreed` runs when something was given back. */
  constructor(capacity: number, onFreed: (() => void) | null = null) {
    this.#capacity = capacity;
    this.#onFreed = onFreed;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** A smaller capacity takes nothing back: the excess has to be given back before anything is granted again. */
  set capacity(capacity: number) {
    this.#capacity = capacity;
  }

  /** By all accounts. */
  get used(): number {
    return this.#used;
  }

  heldBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0;
  }

  /** Takes an amount for an account; `null` if there is none for it now. */
  take(holder: ShareHolder, amount: number): Share | null {
    return this.grant(holder, amount) ? new HeldShare(this, holder, amount) : null;
  }

  /** Whether an account could take an amount now. */
  hasRoomFor(holder: ShareHolder, amount: number): boolean {
    const usedAfter = this.#used + amount;
    if (usedAfter > this.#capacity) return false;
    // Rounded up, so that the last one of a few pieces can be taken.
    const eighth = Math.ceil(this.#capacity / 8);
    if (usedAfter <= this.#capacity - eighth || holder.isOnlyAccount) return true;
    return this.heldBy(holder.accountId) + amount <= eighth;
  }

  /** Grants an amount to a share; returns false if there is none for its account now. */
  grant(holder: ShareHolder, amount: number): boolean {
    if (!this.hasRoomFor(holder, amount)) return false;
    this.#used += amount;
    this.#held.set(holder.accountId, this.heldBy(holder.accountId) + amount);
    return true;
  }

  /** Gives back what was granted to a share. */
  giveBack({ accountId }: ShareHolder, amount: number): void {
    const held = this.heldBy(accountId) - amount;
    this.#used -= amount;
    if (held === 0) this.#held.delete(accountId);
    else this.#held.set(accountId, held);
    this.#onFreed?.();
  }
}

class HeldShare implements Share {
  readonly #shares: Shares;
  readonly #holder: ShareHolder;
  #amount: number;
  #isReleased = false;

  constructor(shares: Shares, holder: ShareHolder, amount: number) {
    this.#shares = shares;
    this.#holder = holder;
    this.#amount = amount;
  }

  get amount(): number {
    return this.#amount;
  }

  grow(amount: number): boolean {
    if (this.#isReleased || !this.#shares.grant(this.#holder, amount)) return false;
    this.#amount += amount;
    return true;
  }

  shrink(amount: number): void {
    const given = Math.min(amount, this.#amount);
    this.#amount -= given;
    this.#shares.giveBack(this.#holder, given);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.shrink(this.#amount);
  }
}
