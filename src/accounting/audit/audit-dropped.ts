import type { FoundBreach } from './audit-findings.ts';

/**
 * The charges of calls whose records were dropped: by account and month they are what was written down when the records were. Entries
 * are summed slice by slice, so they are compared at the end of a range of accounts.
 */

/** Account, month, charges and their sum in nano-yuan, as text. */
export type DroppedCharges = readonly [accountId: string, month: string, charges: string, chargeNano: string];

/** Charges of an account, in a month that records were dropped of. */
interface Charges {
  charges: bigint;
  chargeNano: bigint;
}

interface Months {
  readonly accountId: string;
  readonly month: string;
  readonly written: Charges;
  readonly found: Charges;
}

export class DroppedCheck {
  readonly #months = new Map<string, Months>();

  /** `written`: what was written down of the accounts of a range, all of it. */
  constructor(written: readonly DroppedCharges[]) {
    for (const [accountId, month, charges, chargeNano] of written) {
      this.#months.set(keyOf(accountId, month), {
        accountId,
        month,
        written: { charges: BigInt(charges), chargeNano: BigInt(chargeNano) },
        found: { charges: 0n, chargeNano: 0n },
      });
    }
  }

  add(found: readonly DroppedCharges[]): void {
    for (const [accountId, month, charges, chargeNano] of found) {
      // Dropped since the beginning of the range, which is looked at anew then.
      const of = this.#months.get(keyOf(accountId, month));
      if (of === undefined) continue;
      of.found.charges += BigInt(charges);
      of.found.chargeNano += BigInt(chargeNano);
    }
  }

  findings(): FoundBreach[] {
    return [...this.#months.values()]
      .filter(({ written, found }) => written.charges !== found.charges || written.chargeNano !== found.chargeNano)
      .map(({ accountId, month, written, found }) => ({
        invariant: 'dropped-calls',
        account_id: accountId,
        detail:
          `calls of ${month.slice(0, 7)} that were dropped had ${written.charges} charges of ${written.chargeNano}, the ledger has ` +
          `${found.charges} of ${found.chargeNano}`,
      }));
  }
}

const keyOf = (accountId: string, month: string): string => `${accountId} ${month}`;
