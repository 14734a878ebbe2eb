import type { Query } from '../../db/database.ts';
import type { PartitionDatabase } from '../../db/home-lanes.ts';
import { Reads } from '../../db/reads.ts';
import type { Logger } from '../../lib/logger.ts';
import type { UnitPrices } from '../pricing/charge.ts';
import { StoredPriceLists } from '../pricing/price-list-store.ts';
import type { AdmissionTerms } from '../reservations/account-state.ts';
import { type AskedAccounts, addAccountReads, lockingStatement } from '../reservations/account-store.ts';
import { accountWrites, copyAccounts } from '../reservations/account-writes-store.ts';
import { decideAdmissions } from '../reservations/admit.ts';
import { countsAhead, warnOfCountsAhead } from '../reservations/counts-ahead.ts';
import type { LockedIn, LockMode } from '../reservations/locked-accounts.ts';
import type { Admission, ReservationRequest } from '../reservations/reservation.ts';
import { addLimitsOfCalls, askedBy, distinctKeys, reservationWrites } from '../reservations/store.ts';
import type { SettlementRecord } from '../settlement/settlement-record.ts';
import { addEnds, type EndResult } from '../settlement/store.ts';

/** Calls of one transaction. */
export interface CallBatch {
  readonly ends: readonly SettlementRecord[];
  readonly admissions: readonly ReservationRequest[];
}

/** One result a call, in the same order. */
export interface BatchResults<Locks extends LockMode = LockMode> {
  readonly ends: readonly (EndResult | LockedIn<Locks>)[];
  readonly admissions: readonly (Admission | LockedIn<Locks>)[];
}

const END_CALLS = 'settlement.end';
const ADMIT_CALLS = 'reservations.admit';

export type BatchStore = ReturnType<typeof createBatchStore>;

/**
 * The transaction of a batch of calls, of two messages: the first one locks the accounts and reads what limits them and what the
 * calls that end have reserved, the second one writes what was decided. Statements: `reservations`, `settlement`.
 *
 * @param logger hears of counts that had begun in the future
 */
export function createBatchStore(database: PartitionDatabase, logger: Pick<Logger, 'warn'> | null = null) {
  const storedPriceLists = new StoredPriceLists();
  return {
    /**
     * Ends calls and admits others in one transaction, all of it or nothing: what the ends give back, the admissions may take.
     * `availableNano` of an end is what remains for the account after the whole batch.
     */
    async run<Locks extends LockMode = 'all'>(
      { ends, admissions }: CallBatch,
      terms: AdmissionTerms,
      locks?: Locks,
      signal?: AbortSignal,
    ): Promise<BatchResults<Locks>> {
      const reads = new Reads();
      const readAccounts = addAccountReads(
        reads,
        lockingStatement(locks ?? 'all'),
        askedByBatch(ends, admissions, terms),
      );
      const readLimits = ends.length === 0 ? null : addLimitsOfEnds(reads, ends);
      const decideOnEnds = ends.length === 0 ? null : addEnds(reads, ends, storedPriceLists);
      let prices: ReadonlySet<UnitPrices> = new Set();
      const results = await database.readThenWrite(
        {
          name: nameOf(ends, admissions),
          waitsForLocks: locks === 'waiting',
          reads: reads.queries,
          decide(rows): { result: BatchResults<LockMode>; writes: Query[] } {
            const { accounts, nowMs } = readAccounts(rows);
            readLimits?.(rows, accounts);
            const before = copyAccounts(accounts);
            const context = terms.contextAt(nowMs);
            const isDecided = ({ accountId }: { readonly accountId: string }): boolean =>
              locks !== 'free' || accounts.has(accountId);
            const toEnd = decidable(ends, ({ outcome }) => isDecided(outcome));
            const toAdmit = decidable(admissions, isDecided);
            const ended = decideOnEnds?.(rows, toEnd.items, accounts, context);
            const admitted = toAdmit.items.length === 0 ? null : decideAdmissions(toAdmit.items, accounts, context);
            warnOfCountsAhead(logger, countsAhead(accounts, before, nowMs));
            prices = ended?.prices ?? prices;
            const endResults = toEnd.items.map(({ outcome }, i): EndResult => {
              if (ended!.verdicts[i] === 'claim_lost') return 'claim_lost';
              const money = accounts.get(outcome.accountId)?.money;
              return { availableNano: money === undefined ? null : money.balanceNano - money.reservedNano };
            });
            return {
              result: {
                ends: toEnd.inPlace(endResults),
                admissions: toAdmit.inPlace(admitted?.admissions ?? []),
              },
              writes: [
                ...(ended?.writes ?? []),
                ...(admitted === null ? [] : reservationWrites(admitted.reservations)),
                ...accountWrites(accounts, before),
              ],
            };
          },
        },
        signal,
      );
      storedPriceLists.add(prices);
      return results as unknown as BatchResults<Locks>;
    },
  };
}

/** Says what is in the batch, for errors. */
function nameOf(ends: CallBatch['ends'], admissions: CallBatch['admissions']): string {
  if (admissions.length === 0) return END_CALLS;
  return ends.length === 0 ? ADMIT_CALLS : `${END_CALLS}+${ADMIT_CALLS}`;
}

function askedByBatch(
  ends: readonly SettlementRecord[],
  admissions: readonly ReservationRequest[],
  terms: AdmissionTerms,
): AskedAccounts {
  const asked = askedBy(admissions, terms);
  if (ends.length === 0) return asked;
  // Also of calls whose reservations are gone: a late charge counts too.
  const keys = ends.flatMap(({ key, outcome: { accountId, keyId } }) =>
    key === null
      ? []
      : [keyId, ...(key.memberId === undefined ? [] : [key.memberId])].map((id) => ({ accountId, keyId: id })),
  );
  return {
    ...asked,
    accountIds: [...new Set([...ends.map(({ outcome }) => outcome.accountId), ...asked.accountIds])],
    keys: keys.length === 0 ? asked.keys : distinctKeys([...keys, ...asked.keys]),
  };
}

function addLimitsOfEnds(reads: Reads, ends: readonly SettlementRecord[]): ReturnType<typeof addLimitsOfCalls> {
  return addLimitsOfCalls(
    reads,
    ends.map(({ outcome }) => outcome),
    {
      hasPlans: ends.some(({ plan }) => plan !== null),
      hasKeyLimits: false,
      hasRates: ends.some(({ rate }) => rate !== null),
    },
  );
}

/** The items that are decided on, and what puts their results in the places of all: those of locked accounts have none. */
function decidable<Item>(all: readonly Item[], isDecided: (item: Item) => boolean) {
  const items = all.filter(isDecided);
  return {
    items,
    inPlace<Result>(results: readonly Result[]): readonly (Result | 'locked')[] {
      if (items.length === all.length) return results;
      let next = 0;
      return all.map((item) => (item === items[next] ? results[next++]! : 'locked'));
    },
  };
}
