import type { Tenant } from '../../lib/fair/shares.ts';

/** Memory and disk space for stored responses. Request bodies use the same budget. Each account has a share of both. */
export interface StoredResponseBudget {
  /** Returns `null` if the account cannot have that much more now. */
  takeMemory(tenant: Tenant, sizeBytes: number): Taken | null;
  /** Returns `null` if the account cannot have that much more now. */
  takeDisk(tenant: Tenant, sizeBytes: number): Taken | null;
}

export interface Taken {
  /** Returns the space to the budget. Further calls have no effect. */
  release(): void;
}

/** Storing a body takes this multiple of its size: chunks, the joined buffer, and the text in a statement, which is twice as long. */
export const STORING_FACTOR = 4;

/** Memory to store the response to one call, reserved when the size of the body is known. */
export class ResponseMemory {
  readonly #budget: StoredResponseBudget;
  readonly #tenant: Tenant;
  readonly #taken: Taken[] = [];
  #bodyBytes = 0;
  /** Users of the memory: the call itself, and each operation that stores the response. */
  #users = 1;

  constructor(budget: StoredResponseBudget, tenant: Tenant) {
    this.#budget = budget;
    this.#tenant = tenant;
  }

  /** Reserves memory for a body. Returns false if there is not enough; earlier reservations stay. */
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

  /** Each user must call this once. The last call returns the memory to the budget. */
  release(): void {
    this.#users--;
    if (this.#users === 0) for (const taken of this.#taken) taken.release();
  }
}
