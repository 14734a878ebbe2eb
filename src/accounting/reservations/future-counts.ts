import type { Logger } from '../../lib/logger.ts';
import { callerOfBudget } from '../accounts/caller-budget-ids.ts';
import { CLOCK_TOLERANCE_MS } from '../counts/counted-since.ts';
import { type AccountState, rateName } from './account-state.ts';
import type { AccountsBefore } from './account-writes-store.ts';

/** A counter that was reset because its period began in the future. The database's clock was wrong then, or is wrong now. */
interface FutureCount {
  readonly accountId: string;
  readonly count: string;
  readonly beganAtMs: number;
}

export function futureCounts(
  accounts: ReadonlyMap<string, AccountState>,
  before: AccountsBefore,
  nowMs: number,
): FutureCount[] {
  const found: FutureCount[] = [];
  const futureAfterMs = nowMs + CLOCK_TOLERANCE_MS;
  for (const { accountId, money, keys, subscriptions, rates } of accounts.values()) {
    const was = before.get(accountId)!;
    // Called only if a counter began in the future, so that names are formatted only when needed.
    const note = (count: string, beganAtMs: number, isNowMs?: number): void => {
      if (beganAtMs > futureAfterMs && isNowMs !== beganAtMs) found.push({ accountId, count, beganAtMs });
    };
    if (was.money.dayBeganAtMs > futureAfterMs) note('daily spending', was.money.dayBeganAtMs, money.dayBeganAtMs);
    for (const { keyId, dayBeganAtMs, weekBeganAtMs, monthBeganAtMs } of was.keys) {
      if (Math.max(dayBeganAtMs, weekBeganAtMs, monthBeganAtMs) <= futureAfterMs) continue;
      const key = keys.get(keyId);
      // The log must not contain end users.
      const owner = callerOfBudget(keyId)?.kind ?? keyId;
      note(`daily count of ${owner}`, dayBeganAtMs, key?.dayBeganAtMs);
      note(`weekly count of ${owner}`, weekBeganAtMs, key?.weekBeganAtMs);
      note(`monthly count of ${owner}`, monthBeganAtMs, key?.monthBeganAtMs);
    }
    for (const { id, weekBeganAtMs, periodBeganAtMs, oldestSlots } of was.subscriptions) {
      const subscription = subscriptions.get(id);
      if (Math.max(weekBeganAtMs, periodBeganAtMs) > futureAfterMs) {
        note(`weekly calls of ${id}`, weekBeganAtMs, subscription?.weekBeganAtMs);
        note(`tokens in the period of ${id}`, periodBeganAtMs, subscription?.periodBeganAtMs);
      }
      const slot = oldestSlots.findLast(({ takenAtMs }) => takenAtMs > futureAfterMs);
      if (slot) note(`five-hour calls of ${id}`, slot.takenAtMs);
    }
    for (const rate of was.rates) {
      if (rate.countedAtMs <= futureAfterMs) continue;
      const names = ['count per minute', rate.keyId && `of ${rate.keyId}`, rate.model && `for ${rate.model}`];
      note(names.filter(Boolean).join(' '), rate.countedAtMs, rates.get(rateName(rate))?.countedAtMs);
    }
  }
  return found;
}

const NAMED_MAX = 20;

export function warnOfFutureCounts(logger: Pick<Logger, 'warn'> | null, counts: readonly FutureCount[]): void {
  if (logger === null || counts.length === 0) return;
  const named = counts.slice(0, NAMED_MAX).map(({ accountId, count, beganAtMs }) => {
    return { accountId, count, beganAt: new Date(beganAtMs).toISOString() };
  });
  logger.warn(
    { counts: named, of: counts.length },
    'counters of limits began in the future and were reset: the clock of the database was wrong, or is wrong now',
  );
}
