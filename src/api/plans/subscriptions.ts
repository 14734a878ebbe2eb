import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { PlanTerms } from '../../accounting/plans/plan.ts';
import {
  type KeyedRequest,
  OtherRequestError,
  type Subscription,
  type SubscriptionStore,
} from '../../accounting/plans/subscriptions-store.ts';
import { invalidRequest } from '../../errors/gateway-error.ts';
import type { Ids } from '../../lib/ids.ts';
import { type AdminEndpoint, adminEndpoint } from '../management/admin-endpoint.ts';
import { type ChangeSubject, conflict, notFound } from '../management/endpoint.ts';
import { pageOf } from '../management/response-fields.ts';
import { instant, page, shortText, subscriptionResponse, subscriptionToWire, toPage } from '../management/wire.ts';

export interface SubscriptionAdminParts {
  readonly accounts: AccountStore;
  readonly subscriptions: SubscriptionStore;
  /** The plans in force. */
  readonly plans: () => readonly PlanTerms[];
  /** Read in the database, so that a subscription that begins now has begun for the next call. */
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

const newSubscription = z.strictObject({ planId: shortText, startsAt: instant.nullish() });
export const subscriptionList = z.strictObject(page);

const DAY_MS = 24 * 3_600_000;

/** The last instant whose year has four digits: the database does not parse the ISO 8601 text of a later one. */
const ENDS_AT_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Lists the subscriptions of an account, newest first, as both APIs do. */
export async function listSubscriptions(
  { subscriptions, plans, databaseNowMs }: Pick<SubscriptionAdminParts, 'subscriptions' | 'plans' | 'databaseNowMs'>,
  accountId: string,
  { cursor, limit }: z.infer<typeof subscriptionList>,
) {
  const found = await subscriptions.list(accountId, cursor ?? null, limit);
  const nowMs = await databaseNowMs();
  const wires = found.map((subscription) => subscriptionToWire(subscription, plans(), nowMs));
  return toPage(
    wires,
    limit,
    (wire) => wire,
    (wire) => wire.id,
  );
}

/** Subscriptions: grant, renew, cancel, list. An account has one active subscription at most. */
export function subscriptionEndpoints(parts: SubscriptionAdminParts): AdminEndpoint[] {
  const { accounts, subscriptions, plans, databaseNowMs, ids } = parts;

  async function requireAccount(id: string): Promise<void> {
    if ((await accounts.findAccount(id)) === null) throw notFound('account', id);
  }

  async function requireSubscription(id: string): Promise<Subscription> {
    const found = await subscriptions.find(id);
    if (found === null) throw notFound('subscription', id);
    return found;
  }

  function requirePlan(id: string): PlanTerms {
    const plan = plans().find((candidate) => candidate.id === id);
    if (plan !== undefined) return plan;
    const known = plans().map((candidate) => candidate.id);
    const said = known.length === 0 ? 'No plan is configured.' : `Known: ${known.join(', ')}.`;
    throw invalidRequest(`planId: There is no plan ${JSON.stringify(id.slice(0, 100))}. ${said}`, 'planId');
  }

  /** Carries a grant or a renewal out, unless it is a repeat, whatever has changed since the first one. */
  async function once(
    accountId: string,
    keyed: KeyedRequest | null,
    run: () => Promise<Subscription>,
  ): Promise<Subscription> {
    try {
      return (keyed && (await subscriptions.findRepeated(accountId, keyed))) ?? (await run());
    } catch (error) {
      if (!(error instanceof OtherRequestError)) throw error;
      throw conflict('This Idempotency-Key was used for another grant or renewal of the account.');
    }
  }

  async function oneToWire(subscription: Subscription) {
    return subscriptionToWire(subscription, plans(), await databaseNowMs());
  }

  async function grant(
    accountId: string,
    planId: string,
    asked: Date | null,
    keyed: KeyedRequest | null,
  ): Promise<Subscription> {
    const plan = requirePlan(planId);
    const at = new Date(await databaseNowMs());
    const startsAt = asked ?? at;
    const endsAt = new Date(startsAt.getTime() + plan.periodDays * DAY_MS);
    if (endsAt <= at) throw invalidRequest('startsAt: The period would be over already.', 'startsAt');
    if (!isStorable(endsAt)) throw invalidRequest('startsAt: The period would end after the year 9999.', 'startsAt');
    const granted = await subscriptions.grant(
      { accountId, id: ids.next('sub'), planId: plan.id, startsAt, endsAt, at },
      keyed,
    );
    if (granted !== null) return granted;
    throw conflict('The account has another subscription in that time. Cancel it, or let this one start at its end.');
  }

  async function renew({ accountId, id, planId, endsAt }: Subscription, keyed: KeyedRequest | null) {
    const to = new Date(endsAt.getTime() + requirePlan(planId).periodDays * DAY_MS);
    if (to.getTime() <= (await databaseNowMs())) {
      throw conflict('The subscription ended longer ago than a renewal would last. Grant a new one.');
    }
    if (!isStorable(to)) {
      throw conflict('The subscription would end after the year 9999.');
    }
    const renewed = await subscriptions.renew(accountId, id, endsAt, to, keyed);
    if (renewed !== null) return renewed;
    throw conflict('The subscription is canceled, was renewed meanwhile, or another one begins before its new end.');
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
      summary: 'Grant a Coding Plan for one period, from now or from an instant on',
      body: newSubscription,
      isRepeatable: true,
      response: subscriptionResponse,
      async run({ id, body, idempotencyKey }) {
        await requireAccount(id);
        const { planId, startsAt = null } = body;
        const keyed = keyedBy(idempotencyKey, ['grant', planId, startsAt?.toISOString() ?? null]);
        return oneToWire(await once(id, keyed, () => grant(id, planId, startsAt, keyed)));
      },
    }),
    adminEndpoint({
      method: 'GET',
      path: '/accounts/:id/subscriptions',
      summary: 'List the subscriptions of an account, newest first',
      query: subscriptionList,
      response: pageOf(subscriptionResponse),
      async run({ id, query }) {
        await requireAccount(id);
        return listSubscriptions(parts, id, query);
      },
    }),
    adminEndpoint({
      method: 'POST',
      path: '/subscriptions/:id/renewals',
      subject,
      status: 201,
      summary: 'Renew a subscription by one period; its weeks and periods go on from the same anchor',
      isRepeatable: true,
      response: subscriptionResponse,
      async run({ id, idempotencyKey }) {
        const found = await requireSubscription(id);
        const keyed = keyedBy(idempotencyKey, ['renewal', id]);
        return oneToWire(await once(found.accountId, keyed, () => renew(found, keyed)));
      },
    }),
    adminEndpoint({
      method: 'DELETE',
      path: '/subscriptions/:id',
      subject,
      status: 204,
      summary: 'Cancel a subscription at once',
      response: null,
      async run({ id }) {
        const found = await requireSubscription(id);
        await subscriptions.cancel(found.accountId, id, new Date(await databaseNowMs()));
        return null;
      },
    }),
  ];
}

function keyedBy(idempotencyKey: string | null, asked: readonly (string | null)[]): KeyedRequest | null {
  return idempotencyKey === null ? null : { idempotencyKey, request: JSON.stringify(asked) };
}

/** Whether the database can store the instant; `false` also for an invalid `Date`. */
function isStorable(endsAt: Date): boolean {
  return endsAt.getTime() <= ENDS_AT_MAX_MS;
}
