export interface Tenant {
  readonly accountId: string;
  /** Whether the gateway has no other account. It is read again for every amount, because this can change. */
  readonly isOnlyAccount: boolean;
}

export interface Share {
  readonly amount: number;
  /** Takes a further amount. Returns false, and takes nothing, if the account cannot have it now. */
  grow(amount: number): boolean;
  shrink(amount: number): void;
  /** Returns the whole share, which cannot grow afterwards. May be called repeatedly. */
  release(): void;
}

/**
 * Divides a capacity between accounts, such as connections, places in a queue, or bytes. The last eighth is only for accounts that have
 * less than an eighth. So one account with much demand cannot block the others. The only account of a gateway can use everything.
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

  /** Changes the capacity. If less than this is free, nothing is granted until enough has been returned. */
  set capacity(capacity: number) {
    this.#capacity = capacity;
  }

  get used(): number {
    return this.#used;
  }

  takenBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0;
  }

  /** Takes an amount; `null` if the account cannot have it now. */
  take(tenant: Tenant, amount: number): Share | null {
    return this.grant(tenant, amount) ? new HeldShare(this, tenant, amount) : null;
  }

  mayTake(tenant: Tenant, amount: number): boolean {
    const usedAfter = this.#used + amount;
    if (usedAfter > this.#capacity) return false;
    // Rounded up, so that an account can take the last unit of a small capacity.
    const eighth = Math.ceil(this.#capacity / 8);
    if (usedAfter <= this.#capacity - eighth || tenant.isOnlyAccount) return true;
    return this.takenBy(tenant.accountId) + amount <= eighth;
  }

  /** Takes an amount for `HeldShare`. Returns false if the account cannot have it now. */
  grant(tenant: Tenant, amount: number): boolean {
    if (!this.mayTake(tenant, amount)) return false;
    this.#used += amount;
    this.#held.set(tenant.accountId, this.takenBy(tenant.accountId) + amount);
    return true;
  }

  /** Returns an amount of `HeldShare`. */
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
