import type { Config } from '../../config/schema.ts';

/** In the configuration in force (`docs/coding-plan.md`). */
export interface PlanTerms {
  readonly id: string;
  readonly name: string;
  readonly fiveHourCalls: number;
  readonly weeklyCalls: number;
  readonly concurrency: number;
  readonly quotaTokens: number;
  readonly periodDays: number;
  /** `null`: no price is recorded. */
  readonly sale: PlanSale | null;
  /** Canonical model ids. */
  readonly models: ReadonlySet<string>;
  readonly inputBytesMax: number;
  readonly outputTokensMax: number;
  /** Calls that wait at the concurrency limit. By default no call waits. */
  readonly queue: { readonly length: number; readonly waitMs: number };
}

/** The gateway records the price but does not charge it. Revenue is spread over the days of a time zone (`usage/plan-revenue.ts`). */
export interface PlanSale {
  readonly priceNano: bigint;
  readonly timezone: string;
}

const DAY_MS = 24 * 3_600_000;
export const FIVE_HOURS_MS = 5 * 3_600_000;
/** Daylight saving time does not change the length of a week. */
export const WEEK_MS = 7 * DAY_MS;

export const periodMsOf = ({ periodDays }: Pick<PlanTerms, 'periodDays'>): number => periodDays * DAY_MS;

export function compilePlans({ plans, billing }: Config): PlanTerms[] {
  return Object.entries(plans).map(([id, plan]) => ({
    id,
    name: plan.name,
    fiveHourCalls: plan.fiveHourCalls,
    weeklyCalls: plan.weeklyCalls,
    concurrency: plan.concurrency,
    quotaTokens: plan.quotaTokens,
    periodDays: plan.periodDays,
    sale: plan.priceYuan === undefined ? null : { priceNano: plan.priceYuan, timezone: billing.timezone },
    models: new Set(plan.models),
    inputBytesMax: plan.inputByteLimit,
    outputTokensMax: plan.outputTokenLimit,
    queue: { length: plan.queue.length, waitMs: plan.queue.wait },
  }));
}
