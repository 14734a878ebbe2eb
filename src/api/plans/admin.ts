import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import { findCurrentPlan, planSnapshot, usableAgainMs } from '../../accounting/plans/snapshot.ts';
import type { SubscriptionState } from '../../accounting/plans/subscription-state-store.ts';
import type { SubscriptionStore } from '../../accounting/plans/subscriptions-store.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { at, count, listOf } from '../management/response-fields.ts';
import { shown } from '../management/shown.ts';
import { instantToWire } from '../management/wire.ts';

export interface PlanAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
  readonly subscriptions: Pick<SubscriptionStore, 'countActive' | 'findState'>;
  readonly plans: () => readonly PlanTerms[];
  readonly databaseNowMs: () => Promise<number>;
}

/** Maximum to which subscriptions are counted, so that the list is fast. */
const COUNTED_MAX = 10_000;

export const planResponse = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    activeSubscriptions: count,
    hasMoreSubscriptions: z
      .boolean()
      .describe(
        'Whether there are more active subscriptions than `activeSubscriptions` says: the number is counted only up to a limit.',
      ),
    fiveHourCalls: count,
    weeklyCalls: count,
    concurrency: count,
    quotaTokens: count,
    periodDays: count,
    models: listOf(z.string()),
    inputByteLimit: count,
    outputTokenLimit: count,
  })
  .meta({ id: 'Plan' });
export type PlanResponse = z.infer<typeof planResponse>;
const plansResponse = z.strictObject({ data: listOf(planResponse) });
export type PlansResponse = z.infer<typeof plansResponse>;

const window = { limit: count, used: count, remaining: count };
export const planRemainder = z
  .strictObject({
    accountId: z.string(),
    planId: z.string().nullable(),
    planName: z.string().nullable(),
    isUsable: z.boolean(),
    usableAgainAt: at.nullable(),
    message: z.string().nullable(),
    fiveHour: z
      .strictObject({
        ...window,
        roomAt: at.nullable().describe('When a used-up window admits a call again.'),
        moreAt: at
          .nullable()
          .describe('When the number of remaining calls next increases; null if no calls are counted.'),
      })
      .nullable(),
    weekly: z.strictObject({ ...window, startedAt: at, resetAt: at }).nullable(),
    quota: z
      .strictObject({ limitTokens: count, usedTokens: count, remainingTokens: count, startedAt: at, resetAt: at })
      .nullable(),
    concurrency: z.strictObject({ limit: count, inFlight: count }).nullable(),
  })
  .meta({ id: 'PlanRemainder' });
export type PlanRemainder = z.infer<typeof planRemainder>;

export async function readRemainder(
  { subscriptions, plans, databaseNowMs }: Omit<PlanAdminDependencies, 'accounts'>,
  accountId: string,
) {
  const nowMs = await databaseNowMs();
  const state = await subscriptions.findState(accountId, new Date(nowMs), plans());
  return remainderToWire(accountId, state, plans(), nowMs);
}

export function planEndpoints(dependencies: PlanAdminDependencies): AdminEndpoint[] {
  const { accounts, subscriptions, plans, databaseNowMs } = dependencies;
  return [
    adminEndpoint({
      method: 'GET',
      path: '/plans',
      summary: 'List the configured plans with the number of their active subscriptions',
      response: plansResponse,
      async run() {
        const offered = plans();
        const now = new Date(await databaseNowMs());
        const planIds = offered.map(({ id }) => id);
        const active = await subscriptions.countActive(planIds, now, COUNTED_MAX);
        return { data: offered.map((plan) => planToWire(plan, active.get(plan.id) ?? 0)) };
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/plan',
      summary: 'Read what remains of the Coding Plan of an account: windows, quota, concurrency',
      response: planRemainder,
      async run({ id }) {
        await requireAccount(accounts, id);
        return readRemainder(dependencies, id);
      },
    }),
  ];
}

export function planToWire(plan: PlanTerms, active: number): PlanResponse {
  return shown(planResponse, {
    ...plan,
    activeSubscriptions: active,
    hasMoreSubscriptions: active >= COUNTED_MAX,
    models: [...plan.models],
    inputByteLimit: plan.inputBytesMax,
    outputTokenLimit: plan.outputTokensMax,
  });
}

function remainderToWire(
  accountId: string,
  state: SubscriptionState | null,
  plans: readonly PlanTerms[],
  nowMs: number,
): PlanRemainder {
  const current = findCurrentPlan(state, plans, nowMs);
  if (current.plan === null) {
    return {
      accountId,
      planId: state?.planId ?? null,
      planName: null,
      isUsable: false,
      usableAgainAt: null,
      message: current.reason,
      fiveHour: null,
      weekly: null,
      quota: null,
      concurrency: null,
    };
  }
  const { plan, state: used } = current;
  const snapshot = planSnapshot(plan, used, nowMs);
  const { fiveHour, weekly, pkg, concurrency, remaining } = snapshot;
  const moreAt = instantToWire(used.fiveHourMoreAtMs);
  return {
    accountId,
    planId: plan.id,
    planName: plan.name,
    isUsable: remaining > 0,
    usableAgainAt: instantToWire(usableAgainMs(used, snapshot)),
    message: null,
    fiveHour: fiveHour && {
      limit: fiveHour.limit,
      used: fiveHour.used,
      remaining: fiveHour.remaining,
      roomAt: fiveHour.remaining > 0 ? null : moreAt,
      moreAt,
    },
    weekly: weekly && {
      limit: weekly.limit,
      used: weekly.used,
      remaining: weekly.remaining,
      startedAt: weekly.windowStart,
      resetAt: weekly.windowEnd,
    },
    quota: pkg && {
      limitTokens: pkg.quotaTokens,
      usedTokens: pkg.usedTokens,
      remainingTokens: pkg.remainingTokens,
      startedAt: pkg.periodStart,
      resetAt: pkg.periodEnd,
    },
    concurrency,
  };
}
