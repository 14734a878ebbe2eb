import type { ShareHolder } from '../../lib/fair/shares.ts';

/** Memory and disk that stored responses share with the bodies of requests, each account with its share. */
export interface StoredResponseBudget {
  /** `null` if there is none for this account now. */
  takeMemory(holder: ShareHolder, sizeBytes: number): Taken | null;
  /** As `takeMemory`, of the disk. */
  takeDisk(holder: ShareHolder, sizeBytes: number): Taken | null;
}

export interface Taken {
  /** May be called again. */
  release(): void;
}

/**
 * What a body takes while it is stored or read, as a multiple of its size: as it came, as one piece, and as text for a
 * statement or the journal, which is twice as long.
 */
export const STORING_FACTOR = 4;

/** The memory of the response of one claim, taken when it is known how large the body is. */
export class ResponseMemory {
  readonly #budget: StoredResponseBudget;
  readonly #holder: ShareHolder;
  readonly #taken: Taken[] = [];
  #bodyBytes = 0;
  /** The claim itself, and what stores the response: until they are done, the body is in memory. */
  #users = 1;

  constructor(budget: StoredResponseBudget, holder: ShareHolder) {
    this.#budget = budget;
    this.#holder = holder;
  }

  /** Takes what a body of this size needs, and returns whether it was there; what was taken before stays taken. */
  take(bodyBytes: number): boolean {
    const more = bodyBytes - this.#bodyBytes;
    if (more <= 0) return true;
    const taken = this.#budget.takeMemory(this.#holder, more * STORING_FACTOR);
    if (taken === null) return false;
    this.#taken.push(taken);
    this.#bodyBytes = bodyBytes;
    return true;
  }

  use(): void {
    this.#users++;
  }

  /** Gives the memory back when nobody uses it any more. */
  release(): void {
    this.#users--;
    if (this.#users === 0) for (const taken of this.#taken) taken.release();
  }
}
