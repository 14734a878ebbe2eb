import type { FastifyInstance } from 'fastify';
import type { AdminNeed } from '../../people/access.ts';
import type { Guard } from '../management/guard.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import { type AccountMemberParts, accountMemberEndpoints } from './account-members.ts';
import { type AccountAdminParts, accountEndpoints } from './accounts.ts';
import { type AuditAdminParts, auditEndpoints } from './audit.ts';
import { type CallCorrectionParts, callCorrectionEndpoints } from './call-corrections.ts';
import { type CallAdminParts, callEndpoints } from './calls.ts';
import { type ChangeAdminParts, changeEndpoints } from './changes.ts';
import { type ConfigAdminParts, configEndpoints } from './config.ts';
import type { AdminContext, AdminEndpoint } from './endpoint.ts';
import { type ExportAdminParts, exportEndpoints } from './export.ts';
import type { KeyAdminParts } from './key-keeper.ts';
import { type KeySearchParts, keySearchEndpoints } from './key-search.ts';
import { keyEndpoints } from './keys.ts';
import { type LedgerAdminParts, ledgerEndpoints } from './ledger.ts';
import { type PlanAdminParts, planEndpoints } from './plans.ts';
import { type ProviderAdminParts, providerEndpoints } from './providers.ts';
import { type RefusalAdminParts, refusalEndpoints } from './refusals.ts';
import { type RouteAdminParts, routeEndpoints } from './routes.ts';
import { type SubscriptionAdminParts, subscriptionEndpoints } from './subscriptions.ts';
import { type TokenAdminParts, tokenEndpoints } from './tokens.ts';
import { type UnpricedAdminParts, unpricedEndpoints } from './unpriced.ts';
import { type UsageAdminParts, usageEndpoints } from './usage.ts';
import { type AdminPeopleParts, userEndpoints } from './users.ts';
import { type VoucherAdminParts, voucherEndpoints } from './vouchers.ts';
import type { WebhookAdminParts } from './webhook-keeper.ts';
import { webhookEndpoints } from './webhooks.ts';

export type AdminParts = AccountAdminParts &
  KeyAdminParts &
  KeySearchParts &
  LedgerAdminParts &
  CallAdminParts &
  RefusalAdminParts &
  CallCorrectionParts &
  SubscriptionAdminParts &
  PlanAdminParts &
  RouteAdminParts &
  ConfigAdminParts &
  ProviderAdminParts &
  UnpricedAdminParts &
  AuditAdminParts &
  UsageAdminParts &
  AdminPeopleParts &
  AccountMemberParts &
  ExportAdminParts &
  TokenAdminParts &
  ChangeAdminParts &
  VoucherAdminParts &
  WebhookAdminParts;

export const ADMIN_PREFIX = '/admin/v1';

/** Every address of the admin API. */
export function adminTable(parts: AdminParts): AdminEndpoint[] {
  return [
    ...accountEndpoints(parts),
    ...keyEndpoints(parts),
    ...keySearchEndpoints(parts),
    ...ledgerEndpoints(parts),
    ...callEndpoints(parts),
    ...refusalEndpoints(parts),
    ...callCorrectionEndpoints(parts),
    ...subscriptionEndpoints(parts),
    ...planEndpoints(parts),
    ...routeEndpoints(parts),
    ...configEndpoints(parts),
    ...providerEndpoints(parts),
    ...unpricedEndpoints(parts),
    ...auditEndpoints(parts),
    ...usageEndpoints(parts),
    ...exportEndpoints(parts),
    ...tokenEndpoints(parts),
    ...userEndpoints(parts),
    ...accountMemberEndpoints(parts),
    ...changeEndpoints(parts),
    ...webhookEndpoints(parts),
    ...voucherEndpoints(parts),
  ];
}

/** Serves the admin API. */
export function registerAdmin(app: FastifyInstance, parts: AdminParts, guard: Guard, watch: ManagementWatch): void {
  const endpoints = adminTable(parts);
  serveManagement<AdminNeed, AdminContext, unknown>(
    app,
    {
      prefix: ADMIN_PREFIX,
      kind: 'admin',
      endpoints,
      enter: async ({ needs }, request, reply) => ({ actor: await guard.enterAdmin(request, reply, needs) }),
      holderOf: () => null,
    },
    watch,
  );
}
