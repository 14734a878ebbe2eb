import type { Ids } from '../../lib/ids.ts';
import { type PlanSale, type PlanTerms, periodMsOf } from './plan.ts';
import {
  type KeyedRequest,
  OtherRequestError,
  type Subscription,
  type SubscriptionStore,
} from './subscriptions-store.ts';

export type GrantRefusal =
  /** The account used the idempotency key for another grant or renewal. */
  | 'other_request'
  | 'unknown_plan'
  | 'over'
  /** The period would end after the last instant that can be stored. */
  | 'out_of_range'
  /** Another subscription overlaps the period, or the subscription to renew was canceled or renewed concurrently. */
  | 'taken';

interface AskedGrant {
  readonly accountId: string;
  readonly planId: string;
  /** When the subscription begins; `null`: now. */
  readonly startsAt: Date | null;
  readonly idempotencyKey: string | null;
}

export interface Granted {
  readonly subscription: Subscription;
  /** Whether an earlier request with the same idempotency key did this already, so that nothing was changed. */
  readonly isRepeat: boolean;
}

/** Grants and renews plans for one period at a time. An account has at most one active subscription. */
export interface PlanGrants {
  /** Grants a plan. A repeated request returns the subscription of the first one in its current state. */
  grant(asked: AskedGrant): Promise<Granted | GrantRefusal>;
  /** Adds a period to a subscription. Weeks and periods keep their anchor. Repeated requests are handled as in `grant`. */
  renew(subscription: Subscription, idempotencyKey: string | null): Promise<Granted | GrantRefusal>;
  cancel(subscription: Subscription): Promise<void>;
}

interface PlanGrantsDependencies {
  readonly subscriptions: Pick<SubscriptionStore, 'findRepeated' | 'grant' | 'renew' | 'cancel'>;
  readonly plans: () => readonly PlanTerms[];
  /** The database's clock, so that a subscription that begins now is active for the next call. */
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

interface GrantedPeriod {
  readonly endsAt: Date;
  readonly sale: PlanSale | null;
}

/** The latest end of a period. PostgreSQL does not parse ISO 8601 text with longer years. */
const ENDS_AT_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function createPlanGrants({ subscriptions, plans, databaseNowMs, ids }: PlanGrantsDependencies): PlanGrants {
  async function once(
    accountId: string,
    keyed: KeyedRequest | null,
    run: () => Promise<Subscription | GrantRefusal>,
  ): Promise<Granted | GrantRefusal> {
    try {
      const repeated = keyed && (await subscriptions.findRepeated(accountId, keyed));
      if (repeated !== null) return { subscription: repeated, isRepeat: true };
      const granted = await run();
      return typeof granted === 'string' ? granted : { subscription: granted, isRepeat: false };
    } catch (error) {
      if (error instanceof OtherRequestError) return 'other_request';
      throw error;
    }
  }

  function periodOf(planId: string, fromMs: number, nowMs: number): GrantedPeriod | GrantRefusal {
    const plan = plans().find(({ id }) => id === planId);
    if (plan === undefined) return 'unknown_plan';
    const endsAt = new Date(fromMs + periodMsOf(plan));
    if (endsAt.getTime() <= nowMs) return 'over';
    // If `endsAt` is an invalid date, this comparison is false, too.
    return endsAt.getTime() <= ENDS_AT_MAX_MS ? { endsAt, sale: plan.sale } : 'out_of_range';
  }

  return {
    async grant({ accountId, planId, startsAt: asked, idempotencyKey }) {
      const keyed = keyedBy(idempotencyKey, ['grant', planId, asked?.toISOString() ?? null]);
      return once(accountId, keyed, async () => {
        const at = new Date(await databaseNowMs());
        const startsAt = asked ?? at;
        const period = periodOf(planId, startsAt.getTime(), at.getTime());
        if (typeof period === 'string') return period;
        const granted = { accountId, id: ids.next('sub'), planId, startsAt, at, ...period };
        return (await subscriptions.grant(granted, keyed)) ?? 'taken';
      });
    },
    async renew({ accountId, id, planId, endsAt: from }, idempotencyKey) {
      const keyed = keyedBy(idempotencyKey, ['renewal', id]);
      return once(accountId, keyed, async () => {
        const period = periodOf(planId, from.getTime(), await databaseNowMs());
        if (typeof period === 'string') return period;
        return (await subscriptions.renew(accountId, id, from, period.endsAt, keyed, period.sale)) ?? 'taken';
      });
    },
    async cancel({ accountId, id }) {
      await subscriptions.cancel(accountId, id, new Date(await databaseNowMs()));
    },
  };
}

function keyedBy(idempotencyKey: string | null, asked: readonly (string | null)[]): KeyedRequest | null {
  return idempotencyKey === null ? null : { idempotencyKey, request: JSON.stringify(asked) };
}
