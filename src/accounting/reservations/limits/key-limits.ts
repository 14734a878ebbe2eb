import type { ErrorKind } from '../../../errors/catalogue.ts';
import { usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';
import { KEY, type LimitedOwner, MEMBER } from './limited-owner.ts';

/** Calls per day and concurrent calls of a key, or of a member by all keys of the member. Off by default. */

const callsOf = ({ of, taken }: LimitedOwner, ofDay: ErrorKind, atOnce: ErrorKind): Limit => ({
  refuse(call, account, context) {
    const owner = of(call, account);
    if (owner === null) return null;
    const { dailyCallsMax, concurrencyMax, inFlight } = owner;
    if (dailyCallsMax !== null && usedNow(owner, context).calls >= dailyCallsMax) {
      return { kind: ofDay, retryAt: context.nextDayMs };
    }
    return concurrencyMax !== null && inFlight >= concurrencyMax ? { kind: atOnce, retryAt: 'soon' } : null;
  },
  // The budgets, which come before, have started the current day.
  take(request, account) {
    const owner = of(request, account);
    if (owner === null) return;
    owner.calls++;
    owner.inFlight++;
  },
  free(reservation, { counts }, account) {
    const use = taken(reservation, account);
    if (use === null) return;
    use.owner.inFlight--;
    if (!counts && use.dayNo === use.owner.dayNo) use.owner.calls--;
  },
});

export const keyCalls = callsOf(KEY, 'keyCallsLimitReached', 'keyConcurrencyLimited');
export const memberCalls = callsOf(MEMBER, 'memberCallsLimitReached', 'memberConcurrencyLimited');
