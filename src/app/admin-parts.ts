import { randomFillSync } from 'node:crypto';
import type { AccountStore } from '../accounting/accounts/store.ts';
import { auditLedger } from '../accounting/audit/audit-store.ts';
import type { AdminParts } from '../api/registers/admin.ts';
import type { ConfigLoads } from '../config/loads.ts';
import { schemaVersion } from '../db/migrations.ts';
import { createAdminTokenMaker } from '../people/admin-token-maker.ts';
import type { AdminTokensStore } from '../people/admin-tokens-store.ts';
import { exportDatabase } from '../transfer/export.ts';
import { createAccountDomain } from './account-domain.ts';
import type { Accounting } from './accounting.ts';
import { auditPace } from './audit-pace.ts';
import { orRefused } from './lanes.ts';
import type { NodeParts } from './node-parts.ts';
import type { People } from './people.ts';
import { testProviderOf } from './provider-tester.ts';

export interface AdministeredParts extends NodeParts {
  readonly adminTokens: AdminTokensStore;
  readonly notices: Pick<AdminParts, 'webhooks' | 'lowBalanceNano'>;
  readonly configLoads: ConfigLoads;
  readonly databaseNowMs: (stores: Accounting['admin']) => Promise<number>;
  readonly people: People;
}

/** Wires what the admin API of a gateway reads and changes. */
export function createAdminParts(parts: AdministeredParts): AdminParts & { readonly accounts: AccountStore } {
  const { accounting, principals, health, settings, configLoads, unpricedUses, databases, nodeId, clock, ids } = parts;
  const plans = () => settings.current.plans;
  const databaseNowMs = () => parts.databaseNowMs(accounting.admin);
  return {
    ...parts.people,
    ...accounting.admin,
    ...createAccountDomain(accounting.admin, { principals, plans, databaseNowMs, clock, ids }),
    adminTokens: parts.adminTokens,
    tokenMaker: createAdminTokenMaker({ store: parts.adminTokens, clock, ids, fillRandom: randomFillSync }),
    changes: parts.changes.store,
    webhooks: parts.notices.webhooks,
    lowBalanceNano: parts.notices.lowBalanceNano,
    health,
    drains: accounting.drains,
    catalog: () => settings.current.catalog,
    config: () => settings.current.config,
    testProvider: (name, asked) => testProviderOf(settings.current, name, asked, clock),
    configStatus: () => configLoads.status,
    nodeId,
    unpricedUses: () => unpricedUses.list(),
    credentialsOf: ({ providerId, providerModel }) =>
      settings.current.providers.get(providerId).credentials.status(providerModel, clock.nowMs()),
    plans,
    clock,
    databaseNowMs,
    ids,
    periods: accounting.periods,
    localTime: () => settings.current.localTime,
    timezone: () => settings.current.config.billing.timezone,
    auditLedger: (given) => orRefused(auditLedger(databases, { ...given, pace: auditPace() })),
    exportDatabase: () => exportDatabase({ directory: databases.directory, schema: schemaVersion(), clock }),
  };
}
