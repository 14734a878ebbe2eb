export interface Tenant {
  readonly accountId: string;
  /** Whether the gateway has no other account. Read whenever an amount is taken, because this can change. */
  readonly isOnlyAccount: boolean;
}

export interface Share {
  readonly amount: number;
  /** Returns false, and takes nothing, if the account cannot have this amount now. */
  grow(amount: number): boolean;
  shrink(amount: number): void;
  /** Idempotent. The share cannot grow afterwards. */
  release(): void;
}

/**
 * Divides a capacity between accounts, such as connections, places in a queue, or bytes. Only accounts that have less than an eighth can
 * use the last eighth. One heavy account therefore cannot block the others. A gateway's only account can use
 * everything.
 */
export class Shares {
  #capacity: number;
  #used = 0;
  readonly #held = new Map<string, number>();
  readonly #onFreed: (() => void) | null;

  constructor(capacity: number, onFreed: (() => void) | null = null) {
    this.#capacity = capacity;
    this.#onFreed = onFreed;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** If the capacity is less than the amount in use, nothing is granted until enough has been returned. */
  set capacity(capacity: number) {
    this.#capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  takenBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0;
  }

  /** Returns `null` if the account cannot have the amount now. */
  take(tenant: Tenant, amount: number): Share | null {
    return this.grant(tenant, amount) ? new HeldShare(this, tenant, amount) : null;
  }

  mayTake(tenant: Tenant, amount: number): boolean {
    const usedAfter = this.#used + amount;
    if (usedAfter > this.#capacity) return false;
    // Rounded up, so that the last unit of a small capacity can be taken.
    const eighth = Math.ceil(this.#capacity / 8);
    if (usedAfter <= this.#capacity - eighth || tenant.isOnlyAccount) return true;
    return this.takenBy(tenant.accountId) + amount <= eighth;
  }

  /** For `HeldShare`. Returns false if the account cannot have the amount now. */
  grant(tenant: Tenant, amount: number): boolean {
    if (!this.mayTake(tenant, amount)) return false;
    this.#used += amount;
    this.#held.set(tenant.accountId, this.takenBy(tenant.accountId) + amount);
    return true;
  }

  /** For `HeldShare`. */
  giveBack({ accountId }: Tenant, amount: number): void {
    const held = this.takenBy(accountId) - amount;
    this.#used -= amount;
    if (held === 0) this.#held.delete(accountId);
    else this.#held.set(accountId, held);
    this.#onFreed?.();
  }
}

class HeldShare implements Share {
  readonly #shares: Shares;
  readonly #tenant: Tenant;
  #amount: number;
  #isReleased = false;

  constructor(shares: Shares, tenant: Tenant, amount: number) {
    this.#shares = shares;
    this.#tenant = tenant;
    this.#amount = amount;
  }

  get amount(): number {
    return this.#amount;
  }

  grow(amount: number): boolean {
    if (this.#isReleased || !this.#shares.grant(this.#tenant, amount)) return false;
    this.#amount += amount;
    return true;
  }

  shrink(amount: number): void {
    const given = Math.min(amount, this.#amount);
    this.#amount -= given;
    this.#shares.giveBack(this.#tenant, given);
  }

  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.shrink(this.#amount);
  }
}
