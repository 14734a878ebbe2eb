import type { Tenant } from '../../lib/fair/shares.ts';

/** Memory and disk space for stored responses, shared with request bodies. Each account has a share. */
export interface StoredResponseBudget {
  /** Returns `null` if the account cannot have more now. */
  takeMemory(tenant: Tenant, sizeBytes: number): Taken | null;
  takeDisk(tenant: Tenant, sizeBytes: number): Taken | null;
}

export interface Taken {
  /** May be called repeatedly. */
  release(): void;
}

/**
 * Memory that is needed to store a body, as a multiple of its size: the chunks, the joined buffer, and the text in a statement, which is twice as
 * long.
 */
export const STORING_FACTOR = 4;

/** The memory of one claim's response, taken once the size of the body is known. */
export class ResponseMemory {
  readonly #budget: StoredResponseBudget;
  readonly #tenant: Tenant;
  readonly #taken: Taken[] = [];
  #bodyBytes = 0;
  /** Number of users of the body: the claim itself, and whatever stores the response. */
  #users = 1;

  constructor(budget: StoredResponseBudget, tenant: Tenant) {
    this.#budget = budget;
    this.#tenant = tenant;
  }

  /** Takes memory for a body of this size; returns false if none is available. Memory that was taken before is kept. */
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

  /** Returns the memory once the last user releases it. */
  release(): void {
    this.#users--;
    if (this.#users === 0) for (const taken of this.#taken) taken.release();
  }
}
