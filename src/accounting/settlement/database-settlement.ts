import type { Batcher } from '../../lib/batcher.ts';
import type { BalanceAfterEnd } from '../calls/call-outcome.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';
import { ClaimLostError, type StoredResponses } from '../repeats/stored-responses.ts';
import type { SettlementRecord } from './settlement-record.ts';
import type { EndResult } from './store.ts';

type Ends = Batcher<SettlementRecord, EndResult>;

interface DatabaseSettlementDependencies {
  /** Batches of calls that end. Callers wait for those in `ends`, but not for those in `lateEnds`. */
  readonly batches: { readonly ends: Ends; readonly lateEnds: Ends };
  readonly storedResponses: Pick<StoredResponses, 'keep'>;
}

export type DatabaseSettlement = ReturnType<typeof createDatabaseSettlement>;

export function createDatabaseSettlement(dependencies: DatabaseSettlementDependencies) {
  const { storedResponses } = dependencies;
  const { ends, lateEnds } = dependencies.batches;

  async function endWithResponse(batcher: Ends, record: SettlementRecord, kept: StoredClaim): Promise<BalanceAfterEnd> {
    // Stores each response in a statement of its own, because bodies may be large. It becomes valid when the call has ended.
    await storedResponses.keep(kept);
    const result = await batcher.submit(record);
    if (result === 'claim_lost') throw new ClaimLostError();
    return result;
  }

  function endBy(batcher: Ends, record: SettlementRecord): Promise<BalanceAfterEnd> {
    // Without a stored response, the call has no claim of an idempotency key that it could lose.
    if (record.kept === null) return batcher.submit(record) as Promise<BalanceAfterEnd>;
    return endWithResponse(batcher, record, record.kept);
  }

  return {
    /**
     * Ends a call. When it resolves, the end is durable. Safe to repeat.
     *
     * @throws ClaimLostError if a repeat of the call runs on another node; nothing is written
     * @throws if the end was not durable in time, or its result is unknown
     */
    end: (record: SettlementRecord): Promise<BalanceAfterEnd> => endBy(ends, record),
    /** Like `end`, but in separate batches and without a time limit, because no caller waits. */
    endLate: (record: SettlementRecord): Promise<BalanceAfterEnd> => endBy(lateEnds, record),
    async drain(): Promise<void> {
      await ends.drain();
      await lateEnds.drain();
    },
    get waiting(): number {
      return ends.size + lateEnds.size;
    },
  };
}
