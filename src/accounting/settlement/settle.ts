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
import { rowsOfCallers } from '../reservations/limits/caller-budgets.ts';
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

/** What the database stores about the calls of a batch that end. Calls are identified by `callKey`. */
export interface EndState {
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly reservations: ReadonlyMap<string, ReservedLimits>;
  readonly recorded: ReadonlyMap<string, CallStatus>;
  /** Calls without a record in months that are dropped. */
  readonly dropped: ReadonlySet<string>;
  /** Claims of idempotency keys that their calls still hold. */
  readonly claims: ReadonlySet<string>;
}

interface ChargeEntry extends CallName {
  readonly entryNo: bigint;
  readonly chargeNano: bigint;
  readonly balanceAfterNano: bigint;
  readonly endedAtMs: number;
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  /** The budgets that count the charge; `null`: none does. */
  readonly countedKey: CountedKeyCharge | null;
}

export interface FreshEnd extends RecordedEnd, Pick<SettlementRecord, 'kept' | 'made'> {}

interface EndDecision {
  /** Results in the order of the records. `claim_lost`: a repeat of the call runs on another node, so nothing is written for this one. */
  readonly verdicts: readonly ('ended' | 'claim_lost')[];
  /** Ends that are written: the first end of each call, unless the call already has a final record. */
  readonly fresh: readonly FreshEnd[];
  readonly freed: readonly ReservedLimits[];
  readonly charges: readonly ChargeEntry[];
}

/**
 * Decides on ends in the order of arrival. Only the first end of a call counts, so an end is safe to repeat. Nothing is written for a call
 * of a dropped month, because it may have ended before. Pure, except that it changes `accounts` to their state after the batch.
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
      // If the call has already ended, its reservation is freed without counting the use: the record is written and lacks these counts.
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
      for (const payer of [payers.key, payers.member, payers.keyModel, payers.memberModel, ...payers.callers]) {
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

/** Counts the use of a call. Returns the counters for its record, without those of past weeks, periods or days. */
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

/** Returns which owners must still count the charge: if the node counted as dead, its reservation was released without doing so. */
function countingOwners(
  { keyId }: CallOutcome,
  use: KeyUse,
  reservation: ReservedLimits | undefined,
  account: AccountState,
): CountingOwners<KeyState> {
  const { keys } = account;
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
    callers: callersOf(use, reservation, account),
  };
}

const NO_CALLERS: readonly never[] = [];
const NO_OWNERS: CountingOwners<KeyState> = {
  ...{ key: null, member: null, keyModel: null, memberModel: null },
  callers: NO_CALLERS,
};

function callersOf(
  { budgetIds }: KeyUse,
  reservation: ReservedLimits | undefined,
  account: AccountState,
): readonly KeyState[] {
  const ids = reservation === undefined ? budgetIds?.callers : reservation.callerBudgetIds;
  return ids == null ? NO_CALLERS : rowsOfCallers(ids, account);
}

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
  /** Whether the call gets an `unresolved` record: false if it has a record, or its admission was not completed. */
  readonly isRecorded: boolean;
}

/** Decides which calls of dead nodes become unresolved. A call that has ended has no reservation, so it does not change. */
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
