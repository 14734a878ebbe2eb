import { monthOf, weekOf } from '../../pricing/billing-periods.ts';
import type { AccountState, KeyCounts, KeyState } from '../account-state.ts';
import type { AskingCall } from './limit.ts';

/** What a key counts by the day, the week and the month. */
export type KeyUse = Pick<KeyCounts, 'spentNano' | 'weekSpentNano' | 'monthSpentNano' | 'totalSpentNano' | 'calls'>;

/** The key of a call, where it has limits. */
export function keyOf(call: Pick<AskingCall, 'keyId' | 'isKeyLimited'>, { keys }: AccountState): KeyState | null {
  return call.isKeyLimited ? (keys.get(call.keyId) ?? null) : null;
}

/** What counts on a day. The day never goes back: where another node's clock is ahead, its day counts. */
export function usedOn(key: KeyState, today: string): KeyUse {
  if (key.day >= today) return key;
  return {
    spentNano: 0n,
    weekSpentNano: weekOf(key.day) === weekOf(today) ? key.weekSpentNano : 0n,
    monthSpentNano: monthOf(key.day) === monthOf(today) ? key.monthSpentNano : 0n,
    totalSpentNano: key.totalSpentNano,
    calls: 0,
  };
}

/** A call that is admitted or ends begins the day; one that is refused changes nothing. */
export function beginDay(key: KeyState, today: string): void {
  if (key.day < today) Object.assign(key, usedOn(key, today), { day: today });
}
