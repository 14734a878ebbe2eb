import type { Config } from '../../config/schema.ts';

/** A plan as it is configured now (`docs/coding-plan.md`). */
export interface PlanTerms {
  readonly id: string;
  readonly name: string;
  readonly fiveHourCalls: number;
  readonly weeklyCalls: number;
  readonly concurrency: number;
  readonly quotaTokens: number;
  readonly periodDays: number;
  /** Price of the plan; `null`: none is recorded. */
  readonly sale: PlanSale | null;
  /** Canonical ids of the models that the plan includes. */
  readonly models: ReadonlySet<string>;
  readonly inputBytesMax: number;
  readonly outputTokensMax: number;
  /** Limits of the queue of calls at the concurrency limit. By default no call waits. */
  readonly queue: { readonly length: number; readonly waitMs: number };
}

/** Price of a plan for a period. The gateway records it for reports (`usage/plan-revenue.ts`) but does not charge it. */
export interface PlanSale {
  readonly priceNano: bigint;
  readonly timezone: string;
}

const DAY_MS = 24 * 3_600_000;
export const FIVE_HOURS_MS = 5 * 3_600_000;
/** Always seven days, even when daylight saving time begins or ends. */
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
