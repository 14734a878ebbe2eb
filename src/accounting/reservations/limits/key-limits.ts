import type { ErrorKind } from '../../../errors/catalogue.ts';
import type { KeyLimits } from '../../accounts/key-limit-tables.ts';
import type { AdmissionContext, KeyState } from '../account-state.ts';
import type { Refusal } from '../reservation.ts';
import type { BudgetCap } from './key-budgets.ts';
import { usedNow } from './key-day.ts';
import type { Limit } from './limit.ts';
import { KEY, type LimitedOwner, MEMBER } from './limited-owner.ts';

interface CallCap {
  isReached(owner: KeyState, context: AdmissionContext): boolean;
  retryAt(context: AdmissionContext): Refusal['retryAt'];
}

/** Limits in the order of precedence. A cap of `KeyLimits` that is missing both here and in `key-budgets.ts` causes a compile error. */
const CALL_CAPS = {
  dailyCallsMax: {
    isReached: (owner, context) => owner.dailyCallsMax !== null && usedNow(owner, context).calls >= owner.dailyCallsMax,
    retryAt: ({ nextDayMs }) => nextDayMs,
  },
  concurrencyMax: {
    isReached: ({ concurrencyMax, inFlight }) => concurrencyMax !== null && inFlight >= concurrencyMax,
    retryAt: () => 'soon',
  },
} satisfies { readonly [Cap in Exclude<keyof KeyLimits, BudgetCap>]: CallCap };

type CallCapName = keyof typeof CALL_CAPS;
const callCaps = Object.keys(CALL_CAPS) as CallCapName[];

const callsOf = ({ of, taken }: LimitedOwner, kinds: Readonly<Record<CallCapName, ErrorKind>>): Limit => ({
  refuse(call, account, context) {
    const owner = of(call, account);
    if (owner === null) return null;
    const reached = callCaps.find((cap) => CALL_CAPS[cap].isReached(owner, context));
    return reached === undefined ? null : { kind: kinds[reached], retryAt: CALL_CAPS[reached].retryAt(context) };
  },
  // `take` of the budgets, which come before this limit, has already set the counters to the current day.
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

export const keyCalls = callsOf(KEY, {
  dailyCallsMax: 'keyCallsLimitReached',
  concurrencyMax: 'keyConcurrencyLimited',
});
export const memberCalls = callsOf(MEMBER, {
  dailyCallsMax: 'memberCallsLimitReached',
  concurrencyMax: 'memberConcurrencyLimited',
});
