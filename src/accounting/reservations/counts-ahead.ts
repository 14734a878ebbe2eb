import type { Logger } from '../../lib/logger.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import { type AccountState, rateName } from './account-state.ts';
import type { AccountsBefore } from './account-writes-store.ts';

/** A count that was begun anew although it had begun in the future: the clock of the database was wrong then, or is now. */
interface CountAhead {
  readonly accountId: string;
  /** What is counted, such as `tokens of the period of sub_…`. */
  readonly count: string;
  readonly beganAtMs: number;
}

/** What a decision has begun anew of what it found ahead of its instant. */
export function countsAhead(
  accounts: ReadonlyMap<string, AccountState>,
  before: AccountsBefore,
  nowMs: number,
): CountAhead[] {
  const found: CountAhead[] = [];
  const aheadMs = nowMs + CLOCK_TOLERANCE_MS;
  for (const { accountId, money, keys, subscriptions, rates } of accounts.values()) {
    const was = before.get(accountId)!;
    // Names are made where there is something to say of them: nearly never.
    const note = (count: string, beganAtMs: number, isNowMs?: number): void => {
      if (beganAtMs > aheadMs && isNowMs !== beganAtMs) found.push({ accountId, count, beganAtMs });
    };
    if (was.money.dayBeganAtMs > aheadMs) note('spending of the day', was.money.dayBeganAtMs, money.dayBeganAtMs);
    for (const { keyId, dayBeganAtMs, weekBeganAtMs, monthBeganAtMs } of was.keys) {
      if (Math.max(dayBeganAtMs, weekBeganAtMs, monthBeganAtMs) <= aheadMs) continue;
      const key = keys.get(keyId);
      note(`day of ${keyId}`, dayBeganAtMs, key?.dayBeganAtMs);
      note(`week of ${keyId}`, weekBeganAtMs, key?.weekBeganAtMs);
      note(`month of ${keyId}`, monthBeganAtMs, key?.monthBeganAtMs);
    }
    for (const { id, weekBeganAtMs, periodBeganAtMs, oldestSlots } of was.subscriptions) {
      const subscription = subscriptions.get(id);
      if (Math.max(weekBeganAtMs, periodBeganAtMs) > aheadMs) {
        note(`calls of the week of ${id}`, weekBeganAtMs, subscription?.weekBeganAtMs);
        note(`tokens of the period of ${id}`, periodBeganAtMs, subscription?.periodBeganAtMs);
      }
      const slot = oldestSlots.findLast(({ takenAtMs }) => takenAtMs > aheadMs);
      if (slot) note(`calls of five hours of ${id}`, slot.takenAtMs);
    }
    for (const rate of was.rates) {
      if (rate.countedAtMs <= aheadMs) continue;
      const names = ['minute', rate.keyId && `of ${rate.keyId}`, rate.model && `of ${rate.model}`];
      note(names.filter(Boolean).join(' '), rate.countedAtMs, rates.get(rateName(rate))?.countedAtMs);
    }
  }
  return found;
}

/** The most counts that one line of the log names. */
const NAMED_MAX = 20;

/** Says in the log what was begun anew, one line for a decision. */
export function warnOfCountsAhead(logger: Pick<Logger, 'warn'> | null, counts: readonly CountAhead[]): void {
  if (logger === null || counts.length === 0) return;
  const named = counts.slice(0, NAMED_MAX).map(({ accountId, count, beganAtMs }) => {
    return { accountId, count, beganAt: new Date(beganAtMs).toISOString() };
  });
  logger.warn(
    { counts: named, of: counts.length },
    'what is used of limits had begun in the future and begins anew: the clock of the database was or is wrong',
  );
}
