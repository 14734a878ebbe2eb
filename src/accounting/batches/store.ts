import type { Query, ReadRows } from '../../db/database.ts';
import type { PartitionDatabase } from '../../db/home-pools.ts';
import type { Logger } from '../../lib/logger.ts';
import { type PriceList, StoredPriceLists } from '../pricing/price-list-store.ts';
import type { AdmissionTerms } from '../reservations/account-state.ts';
import { AskedAccounts, accountReads, lockingStatement, readAccounts } from '../reservations/account-store.ts';
import { accountWrites, copyAccounts } from '../reservations/account-writes-store.ts';
import { decideAdmissions } from '../reservations/admit.ts';
import { futureCounts, warnOfFutureCounts } from '../reservations/future-counts.ts';
import { limitsRates } from '../reservations/limits/minute-rates.ts';
import type { LockedIn, LockMode } from '../reservations/locked-accounts.ts';
import type { Admission, ReservationRequest } from '../reservations/reservation.ts';
import { reservationWrites } from '../reservations/store.ts';
import type { SettlementRecord } from '../settlement/settlement-record.ts';
import { CallEnds, type EndResult } from '../settlement/store.ts';

interface CallBatch {
  readonly ends: readonly SettlementRecord[];
  readonly admissions: readonly ReservationRequest[];
}

/** Results of a batch: one per call, in the same order. */
export interface BatchResults<Locks extends LockMode = LockMode> {
  readonly ends: readonly (EndResult | LockedIn<Locks>)[];
  readonly admissions: readonly (Admission | LockedIn<Locks>)[];
}

const END_CALLS = 'settlement.end';
const ADMIT_CALLS = 'reservations.admit';

export type BatchStore = ReturnType<typeof createBatchStore>;

/** Runs batches in two round trips: the first one locks and reads, the second one writes the decisions. */
export function createBatchStore(database: PartitionDatabase, logger: Pick<Logger, 'warn'> | null = null) {
  const storedPriceLists = new StoredPriceLists();
  return {
    /** Runs a batch. Admissions can use what calls in it release. `availableNano`: what a settled call's account has left afterwards. */
    async run<Locks extends LockMode = 'all'>(
      { ends, admissions }: CallBatch,
      terms: AdmissionTerms,
      locks?: Locks,
      signal?: AbortSignal,
    ): Promise<BatchResults<Locks>> {
      const asked = askedBy(ends, admissions, terms);
      const reads = accountReads(lockingStatement(locks ?? 'all'), asked, terms);
      const callEnds = ends.length === 0 ? null : new CallEnds(ends);
      const firstOfEnds = reads.length;
      if (callEnds !== null) reads.push(...callEnds.reads);
      let priceLists: readonly PriceList[] = [];
      const decide = (
        rows: ReadRows,
      ): { readonly result: BatchResults<LockMode>; readonly writes: readonly Query[] } => {
        const { accounts, nowMs } = readAccounts(reads, rows, terms.nowMs);
        const before = copyAccounts(accounts);
        const context = terms.contextAt(nowMs);
        const toEnd = locks === 'free' ? ends.filter(({ outcome }) => accounts.has(outcome.accountId)) : ends;
        const toAdmit = locks === 'free' ? admissions.filter(({ accountId }) => accounts.has(accountId)) : admissions;
        const ended = callEnds?.decide(rows.slice(firstOfEnds), toEnd, accounts, context, storedPriceLists);
        const admitted = toAdmit.length === 0 ? NOTHING_ADMITTED : decideAdmissions(toAdmit, accounts, context);
        warnOfFutureCounts(logger, futureCounts(accounts, before, nowMs));
        priceLists = ended?.priceLists ?? priceLists;
        const endResults: EndResult[] = [];
        for (const [i, { outcome }] of toEnd.entries()) {
          const money = accounts.get(outcome.accountId)?.money;
          const availableNano = money === undefined ? null : money.balanceNano - money.reservedNano;
          endResults.push(ended!.verdicts[i] === 'claim_lost' ? 'claim_lost' : { availableNano });
        }
        return {
          result: {
            ends: locks === 'free' ? inPlace(ends, toEnd, endResults) : endResults,
            admissions: locks === 'free' ? inPlace(admissions, toAdmit, admitted.admissions) : admitted.admissions,
          },
          writes: [
            ...(ended?.writes ?? []),
            ...reservationWrites(admitted.reservations),
            ...accountWrites(accounts, before),
          ],
        };
      };
      const name = nameOf(ends, admissions);
      const results = await database.readThenWrite({ name, waitsForLocks: locks === 'waiting', reads, decide }, signal);
      if (priceLists.length > 0) storedPriceLists.add(priceLists);
      return results as unknown as BatchResults<Locks>;
    },
  };
}

const NOTHING_ADMITTED = { admissions: [], reservations: [] };

function nameOf(ends: CallBatch['ends'], admissions: CallBatch['admissions']): string {
  if (admissions.length === 0) return END_CALLS;
  return ends.length === 0 ? ADMIT_CALLS : `${END_CALLS}+${ADMIT_CALLS}`;
}

function askedBy(
  ends: readonly SettlementRecord[],
  admissions: readonly ReservationRequest[],
  terms: AdmissionTerms,
): AskedAccounts {
  const asked = new AskedAccounts();
  // Calls without a reservation are included: their charge is late, but still counts.
  for (const { key, outcome } of ends) {
    const { accountId, keyId } = outcome;
    asked.accountIds.add(accountId);
    if (key === null) continue;
    asked.addOwner(accountId, keyId);
    if (key.memberId !== undefined) asked.addOwner(accountId, key.memberId);
    if (key.budgetIds !== undefined) asked.addBudgets(accountId, key.budgetIds);
  }
  const { callsOnPlan } = asked;
  for (const request of admissions) {
    const { accountId, plan, isRateLimited, groupLimits } = request;
    asked.addCall(request);
    if (plan !== null) callsOnPlan.set(accountId, (callsOnPlan.get(accountId) ?? 0) + 1);
    if (isRateLimited || terms.rateDefaults !== null || limitsRates(groupLimits)) asked.addRates(request);
  }
  return asked;
}

/** Puts results at the positions of their items. Positions without a result are `locked`. */
function inPlace<Item, Result>(
  all: readonly Item[],
  some: readonly Item[],
  results: readonly Result[],
): readonly (Result | 'locked')[] {
  let next = 0;
  return all.map((item) => (item === some[next] ? results[next++]! : 'locked'));
}
