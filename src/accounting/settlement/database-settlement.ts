import type { Questions } from '../../db/questions/database-questions.ts';
import type { EndedCall } from '../calls/call-outcome.ts';
import type { BillingTime } from '../pricing/running-periods.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';
import { ClaimLostError, type StoredResponses } from '../repeats/stored-responses.ts';
import { createAccountBatcher } from '../reservations/locked-accounts.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { SettlementRecord } from './settlement-record.ts';
import type { EndResult, SettlementStore } from './store.ts';

/** What the end of a call is written with. */
interface DatabaseSettlementParts {
  readonly store: Pick<SettlementStore, 'end'>;
  readonly storedResponses: Pick<StoredResponses, 'keep'>;
  readonly reservations: Pick<Reservations, 'ended'>;
  readonly questions: Pick<Questions, 'limit' | 'unlessDown'>;
  readonly time: () => BillingTime;
  /** A batch has ended, whatever came of it: for metrics. */
  readonly onBatch?: ((callCount: number, tookMs: number) => void) | undefined;
}

/** Writes ends of calls into the database, coalesced. */
export interface DatabaseSettlement {
  /**
   * Writes the end of a call, all of it or nothing. When it resolves, that is durable. It is safe to repeat.
   *
   * @throws ClaimLostError if a repeat of the call runs elsewhere; nothing is written then.
   * @throws if it was not made durable, or it is not known whether it was.
   */
  end(record: SettlementRecord): Promise<EndedCall>;
  /** Resolves when nothing waits for the database any more. */
  drain(): Promise<void>;
  /** Ends that wait for a batch, or are in one. */
  readonly waiting: number;
}

export function createDatabaseSettlement(parts: DatabaseSettlementParts): DatabaseSettlement {
  const { store, storedResponses, reservations, questions, time, onBatch } = parts;
  const ends = createAccountBatcher<SettlementRecord, EndResult>({
    async run(records, locks, signal) {
      const results = await store.end(records, time(), locks, signal);
      for (const [i, { outcome }] of records.entries()) {
        if (typeof results[i] === 'object') reservations.ended(outcome);
      }
      return results;
    },
    accountOf: ({ outcome }) => outcome.accountId,
    guarded: questions.unlessDown,
    lockLimit: questions.limit,
    onBatch,
  });

  async function endWithResponse(record: SettlementRecord, kept: StoredClaim): Promise<EndedCall> {
    // Bodies may be large, so each is a statement of its own; it is valid from the end of its call on.
    await storedResponses.keep(kept);
    const result = await ends.submit(record);
    if (result === 'claim_lost') throw new ClaimLostError();
    return result;
  }

  return {
    end(record) {
      // Without a stored response no claim can be lost.
      return record.kept === null ? (ends.submit(record) as Promise<EndedCall>) : endWithResponse(record, record.kept);
    },
    drain: ends.drain,
    get waiting() {
      return ends.size;
    },
  };
}
