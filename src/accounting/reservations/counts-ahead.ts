import type { Logger } from '../../lib/logger.ts';
import { isAhead } from '../counts/counted-since.ts';
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
  for (const { accountId, money, keys, subscriptions, rates } of accounts.values()) {
    const was = before.get(accountId)!;
    const compare = (count: string, beganAtMs: number, isNowMs: number | undefined): void => {
      if (isAhead(beganAtMs, nowMs) && isNowMs !== beganAtMs) found.push({ accountId, count, beganAtMs });
    };
    compare('spending of the day', was.money.dayBeganAtMs, money.dayBeganAtMs);
    for (const { keyId, dayBeganAtMs, weekBeganAtMs, monthBeganAtMs } of was.keys) {
      const key = keys.get(keyId);
      compare(`day of ${keyId}`, dayBeganAtMs, key?.dayBeganAtMs);
      compare(`week of ${keyId}`, weekBeganAtMs, key?.weekBeganAtMs);
      compare(`month of ${keyId}`, monthBeganAtMs, key?.monthBeganAtMs);
    }
    for (const { id, weekBeganAtMs, periodBeganAtMs } of was.subscriptions) {
      const subscription = subscriptions.get(id);
      compare(`calls of the week of ${id}`, weekBeganAtMs, subscription?.weekBeganAtMs);
      compare(`tokens of the period of ${id}`, periodBeganAtMs, subscription?.periodBeganAtMs);
      const slot = subscription?.oldestSlots.findLast(({ takenAtMs }) => isAhead(takenAtMs, nowMs));
      if (slot) found.push({ accountId, count: `calls of five hours of ${id}`, beganAtMs: slot.takenAtMs });
    }
    for (const rate of was.rates) {
      const name = ['minute', rate.keyId && `of ${rate.keyId}`, rate.model && `of ${rate.model}`]
        .filter(Boolean)
        .join(' ');
      compare(name, rate.countedAtMs, rates.get(rateName(rate))?.countedAtMs);
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
