import type { AccountState, KeyState } from '../account-state.ts';
import type { AskingCall, Limit } from './limit.ts';

/** The limits of a single key, off by default: spending and calls of a day, and calls at the same time. */

/** What a key may spend in a day of the billing time zone. Calls on a plan cost no money and are not limited by it. */
export const keySpend: Limit = {
  refuse(call, account, { today, nextDayMs }) {
    const key = keyOf(call, account);
    if (call.isOnPlan || key === null || key.dailySpendCapNano === null) return null;
    const { spentNano } = usedOn(key, today);
    if (spentNano + key.reservedNano < key.dailySpendCapNano) return null;
    return { kind: 'keySpendLimitReached', retryAt: spentNano < key.dailySpendCapNano ? 'soon' : nextDayMs };
  },
  take(request, account, reservation, { today }) {
    const key = keyOf(request, account);
    if (key === null) return;
    beginDay(key, today);
    const { amountNano } = request;
    reservation.keyAmountNano = amountNano ?? 0n;
    key.reservedNano += amountNano ?? 0n;
  },
  free({ keyId, keyAmountNano }, { keyChargeNano }, { keys }, today) {
    const key = keys.get(keyId);
    if (key === undefined || keyAmountNano === null) return;
    beginDay(key, today);
    key.reservedNano -= keyAmountNano;
    key.spentNano += keyChargeNano;
  },
};

/** How many calls a key may make in a day. */
export const keyCalls: Limit = {
  refuse(call, account, { today, nextDayMs }) {
    const key = keyOf(call, account);
    if (key === null || key.dailyCallsMax === null || usedOn(key, today).calls < key.dailyCallsMax) return null;
    return { kind: 'keyCallsLimitReached', retryAt: nextDayMs };
  },
  take(request, account, reservation, { today }) {
    const key = keyOf(request, account);
    if (key === null) return;
    beginDay(key, today);
    reservation.keyDay = key.day;
    key.calls++;
  },
  free({ keyId, keyDay }, { counts }, { keys }, today) {
    const key = keys.get(keyId);
    if (key === undefined || keyDay === null) return;
    beginDay(key, today);
    if (!counts && keyDay === key.day) key.calls--;
  },
};

/** How many calls of a key may run at the same time. */
export const keyConcurrency: Limit = {
  refuse(call, account) {
    const key = keyOf(call, account);
    if (key === null || key.concurrencyMax === null || key.inFlight < key.concurrencyMax) return null;
    return { kind: 'keyConcurrencyLimited', retryAt: 'soon' };
  },
  take(request, account) {
    const key = keyOf(request, account);
    if (key !== null) key.inFlight++;
  },
  free({ keyId, keyDay }, _use, { keys }) {
    const key = keys.get(keyId);
    if (key !== undefined && keyDay !== null) key.inFlight--;
  },
};

function keyOf(call: Pick<AskingCall, 'keyId' | 'isKeyLimited'>, { keys }: AccountState): KeyState | null {
  return call.isKeyLimited ? (keys.get(call.keyId) ?? null) : null;
}

/** What counts on a day. The day never goes back: where another node's clock is ahead, its day counts. */
function usedOn(key: KeyState, today: string): Pick<KeyState, 'spentNano' | 'calls'> {
  return key.day >= today ? key : { spentNano: 0n, calls: 0 };
}

/** A call that is admitted or ends begins the day; one that is refused changes nothing. */
function beginDay(key: KeyState, today: string): void {
  if (key.day >= today) return;
  key.day = today;
  key.spentNano = 0n;
  key.calls = 0;
}
