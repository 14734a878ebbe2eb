import type { Batcher } from '../../lib/batcher.ts';
import type { BalanceAfterEnd } from '../calls/call-outcome.ts';
import type { StoredClaim } from '../repeats/stored-response-store.ts';
import { ClaimLostError, type StoredResponses } from '../repeats/stored-responses.ts';
import type { SettlementRecord } from './settlement-record.ts';
import type { EndResult } from './store.ts';

type Ends = Batcher<SettlementRecord, EndResult>;

interface DatabaseSettlementDependencies {
  /** Callers wait for `ends`, but not for `lateEnds`. */
  readonly batches: { readonly ends: Ends; readonly lateEnds: Ends };
  readonly storedResponses: Pick<StoredResponses, 'keep'>;
}

export type DatabaseSettlement = ReturnType<typeof createDatabaseSettlement>;

export function createDatabaseSettlement(dependencies: DatabaseSettlementDependencies) {
  const { storedResponses } = dependencies;
  const { ends, lateEnds } = dependencies.batches;

  async function endWithResponse(batcher: Ends, record: SettlementRecord, kept: StoredClaim): Promise<BalanceAfterEnd> {
    // One statement per body, because bodies may be large. The response becomes valid when the call has ended.
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
     * When this resolves, the end is durable. Safe to repeat.
     *
     * @throws ClaimLostError if a repeat of the call runs elsewhere; nothing is written.
     * @throws if it was not durable in time, or the outcome is unknown.
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
