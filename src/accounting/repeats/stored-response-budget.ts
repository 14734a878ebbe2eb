import type { Tenant } from '../../lib/fair/shares.ts';

/** Memory and disk space for stored responses, shared with request bodies. Each account has a share of both. */
export interface StoredResponseBudget {
  /** Returns `null` if the account cannot have that much more now. */
  takeMemory(tenant: Tenant, sizeBytes: number): Taken | null;
  /** Returns `null` if the account cannot have that much more now. */
  takeDisk(tenant: Tenant, sizeBytes: number): Taken | null;
}

export interface Taken {
  /** Further calls have no effect. */
  release(): void;
}

/** Storing a body needs a multiple of its size: the chunks, the joined buffer, and the text in a statement, which is twice as long. */
export const STORING_FACTOR = 4;

/** Memory to store the response to one call, reserved when the size of the body is known. */
export class ResponseMemory {
  readonly #budget: StoredResponseBudget;
  readonly #tenant: Tenant;
  readonly #taken: Taken[] = [];
  #bodyBytes = 0;
  /** The call itself, and each operation that stores the response. */
  #users = 1;

  constructor(budget: StoredResponseBudget, tenant: Tenant) {
    this.#budget = budget;
    this.#tenant = tenant;
  }

  /** Reserves memory for a body of this size. Returns false if there is not enough; earlier reservations stay. */
  take(bodyBytes: number): boolean {
    const more = bodyBytes - this.#bodyBytes;
    if (more <= 0) return true;
    const taken = this.#budget.takeMemory(this.#tenant, more * STORING_FACTOR);
    if (taken === null) return false;
    this.#taken.push(taken);
    this.#bodyBytes = bodyBytes;
    return true;
  }

  use(): void {
    this.#users++;
  }

  /** Call once per user. The last call returns the memory to the budget. */
  release(): void {
    this.#users--;
    if (this.#users === 0) for (const taken of this.#taken) taken.release();
  }
}
