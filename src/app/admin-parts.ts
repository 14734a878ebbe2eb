import { randomFillSync } from 'node:crypto';
import { createAccountChanges } from '../accounting/accounts/account-changes.ts';
import { createAccountCreations } from '../accounting/accounts/account-creation-store.ts';
import type { CallerBudgetStore } from '../accounting/accounts/caller-budget-store.ts';
import type { MemberLimitStore } from '../accounting/accounts/key-limit-store.ts';
import { createKeyReplacementStore } from '../accounting/accounts/key-replacement-store.ts';
import { createKeySearchStore } from '../accounting/accounts/key-search-store.ts';
import { createKeyWithLimitsStore } from '../accounting/accounts/key-with-limits-store.ts';
import { createKeys } from '../accounting/accounts/keys.ts';
import type { Principals } from '../accounting/accounts/principals.ts';
import { createKeyStatusStore } from '../accounting/accounts/status-store.ts';
import { type AccountStore, createAccountStore } from '../accounting/accounts/store.ts';
import { createInvoiceStore } from '../accounting/invoices/store.ts';
import type { PlacedPools } from '../accounting/partitions/placed-pools.ts';
import type { Place } from '../accounting/partitions/placement.ts';
import { createPlanGrants } from '../accounting/plans/plan-grants.ts';
import { createInFlightStore } from '../accounting/reservations/in-flight-store.ts';
import { createUsageStore } from '../accounting/usage/usage-store.ts';
import { createRedemptionStore, type OfferedPlan } from '../accounting/vouchers/redemption-store.ts';
import { createVoucherRedeemer } from '../accounting/vouchers/voucher-redeemer.ts';
import { createVoucherStore } from '../accounting/vouchers/vouchers-store.ts';
import type { AdminApiDependencies } from '../api/registers/admin.ts';
import type { Settings } from '../calls/settings.ts';
import { createRevisionStore } from '../config/revisions/revisions-store.ts';
import type { Config } from '../config/schema.ts';
import { createSealedSecretsStore } from '../config/sealed-secrets/sealed-secrets-store.ts';
import type { SealingKey } from '../config/sealed-secrets/sealing.ts';
import { createSecretUses } from '../config/sealed-secrets/secret-uses.ts';
import { createSecrets } from '../config/sealed-secrets/secrets.ts';
import type { DirectoryDatabase, DirectoryPool } from '../db/home-pools.ts';
import { schemaVersion } from '../db/migrations.ts';
import type { Clock } from '../lib/clock.ts';
import type { Ids } from '../lib/ids.ts';
import { createUsedBudgets } from '../notices/used-budgets.ts';
import { createAdminTokenMaker } from '../people/admin-token-maker.ts';
import type { AdminTokensStore } from '../people/admin-tokens-store.ts';
import { createRefusalsStore } from '../requests/refusals-store.ts';
import { exportDatabase } from '../transfer/export.ts';
import type { PartitionAdmin } from './partition-accounting.ts';
import type { People } from './people.ts';

/** Creates the stores that use the directory, alone or together with partitions. `place` chooses the partition of a new account. */
export function createPlacedAdmin(pools: PlacedPools, plans: () => readonly OfferedPlan[], place: Place) {
  const { directory } = pools;
  return {
    accounts: createAccountStore(directory),
    refusals: createRefusalsStore(directory),
    keysWithLimits: createKeyWithLimitsStore(pools),
    keyReplacements: createKeyReplacementStore(pools),
    keyStatuses: createKeyStatusStore(directory),
    vouchers: createVoucherStore(directory),
    keySearch: createKeySearchStore(pools),
    inFlight: createInFlightStore(pools),
    usage: createUsageStore(pools),
    usedBudgets: createUsedBudgets(pools),
    accountCreations: createAccountCreations(pools.partitions, place),
    invoices: createInvoiceStore(directory),
    redemptions: createRedemptionStore(pools, plans),
  };
}

type AdminStores = PartitionAdmin & ReturnType<typeof createPlacedAdmin>;

/** `keys` returns the keys of this process, or throws a SealingKeyError. */
export function createSealedSecretParts(
  directory: DirectoryPool,
  keys: () => readonly SealingKey[],
  config: () => Config,
): Pick<AdminApiDependencies, 'secrets' | 'secretUses'> {
  return {
    secrets: createSecrets({ store: createSealedSecretsStore(directory), keys }),
    secretUses: createSecretUses(config, createRevisionStore(directory)),
  };
}

/** Dependencies that differ between a gateway and a command that opens the database itself. */
type OfProcess =
  | 'auditLedger'
  | 'catalogReader'
  | 'changes'
  | 'configStatus'
  | 'credentialsOf'
  | 'limits'
  | 'drains'
  | 'health'
  | 'listProviderModels'
  | 'lowBalanceNano'
  | 'nodeCatalog'
  | 'nodeId'
  | 'notify'
  | 'periods'
  | 'priceSource'
  | 'revisions'
  | 'searchDialect'
  | 'secrets'
  | 'secretUses'
  | 'testProvider'
  | 'unpricedUses'
  | 'webhooks';

interface AdminDependencies extends Pick<AdminApiDependencies, OfProcess> {
  readonly people: People;
  readonly stores: AdminStores;
  readonly directory: DirectoryDatabase;
  readonly adminTokens: AdminTokensStore;
  readonly settings: () => Pick<Settings, 'config' | 'catalog' | 'plans' | 'localTime'>;
  readonly principals: Pick<Principals, 'forget'>;
  readonly databaseNowMs: () => Promise<number>;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Creates the dependencies of the admin API, for a gateway and for a command that opens the database itself. */
export function createAdminParts(
  deps: AdminDependencies,
): AdminApiDependencies & { readonly accounts: AccountStore } & Pick<AdminStores, 'usedBudgets'> {
  const { people, stores, directory, settings, ...others } = deps;
  const { adminTokens, principals, clock, ids } = others;
  const plans = () => settings().plans;
  const domain = { ...stores, principals, plans, databaseNowMs: deps.databaseNowMs, clock, ids };
  return {
    ...people,
    ...stores,
    ...others,
    plans,
    memberLimits: {
      ...stores.memberLimits,
      async change(...asked) {
        const changed = await stores.memberLimits.change(...asked);
        principals.forget(asked[0]);
        return changed;
      },
    } satisfies MemberLimitStore,
    callerBudgets: {
      ...stores.callerBudgets,
      async change(...asked) {
        const changed = await stores.callerBudgets.change(...asked);
        principals.forget(asked[0]);
        return changed;
      },
    } satisfies CallerBudgetStore,
    keys: createKeys({ ...domain, fillRandom: randomFillSync }),
    accountChanges: createAccountChanges(domain),
    planGrants: createPlanGrants(domain),
    redeemer: createVoucherRedeemer(domain),
    tokenMaker: createAdminTokenMaker({ store: adminTokens, clock, ids, fillRandom: randomFillSync }),
    catalog: () => settings().catalog,
    config: () => settings().config,
    localTime: () => settings().localTime,
    timezone: () => settings().config.billing.timezone,
    exportDatabase: () => exportDatabase({ directory, schema: schemaVersion(), clock }),
  };
}
