import type { FastifyInstance } from 'fastify';
import type { AdminNeed } from '../../people/access.ts';
import { type AccountAdminParts, accountEndpoints } from '../accounts/admin.ts';
import { type AuditAdminParts, auditEndpoints } from '../audit/admin.ts';
import { type CallAdminParts, callEndpoints } from '../calls/admin.ts';
import { type CallCorrectionParts, callCorrectionEndpoints } from '../calls/corrections.ts';
import { type UnpricedAdminParts, unpricedEndpoints } from '../calls/unpriced.ts';
import { type ChangeAdminParts, changeEndpoints } from '../changes/admin.ts';
import { type ConfigAdminParts, configEndpoints } from '../config/admin.ts';
import { type ExportAdminParts, exportEndpoints } from '../export/admin.ts';
import { keyEndpoints } from '../keys/admin.ts';
import { importedKeyEndpoints } from '../keys/imported.ts';
import type { KeyAdminParts } from '../keys/key-keeper.ts';
import { type KeySearchParts, keySearchEndpoints } from '../keys/key-search.ts';
import { type LatencyAdminParts, latencyEndpoints } from '../latency/admin.ts';
import { type LedgerAdminParts, ledgerEndpoints } from '../ledger/admin.ts';
import type { AdminContext, AdminEndpoint } from '../management/admin-endpoint.ts';
import type { Guard } from '../management/guard.ts';
import { ADMIN_PREFIX } from '../management/prefixes.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import { type AccountMemberParts, accountMemberEndpoints } from '../members/admin.ts';
import { type PlanAdminParts, planEndpoints } from '../plans/admin.ts';
import { type SubscriptionAdminParts, subscriptionEndpoints } from '../plans/subscriptions.ts';
import { type ProviderAdminParts, providerEndpoints } from '../providers/admin.ts';
import { type RefusalAdminParts, refusalEndpoints } from '../refusals/admin.ts';
import { type RouteAdminParts, routeEndpoints } from '../routes/admin.ts';
import { type TokenAdminParts, tokenEndpoints } from '../tokens/admin.ts';
import { type UsageAdminParts, usageEndpoints } from '../usage/admin.ts';
import { type AdminPeopleParts, userEndpoints } from '../users/admin.ts';
import { type VoucherAdminParts, voucherEndpoints } from '../vouchers/admin.ts';
import { webhookEndpoints } from '../webhooks/admin.ts';
import type { WebhookAdminParts } from '../webhooks/webhook-keeper.ts';

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
  LatencyAdminParts &
  AdminPeopleParts &
  AccountMemberParts &
  ExportAdminParts &
  TokenAdminParts &
  ChangeAdminParts &
  VoucherAdminParts &
  WebhookAdminParts;

/** Every address of the admin API. */
export function adminTable(parts: AdminParts): AdminEndpoint[] {
  return [
    ...accountEndpoints(parts),
    ...keyEndpoints(parts),
    ...keySearchEndpoints(parts),
    ...importedKeyEndpoints(parts),
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
    ...latencyEndpoints(parts),
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
