import { z } from 'zod';
import type { AccountStore } from '../../accounting/accounts/store.ts';
import type { LedgerStore } from '../../accounting/ledger/ledger-store.ts';
import { factorInForce, LIST_PRICE_BASIS_POINTS } from '../../accounting/pricing/price-factor.ts';
import type { RunningPeriods } from '../../accounting/pricing/running-periods.ts';
import { isShownModel } from '../../calls/allowed-models.ts';
import type { Config } from '../../config/schema.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Actor } from '../../people/actor.ts';
import { groupFactorOf } from '../../providers/catalog/account-group.ts';
import type { Catalog } from '../../providers/catalog/catalog.ts';
import { requireAccount } from '../accounts/require-account.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { count, listOf, pageOf } from '../management/response-fields.ts';
import { shown, shownPage } from '../management/shown.ts';
import { subscriptionResponse } from '../management/wire.ts';
import { type PlanAdminDependencies, planRemainder, planResponse, planToWire, readRemainder } from './admin.ts';
import { listedModelMembers, listedModelToWire } from './listed-model.ts';
import { listSubscriptions, type SubscriptionAdminDependencies, subscriptionList } from './subscriptions.ts';

type OwnPlanDependencies = PlanAdminDependencies &
  Pick<SubscriptionAdminDependencies, 'subscriptions'> & {
    readonly accounts: Pick<AccountStore, 'findAccount' | 'findKey'>;
    readonly ledger: Pick<LedgerStore, 'findBalances'>;
    readonly periods: () => RunningPeriods;
    readonly catalog: () => Catalog;
    readonly config: () => Config;
    readonly clock: Clock;
  };

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

const ownModel = z
  .strictObject({
    ...listedModelMembers,
    isInPlan: z.boolean().describe('Whether the account’s Coding Plan includes the model.'),
  })
  .meta({ id: 'OwnModel' });

const ownModels = z.strictObject({
  data: listOf(ownModel),
  priceFactorBasisPoints: count.describe('The account’s price as a share of the list price; 10000 is the list price.'),
});

export function ownPlanEndpoints(dependencies: OwnPlanDependencies): AccountEndpoint[] {
  const { accounts, ledger, periods, plans, catalog, config, clock } = dependencies;

  /** Returns the models that an actor may use; `null`: all. */
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
      run: async (_input, { scope }) => shown(planRemainder, await readRemainder(dependencies, scope.accountId)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/subscriptions',
      summary: 'List the subscriptions of the account, newest first',
      needs: 'member',
      query: subscriptionList,
      response: pageOf(ownSubscription),
      run: async ({ query }, { scope }) =>
        shownPage(ownSubscription, await listSubscriptions(dependencies, scope.accountId, query)),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/plans',
      summary: 'List the available plans',
      needs: 'member',
      response: z.strictObject({ data: listOf(ownPlan) }),
      run: async () => ({ data: plans().map((plan) => shown(ownPlan, planToWire(plan, 0))) }),
    }),
    accountEndpoint({
      method: 'GET',
      path: '/models',
      summary: 'List the models that may be called, with list prices and the account’s prices',
      needs: 'member',
      response: ownModels,
      async run(_input, { actor, scope: { accountId } }) {
        const allowed = await allowedTo(actor);
        const { groupId, allowedModels } = await requireAccount(accounts, accountId);
        const ofGroup = catalog().of(groupId);
        const lists = {
          allowedModels: allowed,
          memberModels: null,
          accountModels: allowedModels && new Set(allowedModels),
        };
        const balance = (await ledger.findBalances([accountId], periods())).get(accountId);
        const { planId } = await readRemainder(dependencies, accountId);
        const planModels = new Set(plans().find(({ id }) => id === planId)?.models);
        const named = config().models;
        const models = ofGroup.models.filter(
          (model) => named[model.id]?.listed === true && isShownModel(model, lists, ofGroup.group),
        );
        const ownFactor = balance?.priceFactorBasisPoints ?? LIST_PRICE_BASIS_POINTS;
        return {
          data: models.map((model) => ({
            ...listedModelToWire(model, named, clock.nowMs()),
            isInPlan: planModels.has(model.id),
          })),
          priceFactorBasisPoints: factorInForce(ownFactor, groupFactorOf(ofGroup.group)),
        };
      },
    }),
  ];
}
