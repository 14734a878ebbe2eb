import { beginDay, keyOf, usedOn } from './key-day.ts';
import type { Limit } from './limit.ts';

/** The calls of a single key, off by default: those of a day, and those at the same time. */

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
