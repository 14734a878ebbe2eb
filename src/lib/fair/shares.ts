/** The account that a share belongs to. */
export interface Tenant {
  readonly accountId: string;
  /** Whether the gateway has no other account. Read each time an amount is taken, because it can change. */
  readonly isOnlyAccount: boolean;
}

/** An amount that an account has taken. */
export interface Share {
  readonly amount: number;
  /** Takes more. Returns false, and takes nothing, if the account cannot have this amount now. */
  grow(amount: number): boolean;
  /** Returns some of the amount. */
  shrink(amount: number): void;
  /** Returns the whole amount. Can be called again; the share cannot grow afterwards. */
  release(): void;
}

/**
 * A capacity that accounts share, such as connections, places in a queue, or bytes. The last eighth is reserved for accounts that have less
 * than an eighth. Thus each of two accounts can always reach an eighth, regardless of the other, and no capacity stays unused because it is
 * reserved for a single account. If the gateway has only one account, that account can use everything.
 */
export class Shares {
  #capacity: number;
  #used = 0;
  readonly #held = new Map<string, number>();
  readonly #onFreed: (() => void) | null;

  /** `onFreed` runs whenever an amount is returned. */
  constructor(capacity: number, onFreed: (() => void) | null = null) {
    this.#capacity = capacity;
    this.#onFreed = onFreed;
  }

  get capacity(): number {
    return this.#capacity;
  }

  /** Sets the capacity. If it is less than the amount in use, nothing is granted until enough has been returned. */
  set capacity(capacity: number) {
    this.#capacity = capacity;
  }

  /** The amount in use by all accounts. */
  get used(): number {
    return this.#used;
  }

  takenBy(accountId: string): number {
    return this.#held.get(accountId) ?? 0;
  }

  /** Takes an amount; returns `null` if the account cannot have it now. */
  take(tenant: Tenant, amount: number): Share | null {
    return this.grant(tenant, amount) ? new HeldShare(this, tenant, amount) : null;
  }

  /** Whether an account can take an amount now. */
  mayTake(tenant: Tenant, amount: number): boolean {
    const usedAfter = this.#used + amount;
    if (usedAfter > this.#capacity) return false;
    // Rounded up, so that the last unit of a small capacity can be taken.
    const eighth = Math.ceil(this.#capacity / 8);
    if (usedAfter <= this.#capacity - eighth || tenant.isOnlyAccount) return true;
    return this.takenBy(tenant.accountId) + amount <= eighth;
  }

  /** Takes an amount on behalf of a share. Returns false if the account cannot have it now. */
  grant(tenant: Tenant, amount: number): boolean {
    if (!this.mayTake(tenant, amount)) return false;
    this.#used += amount;
    this.#held.set(tenant.accountId, this.takenBy(tenant.accountId) + amount);
    return true;
  }

  /** Returns an amount on behalf of a share. */
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
