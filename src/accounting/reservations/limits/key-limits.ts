import type { ErrorKind } from '../../../errors/catalogue.ts';
import { usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';
import { KEY, type LimitedOwner, MEMBER } from './limited-owner.ts';

/** The calls of a key, and of a person by all keys of that person, off by default: those of a day, and those at the same time. */

/** How many calls may be made in a day. */
const callsOf = ({ of, taken }: LimitedOwner, kind: ErrorKind): Limit => ({
  refuse(call, account, context) {
    const owner = of(call, account);
    if (owner === null || owner.dailyCallsMax === null || usedNow(owner, context).calls < owner.dailyCallsMax) {
      return null;
    }
    return { kind, retryAt: context.nextDayMs };
  },
  // The budgets, which come before, have begun the day that runs.
  take(request, account) {
    const owner = of(request, account);
    if (owner !== null) owner.calls++;
  },
  free(reservation, { counts }, account) {
    const use = taken(reservation, account);
    if (use !== null && !counts && use.dayNo === use.owner.dayNo) use.owner.calls--;
  },
});

/** How many calls may run at the same time. */
const concurrencyOf = ({ of, taken }: LimitedOwner, kind: ErrorKind): Limit => ({
  refuse(call, account) {
    const owner = of(call, account);
    if (owner === null || owner.concurrencyMax === null || owner.inFlight < owner.concurrencyMax) return null;
    return { kind, retryAt: 'soon' };
  },
  take(request, account) {
    const owner = of(request, account);
    if (owner !== null) owner.inFlight++;
  },
  free(reservation, _use, account) {
    const use = taken(reservation, account);
    if (use !== null) use.owner.inFlight--;
  },
});

export const keyCalls = callsOf(KEY, 'keyCallsLimitReached');
export const keyConcurrency = concurrencyOf(KEY, 'keyConcurrencyLimited');
export const memberCalls = callsOf(MEMBER, 'memberCallsLimitReached');
export const memberConcurrency = concurrencyOf(MEMBER, 'memberConcurrencyLimited');
