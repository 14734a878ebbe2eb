import type { CallOutcome, CallStatus } from '../calls/call-outcome.ts';
import type { RecordedEnd } from '../calls/call-record-store.ts';
import {
  type CountedKeyCharge,
  type CountedUse,
  type CountingOwners,
  keyChargeOf,
  placeOf,
} from '../counts/counted-use.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { AccountState, KeyState } from '../reservations/account-state.ts';
import { countSpending } from '../reservations/limits/daily-cap.ts';
import { countKeySpending } from '../reservations/limits/key-budgets.ts';
import { KEY, type LimitedOwner, MEMBER } from '../reservations/limits/limited-owner.ts';
import { freeReservation, NO_USE } from '../reservations/release.ts';
import {
  type CallName,
  type CallUse,
  callKey,
  type OpenReservation,
  type ReservedLimits,
} from '../reservations/reservation.ts';
import type { KeyUse, SettlementRecord } from './settlement-record.ts';

/** What the database stores about calls that end. Keys are `callKey`s. */
export interface EndState {
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly reservations: ReadonlyMap<string, ReservedLimits>;
  readonly recorded: ReadonlyMap<string, CallStatus>;
  /** Calls without a record, in months whose records were dropped. */
  readonly dropped: ReadonlySet<string>;
  /** Claims of idempotency keys that still belong to their calls. */
  readonly claims: ReadonlySet<string>;
}

interface ChargeEntry extends CallName {
  readonly entryNo: bigint;
  readonly chargeNano: bigint;
  readonly balanceAfterNano: bigint;
  readonly endedAtMs: number;
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  /** The budgets that count the charge; `null`: none. */
  readonly countedKey: CountedKeyCharge | null;
}

export interface FreshEnd extends RecordedEnd, Pick<SettlementRecord, 'kept' | 'made'> {}

interface EndDecision {
  /** In the order of the ends. `claim_lost`: a repeat of the call runs elsewhere, and nothing of this end is written. */
  readonly verdicts: readonly ('ended' | 'claim_lost')[];
  /** The first end of each call, unless the call already has a record other than `unresolved`. */
  readonly fresh: readonly FreshEnd[];
  readonly freed: readonly ReservedLimits[];
  readonly charges: readonly ChargeEntry[];
}

/**
 * Decides in the order of arrival. Only the first end of a call counts, so an end is safe to repeat. If the records of its month were
 * dropped, nothing is written, because the call may have ended before. Pure, except that `accounts` become their state after the batch.
 */
export function decideEnds(
  records: readonly SettlementRecord[],
  state: EndState,
  periods: RunningPeriods,
): EndDecision {
  const reservations = new Map(state.reservations);
  const recorded = new Map(state.recorded);
  const fresh: FreshEnd[] = [];
  const freed: ReservedLimits[] = [];
  const charges: ChargeEntry[] = [];
  const verdicts: ('ended' | 'claim_lost')[] = [];
  for (const record of records) {
    const { outcome, kept, made } = record;
    const key = callKey(outcome);
    const account = state.accounts.get(outcome.accountId);
    const status = recorded.get(key);
    const isOver = status === undefined ? state.dropped.has(key) : status !== 'unresolved';
    if (!isOver && kept !== null && !state.claims.has(callKey(kept))) {
      verdicts.push('claim_lost');
      continue;
    }
    verdicts.push('ended');
    if (account === undefined) continue;
    const reservation = reservations.get(key);
    const use = useOf(record);
    if (reservation !== undefined) {
      // A call that has ended before is not counted, because its record is already written without the counts.
      freeReservation(reservation, isOver ? { ...NO_USE, rateTokens: use.rateTokens } : use, account, periods);
      reservations.delete(key);
      freed.push(reservation);
    }
    if (isOver) continue;
    recorded.set(key, outcome.status);
    const counted = reservation === undefined || !use.counts ? null : countUse(reservation, use.tokens, account);
    fresh.push({ outcome, usage: outcome.usage, counted, kept, made });
    const payers = record.key === null ? NO_OWNERS : countingOwners(outcome, record.key, reservation, account);
    if (reservation === undefined) {
      for (const payer of [payers.key, payers.member, payers.keyModel, payers.memberModel]) {
        if (payer !== null) countKeySpending(payer, record.key!.chargeNano, periods);
      }
    }
    if (outcome.chargeNano !== null) charges.push(charge(outcome, outcome.chargeNano, account, payers, periods));
  }
  return { verdicts, fresh, freed, charges };
}

