import type { FastifyInstance } from 'fastify';
import type { AdminNeed } from '../../people/access.ts';
import { accountEndpoints } from '../accounts/admin.ts';
import { announcementEndpoints } from '../announcements/admin.ts';
import { auditEndpoints } from '../audit/admin.ts';
import { callerBudgetEndpoints } from '../budgets/admin.ts';
import { callEndpoints } from '../calls/admin.ts';
import { callCorrectionEndpoints } from '../calls/corrections.ts';
import { unpricedEndpoints } from '../calls/unpriced.ts';
import { catalogEndpoints } from '../catalog/admin.ts';
import { priceSourceEndpoints } from '../catalog/price-source.ts';
import { catalogSchemaEndpoints } from '../catalog/schema.ts';
import { changeEndpoints } from '../changes/admin.ts';
import { configEndpoints } from '../config/admin.ts';
import { exportEndpoints } from '../export/admin.ts';
import { groupEndpoints } from '../groups/admin.ts';
import { invoiceEndpoints } from '../invoices/admin.ts';
import { keyEndpoints } from '../keys/admin.ts';
import { importedKeyEndpoints } from '../keys/imported.ts';
import { keySearchEndpoints } from '../keys/key-search.ts';
import { latencyEndpoints } from '../latency/admin.ts';
import { ledgerEndpoints } from '../ledger/admin.ts';
import type { AdminContext, AdminEndpoint } from '../management/admin-endpoint.ts';
import type { Guard } from '../management/guard.ts';
import type { PartsOf } from '../management/parts-of.ts';
import { ADMIN_PREFIX } from '../management/prefixes.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import { accountMemberEndpoints } from '../members/admin.ts';
import { planEndpoints } from '../plans/admin.ts';
import { subscriptionEndpoints } from '../plans/subscriptions.ts';
import { providerEndpoints } from '../providers/admin.ts';
import { refusalEndpoints } from '../refusals/admin.ts';
import { routeEndpoints } from '../routes/admin.ts';
import { sealedSecretEndpoints } from '../sealed-secrets/admin.ts';
import { tokenEndpoints } from '../tokens/admin.ts';
import { usageEndpoints } from '../usage/admin.ts';
import { userEndpoints } from '../users/admin.ts';
import { voucherEndpoints } from '../vouchers/admin.ts';
import { webhookEndpoints } from '../webhooks/admin.ts';

const RESOURCES = [
  accountEndpoints,
  keyEndpoints,
  keySearchEndpoints,
  importedKeyEndpoints,
  ledgerEndpoints,
  invoiceEndpoints,
  callEndpoints,
  refusalEndpoints,
  callCorrectionEndpoints,
  subscriptionEndpoints,
  planEndpoints,
  groupEndpoints,
  routeEndpoints,
  configEndpoints,
  catalogEndpoints,
  catalogSchemaEndpoints,
  priceSourceEndpoints,
  providerEndpoints,
  sealedSecretEndpoints,
  unpricedEndpoints,
  auditEndpoints,
  usageEndpoints,
  latencyEndpoints,
  exportEndpoints,
  tokenEndpoints,
  userEndpoints,
  accountMemberEndpoints,
  callerBudgetEndpoints,
  changeEndpoints,
  webhookEndpoints,
  announcementEndpoints,
  voucherEndpoints,
] as const;

export type AdminApiDependencies = PartsOf<typeof RESOURCES>;

export function adminTable(dependencies: AdminApiDependencies): AdminEndpoint[] {
  return RESOURCES.flatMap((endpointsOf) => endpointsOf(dependencies));
}

export function registerAdmin(
  app: FastifyInstance,
  dependencies: AdminApiDependencies,
  guard: Guard,
  watch: ManagementWatch,
): void {
  const endpoints = adminTable(dependencies);
  serveManagement<AdminNeed, AdminContext, unknown>(
    app,
    {
      prefix: ADMIN_PREFIX,
      kind: 'admin',
      endpoints,
      enter: async ({ needs }, request, reply) => ({ actor: await guard.enterAdmin(request, reply, needs) }),
      tenantOf: () => null,
    },
    watch,
  );
}
