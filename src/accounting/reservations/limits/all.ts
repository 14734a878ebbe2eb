import { balance } from './balance.ts';
import { dailyCap } from './daily-cap.ts';
import { fiveHourWindow } from './five-hour-window.ts';
import { keyBudgets, memberBudgets } from './key-budgets.ts';
import { keyCalls, keyConcurrency, memberCalls, memberConcurrency } from './key-limits.ts';
import type { Limit } from './limit.ts';
import { minuteRates } from './minute-rates.ts';
import { planConcurrency } from './plan-concurrency.ts';
import { planHasModel, planInputSize, planIsActive, planOutputSize } from './plan-terms.ts';
import { reservedTokens, tokenQuota } from './token-quota.ts';
import { weeklyWindow } from './weekly-window.ts';

/** Everything that limits a call, in the order of precedence of its refusals: the first one that has no room is named. */
export const LIMITS: readonly Limit[] = [
  keyBudgets,
  keyCalls,
  keyConcurrency,
  memberBudgets,
  memberCalls,
  memberConcurrency,
  balance,
  dailyCap,
  planIsActive,
  planHasModel,
  planInputSize,
  planOutputSize,
  fiveHourWindow,
  weeklyWindow,
  tokenQuota,
  reservedTokens,
  planConcurrency,
  minuteRates,
];
