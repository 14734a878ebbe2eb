import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import { priceInForce, type TimeOfDayPrice } from '../../accounting/pricing/price.ts';
import { LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import { recordedPrices } from '../../accounting/pricing/priced-by.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Actor } from '../../people/actor.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { price, priceToWire } from '../calls/wire.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { count, listOf, pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { subscriptionResponse } from '../management/wire.ts';
import { type PlanAdminParts, planRemainder, planResponse, planToWire, readRemainder } from './admin.ts';
import { listSubscriptions, type SubscriptionAdminParts, subscriptionList } from './subscriptions.ts';

export type OwnPlanParts = PlanAdminParts &
  Pick<SubscriptionAdminParts, 'subscriptions'> & {
    readonly accounts: Pick<AccountStore, 'findKey'>;
    readonly ledger: Pick<LedgerStore, 'findBalances'>;
    readonly periods: () => RunningPeriods;
    readonly catalog: () => Catalog;
    readonly config: () => Config;
    readonly clock: Clock;
  };

/** Without how many accounts have it. */
const ownPlan = planResponse
  .pick({
    id: true,
    name: true,
    fiveHourCalls: true,
    weeklyCalls: true,
    concurrency: true,
    quotaTokens: true,
    periodDays: true,
    models: true,
    inputByteLimit: true,
    outputTokenLimit: true,
  })
  .meta({ id: 'OfferedPlan' });

const ownSubscription = subscriptionResponse
  .pick({
    id: true,
    accountId: true,
    planId: true,
    planName: true,
    status: true,
    startsAt: true,
    endsAt: true,
    canceledAt: true,
    createdAt: true,
  })
  .meta({ id: 'OwnSubscription' });

/** A part of the day in minutes since midnight; one that ends before it begins crosses midnight. */
const dayRange = z.strictObject({ fromMinute: count, toMinute: count });

const timeOfDay = z.strictObject({
  timezone: z.string(),
  peakHours: listOf(dayRange).describe('In minutes since midnight of the time zone; a range may cross midnight.'),
  peak: price,
  offPeak: price,
});

const ownModel = z
  .strictObject({
    id: z.string(),
    aliases: listOf(z.string()),
    displayName: z.string(),
    operations: listOf(z.string()),
    contextTokens: count.nullable(),
    outputTokens: count.nullable(),
    price: price.describe('The list price now, with the names that records of calls have.'),
    timeOfDay: timeOfDay.nullable().describe('The list prices by the time of day; null: the same at all times.'),
    isInPlan: z.boolean().describe('Whether the Coding Plan of the account has it.'),
  })
  .meta({ id: 'OwnModel' });

const ownModels = z.strictObject({
  data: listOf(ownModel),
  priceFactorBasisPoints: count.describe('What the account pays of the list price; 10000 is the list price.'),
});

/** The Coding Plan, what is offered, and the models with their prices. */
export function ownPlanEndpoints(parts: OwnPlanParts): AccountEndpoint[] {
  const { accounts, ledger, periods, plans, catalog, config, clock } = parts;

  /** The models of a key's allow-list; `null`: every model. */
  async function allowedTo(actor: Actor): Promise<ReadonlySet<string> | null> {
    const key = actor.kind === 'api_key' ? await accounts.findKey(actor.id) : null;
    return key?.allowed.models ? new Set(key.allowed.models) : null;
  }

  return [
    accountEndpoint({
      method: 'GET',
      path: '/plan',
      summary: 'Read what remains of the Coding Plan of the account: windows, quota, concurrency',
      needs: 'member',
      response: planRemainder,
      run: async (_input, { scope }) => shown(planRemainder, await readRemainder(parts, scope.accountId)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/subscriptions',
      summary: 'List the subscriptions of the account, newest first',
      needs: 'member',
      query: subscriptionList,
      response: pageOf(ownSubscription),
      run: async ({ query }, { scope }) =>
        shownPage(ownSubscription, await listSubscriptions(parts, scope.accountId, query)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/plans',
      summary: 'List the plans that are offered',
      needs: 'member',
      response: z.strictObject({ data: listOf(ownPlan) }),
      run: async () => ({ data: plans().map((plan) => shown(ownPlan, planToWire(plan, 0))) }),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/models',
      summary: 'List the models that may be called, with their list prices and what the account pays of these',
      needs: 'member',
      response: ownModels,
      async run(_input, { actor, scope: { accountId } }) {
        const allowed = await allowedTo(actor);
        const balance = (await ledger.findBalances([accountId], periods())).get(accountId);
        const { planId } = await readRemainder(parts, accountId);
        const planModels = new Set(plans().find(({ id }) => id === planId)?.models);
        const named = config().models;
        const models = catalog().models.filter(
          ({ id }) => named[id]?.listed === true && (allowed === null || allowed.has(id)),
        );
        return {
          data: models.map((model) => {
            const { rule, prices } = priceInForce(model.price, clock.nowMs());
            return {
              id: model.id,
              aliases: named[model.id]!.aliases,
              displayName: named[model.id]!.displayName ?? model.id,
              operations: [...model.operations].map(({ name }) => name),
              contextTokens: model.contextTokensMax,
              outputTokens: model.outputTokensMax,
              price: priceToWire(rule, recordedPrices(prices)),
              timeOfDay: model.price.timeOfDay === null ? null : timeOfDayToWire(model.price.timeOfDay),
              isInPlan: planModels.has(model.id),
            };
          }),
          priceFactorBasisPoints: balance?.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS,
        };
      },
    }),
  ];
}

function timeOfDayToWire({ timezone, peakHours, peak, offPeak }: TimeOfDayPrice): z.infer<typeof timeOfDay> {
  return {
    timezone,
    peakHours: peakHours.map(({ fromMinute, toMinute }) => ({ fromMinute, toMinute })),
    peak: priceToWire('peak', recordedPrices(peak)),
    offPeak: priceToWire('off_peak', recordedPrices(offPeak)),
  };
}
