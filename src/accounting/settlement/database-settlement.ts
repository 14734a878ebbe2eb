import type { Batcher } from '../../lib/batcher.ts';
import type { BalanceAfterEnd } from '../calls/call-outcome.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';
import { ClaimLostError, type StoredResponses } from '../repeats/stored-responses.ts';
import type { SettlementRecord } from './settlement-record.ts';
import type { EndResult } from './store.ts';

type Ends = Batcher<SettlementRecord, EndResult>;

/** What the end of a call is written with. */
interface DatabaseSettlementParts {
  /** Ends of calls that wait for it, and those that nobody waits for. */
  readonly batches: { readonly ends: Ends; readonly lateEnds: Ends };
  readonly storedResponses: Pick<StoredResponses, 'keep'>;
}

export type DatabaseSettlement = ReturnType<typeof createDatabaseSettlement>;

/** Writes ends of calls into the database, coalesced. */
export function createDatabaseSettlement(parts: DatabaseSettlementParts) {
  const { storedResponses } = parts;
  const { ends, lateEnds } = parts.batches;

  async function endWithResponse(batcher: Ends, record: SettlementRecord, kept: StoredClaim): Promise<BalanceAfterEnd> {
    // Bodies may be large, so each is a statement of its own; it is valid from the end of its call on.
    await storedResponses.keep(kept);
    const result = await batcher.submit(record);
    if (result === 'claim_lost') throw new ClaimLostError();
    return result;
  }

  function endBy(batcher: Ends, record: SettlementRecord): Promise<BalanceAfterEnd> {
    // Without a stored response no claim can be lost.
    if (record.kept === null) return batcher.submit(record) as Promise<BalanceAfterEnd>;
    return endWithResponse(batcher, record, record.kept);
  }

  return {
    /**
     * Writes the end of a call, all of it or nothing. When it resolves, that is durable. It is safe to repeat.
     *
     * @throws ClaimLostError if a repeat of the call runs elsewhere; nothing is written then.
     * @throws if it was not made durable in time, or it is not known whether it was.
     */
    end: (record: SettlementRecord): Promise<BalanceAfterEnd> => endBy(ends, record),
    /** As `end`, if nobody waits for it: it may take as long as it likes, and is in no batch of those that somebody waits for. */
    endLate: (record: SettlementRecord): Promise<BalanceAfterEnd> => endBy(lateEnds, record),
    /** Resolves when nothing waits for the database any more. */
    async drain(): Promise<void> {
      await ends.drain();
      await lateEnds.drain();
    },
    /** Ends that wait for a batch, or are in one. */
    get waiting(): number {
      return ends.size + lateEnds.size;
    },
  };
}
