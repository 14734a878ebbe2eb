import type { Ids } from '../../lib/ids.ts';
import { type PlanSale, type PlanTerms, periodMsOf } from './plan.ts';
import {
  type KeyedRequest,
  OtherRequestError,
  type Subscription,
  type SubscriptionStore,
} from './subscriptions-store.ts';

/** Why a plan is not granted or renewed; nothing has changed then. */
export type GrantRefusal =
  /** The idempotency key was used for another grant or renewal of the account. */
  | 'other_request'
  | 'unknown_plan'
  /** The period would be over already. */
  | 'over'
  /** The period would end later than can be stored. */
  | 'out_of_range'
  /** Another subscription has that time; of a renewal also: it is canceled, or was renewed meanwhile. */
  | 'taken';

interface AskedGrant {
  readonly accountId: string;
  readonly planId: string;
  /** `null`: now. */
  readonly startsAt: Date | null;
  readonly idempotencyKey: string | null;
}

export interface Granted {
  readonly subscription: Subscription;
  /** Whether the request was carried out before: nothing has changed. */
  readonly isRepeat: boolean;
}

/** Grants and renews plans, each for one period of the terms that are in force. An account has one active subscription at most. */
export interface PlanGrants {
  /** The repeat of a request returns what it made, whatever has changed since. */
  grant(asked: AskedGrant): Promise<Granted | GrantRefusal>;
  /** Weeks and periods go on from the same anchor. Repeats as those of grants. */
  renew(subscription: Subscription, idempotencyKey: string | null): Promise<Granted | GrantRefusal>;
  /** Ends it at once. */
  cancel(subscription: Subscription): Promise<void>;
}

interface PlanGrantsParts {
  readonly subscriptions: Pick<SubscriptionStore, 'findRepeated' | 'grant' | 'renew' | 'cancel'>;
  /** The plans in force. */
  readonly plans: () => readonly PlanTerms[];
  /** Read in the database, so that a subscription that begins now has begun for the next call. */
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

interface GrantedPeriod {
  readonly endsAt: Date;
  readonly sale: PlanSale | null;
}

/** The last instant whose year has four digits: the database does not parse the ISO 8601 text of a later one. */
const ENDS_AT_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

export function createPlanGrants({ subscriptions, plans, databaseNowMs, ids }: PlanGrantsParts): PlanGrants {
  /** Carries a grant or a renewal out, unless it is a repeat. */
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

  /** When a period of a plan ends that begins at an instant, and what it is sold for. */
  function periodOf(planId: string, fromMs: number, nowMs: number): GrantedPeriod | GrantRefusal {
    const plan = plans().find(({ id }) => id === planId);
    if (plan === undefined) return 'unknown_plan';
    const endsAt = new Date(fromMs + periodMsOf(plan));
    if (endsAt.getTime() <= nowMs) return 'over';
    // Not so also for an invalid `Date`.
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