function useOf({ plan, key, rate }: SettlementRecord): CallUse {
  const counts = plan?.counts ?? key?.counts ?? false;
  return { counts, tokens: plan?.tokens ?? 0, keyChargeNano: key?.chargeNano ?? 0n, rateTokens: rate?.tokens ?? 0 };
}

/** Returns the counters for the record. Counts of a past week, period or day are not recorded. */
function countUse(reservation: ReservedLimits, tokens: number, account: AccountState): CountedUse | null {
  const { subscriptionId, weekNo, periodNo } = reservation;
  const subscription = subscriptionId === null ? undefined : account.subscriptions.get(subscriptionId);
  const week = subscription?.weekNo === weekNo && subscription ? placeOf(weekNo, subscription.weekBeganAtMs) : null;
  const period =
    subscription?.periodNo === periodNo && subscription ? placeOf(periodNo, subscription.periodBeganAtMs) : null;
  const plan =
    subscription === undefined || (week ?? period) === null
      ? null
      : { id: subscription.id, no: ++subscription.useNo, week, period, tokens };
  const key = countOfOwner(KEY.taken(reservation, account));
  const ofMember = countOfOwner(MEMBER.taken(reservation, account));
  const member = ofMember && { id: reservation.memberId!, ...ofMember };
  if (plan === null && key === null && member === null) return null;
  return { ...(plan && { plan }), ...(key && { key }), ...(member && { member }) };
}

function countOfOwner(taken: ReturnType<LimitedOwner['taken']>): CountedUse['key'] | null {
  if (taken === null || taken.owner.dayNo !== taken.dayNo) return null;
  const { owner, dayNo } = taken;
  return { no: ++owner.useNo, day: placeOf(dayNo, owner.dayBeganAtMs) };
}

/** If the reservation was released because the node was considered dead, the key and the member do not count the charge yet. */
function countingOwners(
  { keyId }: CallOutcome,
  use: KeyUse,
  reservation: ReservedLimits | undefined,
  { keys }: AccountState,
): CountingOwners<KeyState> {
  const memberId = reservation === undefined ? use.memberId : reservation.memberId;
  const [keyModelId, memberModelId] =
    reservation === undefined
      ? [use.budgetIds?.key, use.budgetIds?.member]
      : [reservation.keyBudgetId, reservation.memberBudgetId];
  const ownerOf = (id: string | null | undefined): KeyState | null => (id == null ? null : (keys.get(id) ?? null));
  return {
    key: reservation?.keyAmountNano === null ? null : (keys.get(keyId) ?? null),
    member: ownerOf(memberId),
    keyModel: ownerOf(keyModelId),
    memberModel: ownerOf(memberModelId),
  };
}

const NO_OWNERS: CountingOwners<KeyState> = { key: null, member: null, keyModel: null, memberModel: null };

function charge(
  outcome: CallOutcome,
  chargeNano: bigint,
  { money }: AccountState,
  payers: CountingOwners,
  periods: RunningPeriods,
): ChargeEntry {
  money.balanceNano -= chargeNano;
  money.lastEntryNo++;
  countSpending(money, chargeNano, periods);
  return {
    accountId: outcome.accountId,
    callId: outcome.callId,
    entryNo: money.lastEntryNo,
    chargeNano,
    balanceAfterNano: money.balanceNano,
    endedAtMs: outcome.endedAtMs,
    dayNo: money.dayNo,
    dayBeganAtMs: money.dayBeganAtMs,
    countedKey: keyChargeOf(payers),
  };
}

interface UnresolvedState extends Pick<EndState, 'accounts' | 'recorded'> {
  readonly reservations: ReadonlyMap<string, OpenReservation>;
}

interface UnresolvedCall {
  readonly reservation: OpenReservation;
  /** False if the call has a record, or was not fully admitted. */
  readonly isRecorded: boolean;
}

/** A call that has ended has no reservation, so nothing changes. */
export function decideUnresolved(state: UnresolvedState, periods: RunningPeriods): readonly UnresolvedCall[] {
  const unresolved: UnresolvedCall[] = [];
  for (const [key, reservation] of state.reservations) {
    const account = state.accounts.get(reservation.accountId);
    if (account === undefined) continue;
    freeReservation(reservation, NO_USE, account, periods);
    const wasAdmitted = reservation.amountNano !== null || reservation.subscriptionId !== null;
    unresolved.push({ reservation, isRecorded: wasAdmitted && !state.recorded.has(key) });
  }
  return unresolved;
}
