import type { Config } from '../../config/schema.ts';

/** The terms of a Coding Plan, as in the configuration in force (`docs/coding-plan.md`). */
export interface PlanTerms {
  readonly id: string;
  readonly name: string;
  readonly fiveHourCalls: number;
  readonly weeklyCalls: number;
  readonly concurrency: number;
  /** Tokens in a period. */
  readonly quotaTokens: number;
  readonly periodDays: number;
  /** What a period is sold for; `null`: no price is noted. */
  readonly sale: PlanSale | null;
  /** Canonical ids. */
  readonly models: ReadonlySet<string>;
  /** The largest request. */
  readonly inputBytesMax: number;
  /** The most output tokens that a request may ask for. */
  readonly outputTokensMax: number;
  /** Calls that may wait for their turn at the concurrency limit, and for how long; none by default. */
  readonly queue: { readonly length: number; readonly waitMs: number };
}

/** The price of a period, and the time zone whose days it is spread over (`usage/plan-revenue.ts`). It charges nothing. */
export interface PlanSale {
  readonly priceNano: bigint;
  readonly timezone: string;
}

const DAY_MS = 24 * 3_600_000;
export const FIVE_HOURS_MS = 5 * 3_600_000;
/** Instants are absolute, so daylight saving does not change a week. */
export const WEEK_MS = 7 * DAY_MS;

/** How long a period lasts. */
export const periodMsOf = ({ periodDays }: Pick<PlanTerms, 'periodDays'>): number => periodDays * DAY_MS;

/** Compiles the plans of a configuration once. */
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
