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
  /** Canonical ids. */
  readonly models: ReadonlySet<string>;
  /** The largest request. */
  readonly inputBytesMax: number;
  /** The most output tokens that a request may ask for. */
  readonly outputTokensMax: number;
  /** Calls that may wait for their turn at the concurrency limit, and for how long; none by default. */
  readonly queue: { readonly length: number; readonly waitMs: number };
}

const DAY_MS = 24 * 3_600_000;

/** How long a period lasts. */
export const periodMsOf = ({ periodDays }: Pick<PlanTerms, 'periodDays'>): number => periodDays * DAY_MS;

/** Compiles the plans of a configuration once. */
export function compilePlans({ plans }: Config): PlanTerms[] {
  return Object.entries(plans).map(([id, plan]) => ({
    id,
    name: plan.name,
    fiveHourCalls: plan.fiveHourCalls,
    weeklyCalls: plan.weeklyCalls,
    concurrency: plan.concurrency,
    quotaTokens: plan.quotaTokens,
    periodDays: plan.periodDays,
    models: new Set(plan.models),
    inputBytesMax: plan.inputByteLimit,
    outputTokensMax: plan.outputTokenLimit,
    queue: { length: plan.queue.length, waitMs: plan.queue.wait },
  }));
}
