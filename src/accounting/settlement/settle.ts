import type { CallOutcome, CallStatus } from '../calls/call-outcome.ts';
import type { RecordedEnd } from '../calls/call-record-store.ts';
import { type CountedKeyCharge, type CountedUse, keyChargeOf, placeOf } from '../counts/counted-use.ts';
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

/** What the database has of calls that end. Keys are made by `callKey`. */
export interface EndState {
  readonly accounts: ReadonlyMap<string, AccountState>;
  readonly reservations: ReadonlyMap<string, ReservedLimits>;
  /** Calls that are on record, and as what. */
  readonly recorded: ReadonlyMap<string, CallStatus>;
  /** Calls of which nothing is known, because the records of their month were dropped. */
  readonly dropped: ReadonlySet<string>;
  /** Claims of idempotency keys that are still those of their calls. */
  readonly claims: ReadonlySet<string>;
}

/** A ledger entry of a charge. */
interface ChargeEntry extends CallName {
  readonly entryNo: bigint;
  readonly chargeNano: bigint;
  readonly balanceAfterNano: bigint;
  readonly endedAtMs: number;
  /** The day of the account: how many it had begun, and when that one began. */
  readonly dayNo: number;
  readonly dayBeganAtMs: number;
  /** The budgets of its key and of the person whose key it is; `null`: there are none. */
  readonly countedKey: CountedKeyCharge | null;
}

/** An end that is written. */
export interface FreshEnd extends RecordedEnd, Pick<SettlementRecord, 'kept' | 'made'> {}

interface EndDecision {
  /** One an end, in the same order. `claim_lost`: a repeat of the call runs elsewhere; nothing of this end is written. */
  readonly verdicts: readonly ('ended' | 'claim_lost')[];
  /** Ends that are written: the first of each call, if it is not on record, or only as unresolved. */
  readonly fresh: readonly FreshEnd[];
  readonly freed: readonly ReservedLimits[];
  readonly charges: readonly ChargeEntry[];
}

/**
 * Decides on the ends of a batch of calls, one by one in order of arrival. A call ends once, with the first end that comes:
 * it is recorded, charged if it has a charge, and its reservation freed. So an end is safe to repeat, and one without a
 * charge keeps every later one from charging. Only a call that was recorded as `unresolved` may end after it was recorded. Where
 * records of its time were dropped, nobody knows whether the call has ended before, so nothing is written.
 * Pure but for `accounts`, which it changes to their state after the batch.
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
      // What counts has a record that says so, and a call that is over has it already.
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
      for (const payer of [payers.key, payers.member]) {
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

/**
 * What a call counts for in windows, quotas and calls of a day, beside the charges that the ledger has. What is counted there of a
 * week, a period or a day that is over is gone, and no record of it is needed.
 */
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

/** Whose budgets count a charge. */
interface CountingOwners {
  readonly key: KeyState | null;
  readonly member: KeyState | null;
}

/**
 * The key and the person whose budgets count the charge. If a reservation was given back, because the node of the call was taken for
 * dead, they were charged nothing then.
 */
function countingOwners(
  { keyId }: CallOutcome,
  use: KeyUse,
  reservation: ReservedLimits | undefined,
  { keys }: AccountState,
): CountingOwners {
  const memberId = reservation === undefined ? use.memberId : reservation.memberId;
  return {
    key: reservation?.keyAmountNano === null ? null : (keys.get(keyId) ?? null),
    member: memberId == null ? null : (keys.get(memberId) ?? null),
  };
}

const NO_OWNERS: CountingOwners = { key: null, member: null };

function charge(
  outcome: CallOutcome,
  chargeNano: bigint,
  { money }: AccountState,
  { key, member }: CountingOwners,
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
    countedKey: keyChargeOf(key, member),
  };
}

/** What the database has of calls whose node is dead. */
interface UnresolvedState extends Pick<EndState, 'accounts' | 'recorded'> {
  readonly reservations: ReadonlyMap<string, OpenReservation>;
}

/** A call whose node died before it ended. */
interface UnresolvedCall {
  readonly reservation: OpenReservation;
  /** Whether it is put on record: not where it is on record already, or was never admitted as a whole. */
  readonly isRecorded: boolean;
}

/**
 * Decides on calls whose node is dead: their reservations are released, and they are recorded as unresolved, with nothing
 * charged. A call that ended meanwhile has no reservation any more, and nothing is changed.
 */
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
