import type { FastifyInstance, FastifyRequest } from 'fastify';
import { invalidRequest } from '../../errors/gateway-error.ts';
import { isStorable } from '../../lib/plain-text.ts';
import type { AccountNeed } from '../../people/access.ts';
import { ownAccountEndpoints } from '../accounts/own.ts';
import { ownBudgetEndpoints } from '../budgets/own.ts';
import { noCall } from '../calls/admin.ts';
import { ownCallEndpoints } from '../calls/own.ts';
import { ownInvoiceEndpoints } from '../invoices/own.ts';
import { ownKeyEndpoints } from '../keys/own.ts';
import { ownMoneyEndpoints } from '../ledger/own.ts';
import { notFound } from '../management/endpoint.ts';
import type { AccountEntry, Guard } from '../management/guard.ts';
import type { AccountEndpoint, OwnedResource } from '../management/own-endpoint.ts';
import type { PartsOf } from '../management/parts-of.ts';
import { ACCOUNT_PREFIX } from '../management/prefixes.ts';
import { type ManagementWatch, serveManagement } from '../management/serve.ts';
import { memberEndpoints } from '../members/own.ts';
import { ownPlanEndpoints } from '../plans/own.ts';
import { ownVoucherEndpoints } from '../vouchers/own.ts';
import { ownWebhookEndpoints } from '../webhooks/own.ts';

interface Owner {
  readonly accountId: string;
  /** The user who owns the key, or who created the resource with it; `null`: the resource belongs to the account as a whole. */
  readonly userId: string | null;
}

/** For each kind of resource: returns the owner of a resource; `null`: it does not exist. */
type OwnerFinders = Readonly<Record<OwnedResource, (id: string) => Promise<Owner | null>>>;

const RESOURCES = [
  ownAccountEndpoints,
  ownKeyEndpoints,
  ownBudgetEndpoints,
  ownCallEndpoints,
  ownMoneyEndpoints,
  ownInvoiceEndpoints,
  ownPlanEndpoints,
  ownVoucherEndpoints,
  memberEndpoints,
  ownWebhookEndpoints,
] as const;

export type AccountApiDependencies = PartsOf<typeof RESOURCES> & { readonly owners: OwnerFinders };

export function accountTable(dependencies: AccountApiDependencies): AccountEndpoint[] {
  return RESOURCES.flatMap((endpointsOf) => endpointsOf(dependencies));
}

export function registerAccount(
  app: FastifyInstance,
  dependencies: AccountApiDependencies,
  guard: Guard,
  watch: ManagementWatch,
): void {
  serveManagement<AccountNeed, AccountEntry, AccountEndpoint>(
    app,
    {
      prefix: ACCOUNT_PREFIX,
      kind: 'account',
      endpoints: accountTable(dependencies),
      async enter({ needs, resource }, request, reply, query) {
        const entry = await guard.enterAccount(request, reply, needs, takeAccountId(query));
        if (resource !== null) await requireOwn(resource, request, entry, dependencies);
        return entry;
      },
      tenantOf: ({ scope }) => scope.accountId,
    },
    watch,
  );
}

/** Removes `accountId`, with which every endpoint can select an account, from the query. Returns it; `null`: absent. */
function takeAccountId(query: Record<string, unknown>): string | null {
  const { accountId } = query;
  delete query.accountId;
  if (accountId === undefined) return null;
  if (typeof accountId !== 'string') throw invalidRequest('accountId: Send this parameter only once.', 'accountId');
  return accountId;
}

/** Checks that a resource belongs to the account. @throws GatewayError 404, also for one of another account */
async function requireOwn(
  resource: OwnedResource,
  request: FastifyRequest,
  { scope }: AccountEntry,
  parts: { readonly owners: OwnerFinders } & Parameters<typeof noCall>[0],
): Promise<void> {
  const { id } = request.params as { id: string };
  const { owners } = parts;
  const owner = isStorable(id) ? await owners[resource](id) : null;
  const isOwn = owner?.accountId === scope.accountId && (scope.ownUserId === null || owner.userId === scope.ownUserId);
  if (isOwn) return;
  throw resource === 'call' && isStorable(id) ? await noCall(parts, id) : notFound(resource, id);
}
