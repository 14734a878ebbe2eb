import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import type { GrantRefusal, PlanGrants } from '../../accounting/plans/plan-grants.ts';
import type { Subscription, SubscriptionStore } from '../../accounting/plans/subscriptions-store.ts';
import { didYouMean } from '../../config/suggest.ts';
import { type GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, orNotFound, Repeat } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { instant, page, shortText, subscriptionResponse, subscriptionToWire, toPage } from '../management/wire.ts';

export interface SubscriptionAdminDependencies {
  readonly accounts: Pick<AccountStore, 'findAccount'>;
  readonly subscriptions: Pick<SubscriptionStore, 'find' | 'list'>;
  readonly planGrants: PlanGrants;
  readonly plans: () => readonly PlanTerms[];
  readonly databaseNowMs: () => Promise<number>;
}

const newSubscription = z.strictObject({ planId: shortText, startsAt: instant.nullish() });
export const subscriptionList = z.strictObject(page);

export async function listSubscriptions(
  {
    subscriptions,
    plans,
    databaseNowMs,
  }: Pick<SubscriptionAdminDependencies, 'subscriptions' | 'plans' | 'databaseNowMs'>,
  accountId: string,
  { cursor, limit }: z.infer<typeof subscriptionList>,
) {
  const found = await subscriptions.list(accountId, cursor ?? null, limit);
  const nowMs = await databaseNowMs();
  const wires = found.map((subscription) => subscriptionToWire(subscription, plans(), nowMs));
  return toPage(wires, limit, (wire) => wire.id);
}

/** Endpoints for subscriptions. An account has at most one that is active. */
export function subscriptionEndpoints(dependencies: SubscriptionAdminDependencies): AdminEndpoint[] {
  const { accounts, subscriptions, planGrants, plans, databaseNowMs } = dependencies;

  const requireSubscription = async (id: string): Promise<Subscription> =>
    orNotFound(await subscriptions.find(id), 'subscription', id);

  async function oneToWire(subscription: Subscription) {
    return subscriptionToWire(subscription, plans(), await databaseNowMs());
  }

  function unknownPlan(id: string): GatewayError {
    const known = plans().map((plan) => plan.id);
    const said = known.length === 0 ? 'No plan is configured.' : `Known: ${known.join(', ')}.`;
    const name = id.slice(0, 100);
    return invalidRequest(
      `planId: There is no plan ${JSON.stringify(name)}.${didYouMean(name, known)} ${said}`,
      'planId',
    );
  }

  function planError(refusal: GrantRefusal, planId: string, ofPeriod: PeriodErrors): GatewayError {
    if (refusal === 'other_request') {
      return conflict('This Idempotency-Key was used for another grant or renewal of the account.');
    }
    return refusal === 'unknown_plan' ? unknownPlan(planId) : ofPeriod[refusal]();
  }

  const subject: ChangeSubject = {
    kind: 'subscription',
    async read(id) {
      const found = await subscriptions.find(id);
      return found && oneToWire(found);
    },
  };

  return [
    adminEndpoint({
      method: 'POST',
      path: '/accounts/:id/subscriptions',
      subject: { kind: 'subscription', isMadeInAccount: true },
      status: 201,
      summary: 'Grant a Coding Plan for one period, starting now or at a given instant',
      body: newSubscription,
      isRepeatable: true,
      response: subscriptionResponse,
      async run({ id, body, idempotencyKey }) {
        await requireAccount(accounts, id);
        const { planId, startsAt = null } = body;
        const granted = await planGrants.grant({ accountId: id, planId, startsAt, idempotencyKey });
        if (typeof granted === 'string') throw planError(granted, planId, GRANT_ERRORS);
        return Repeat.if(granted.isRepeat, await oneToWire(granted.subscription));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/subscriptions',
      summary: 'List the subscriptions of an account, newest first',
      query: subscriptionList,
      response: pageOf(subscriptionResponse),
      async run({ id, query }) {
        await requireAccount(accounts, id);
        return listSubscriptions(dependencies, id, query);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/subscriptions/:id/renewals',
      subject,
      status: 201,
      summary: 'Renew a subscription by one period; weeks and periods keep their anchor',
      isRepeatable: true,
      response: subscriptionResponse,
      async run({ id, idempotencyKey }) {
        const found = await requireSubscription(id);
        const renewed = await planGrants.renew(found, idempotencyKey);
        if (typeof renewed === 'string') throw planError(renewed, found.planId, RENEWAL_ERRORS);
        return Repeat.if(renewed.isRepeat, await oneToWire(renewed.subscription));
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/subscriptions/:id',
      subject,
      summary: 'Cancel a subscription at once',
      async run({ id }) {
        await planGrants.cancel(await requireSubscription(id));
      },
    }),
  ];
}

type PeriodErrors = Readonly<Record<Exclude<GrantRefusal, 'other_request' | 'unknown_plan'>, () => GatewayError>>;

const GRANT_ERRORS: PeriodErrors = {
  over: () => invalidRequest('startsAt: The period would end in the past.', 'startsAt'),
  out_of_range: () => invalidRequest('startsAt: The period would end after the year 9999.', 'startsAt'),
  taken: () =>
    conflict('The account has another subscription in that period. Cancel it, or start this one at its end.'),
};

const RENEWAL_ERRORS: PeriodErrors = {
  over: () => conflict('The subscription ended more than one period ago. Grant a new one.'),
  out_of_range: () => conflict('The subscription would end after the year 9999.'),
  taken: () => conflict('The subscription is canceled or was just renewed, or another one begins before its new end.'),
};
