import { beginPeriods, keyOf, usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';

/** The calls of a single key, off by default: those of a day, and those at the same time. */

/** How many calls a key may make in a day. */
export const keyCalls: Limit = {
  refuse(call, account, context) {
    const key = keyOf(call, account);
    if (key === null || key.dailyCallsMax === null || usedNow(key, context).calls < key.dailyCallsMax) return null;
    return { kind: 'keyCallsLimitReached', retryAt: context.nextDayMs };
  },
  take(request, account, reservation, context) {
    const key = keyOf(request, account);
    if (key === null) return;
    beginPeriods(key, context);
    reservation.keyDayNo = key.dayNo;
    key.calls++;
  },
  free({ keyId, keyDayNo }, { counts }, { keys }, periods) {
    const key = keys.get(keyId);
    if (key === undefined || keyDayNo === null) return;
    beginPeriods(key, periods);
    if (!counts && keyDayNo === key.dayNo) key.calls--;
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
  free({ keyId, keyDayNo }, _use, { keys }) {
    const key = keys.get(keyId);
    if (key !== undefined && keyDayNo !== null) key.inFlight--;
  },
};
