import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { RequestedVia } from '../../accounting/ledger/call-outcome.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { readBody, requireJson } from '../../http/body.ts';
import { groupMethods } from '../../http/served-addresses.ts';
import { isRecord, parseJson } from '../../lib/json.ts';
import { findRepeatedMember } from '../../lib/json-repeats.ts';
import { type AdminAccess, createAdminGuard, type GuessLimits } from './access.ts';
import { type AccountAdminParts, accountEndpoints } from './accounts.ts';
import { type AuditAdminParts, auditEndpoints } from './audit.ts';
import { type CallCorrectionParts, callCorrectionEndpoints } from './call-corrections.ts';
import { type CallAdminParts, callEndpoints } from './calls.ts';
import { type ConfigAdminParts, configEndpoints } from './config.ts';
import { type AdminEndpoint, LineStream } from './endpoint.ts';
import { type ExportAdminParts, exportEndpoints } from './export.ts';
import { type KeySearchParts, keySearchEndpoints } from './key-search.ts';
import { type KeyAdminParts, keyEndpoints } from './keys.ts';
import { type LedgerAdminParts, ledgerEndpoints } from './ledger.ts';
import { type PlanAdminParts, planEndpoints } from './plans.ts';
import { type ProviderAdminParts, providerEndpoints } from './providers.ts';
import { type RefusalAdminParts, refusalEndpoints } from './refusals.ts';
import { type RouteAdminParts, routeEndpoints } from './routes.ts';
import { type SubscriptionAdminParts, subscriptionEndpoints } from './subscriptions.ts';
import { type UnpricedAdminParts, unpricedEndpoints } from './unpriced.ts';
import { type UsageAdminParts, usageEndpoints } from './usage.ts';
import { isStorable } from './wire.ts';

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
  ExportAdminParts;

export const ADMIN_PREFIX = '/admin/v1';

const BODY_LIMITS = { sizeBytesMax: 1024 * 1024, idleTimeoutMs: 30_000 };
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

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
  ];
}

/** A change that was made through the admin API. */
export interface AdminChange {
  readonly by: RequestedVia;
  /** As the table of addresses says it. */
  readonly action: string;
  /** What was changed or made; empty where it has no id. */
  readonly id: string;
  readonly requestId: string;
  readonly clientAddress: string;
}

export interface AdminWatch extends GuessLimits {
  /** Hears of every change, once it is made. */
  readonly onChange: (change: AdminChange) => void;
}

/** Serves the admin API. */
export function registerAdmin(app: FastifyInstance, parts: AdminParts, access: AdminAccess, watch: AdminWatch): void {
  const { addresses, brake, onChange } = watch;
  const guard = createAdminGuard(access, watch);
  const table = adminTable(parts);
  for (const endpoint of table) {
    app.route({
      method: endpoint.method,
      url: ADMIN_PREFIX + endpoint.path,
      config: { envelope: adminEnvelope, kind: 'admin' },
      async handler(request, reply) {
        const via = await guard.enter(request, reply, endpoint.isLocal);
        let body: unknown;
        if (endpoint.bodySchema !== null) {
          requireJson(request.raw);
          body = parseBody((await readBody(request.raw, reply.raw, BODY_LIMITS)).bytes);
        }
        const idempotencyKey = request.headers['idempotency-key'];
        if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(String(idempotencyKey))) {
          throw invalidRequest('Idempotency-Key: Expected 1 to 200 visible ASCII characters.', 'Idempotency-Key');
        }
        const { id = '' } = request.params as { id?: string };
        if (!isStorable(id)) throw new GatewayError('pathUnknown');
        const result = await endpoint.run({
          id,
          query: request.query,
          body,
          idempotencyKey: idempotencyKey === undefined ? null : String(idempotencyKey),
          via,
          wantsCsv: /(^|,)\s*text\/csv\b/i.test(request.headers.accept ?? ''),
        });
        // The change may have removed the reason of remembered refusals.
        if (endpoint.isChange) {
          brake.forgetAll();
          onChange({
            by: via,
            action: endpoint.summary,
            id: idOf(result) ?? id,
            requestId: request.id,
            clientAddress: addresses.exactOf(request.raw),
          });
        }
        reply.code(endpoint.status);
        if (result instanceof LineStream) {
          return reply.type(result.contentType).send(Readable.from(result.chunks, { objectMode: false }));
        }
        if (result === null) await reply.send();
        else await reply.type('application/json').send(JSON.stringify(result));
        return reply;
      },
    });
  }
  const served = table.map(({ method, path }) => ({ method, path: ADMIN_PREFIX + path, envelope: adminEnvelope }));
  for (const address of groupMethods(served)) app.servedAddresses.add(address);
}

function idOf(result: object | null): string | null {
  if (!isRecord(result)) return null;
  // A drain has no id, but names what it is of.
  const names = 'id' in result ? [result.id] : [result.provider, result.model, result.providerModel];
  return names.filter((name) => typeof name === 'string').join(' ') || null;
}

/** @throws GatewayError `invalidRequest` also where a member occurs twice, because either value could be meant. */
function parseBody(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8.');
  const text = bytes.toString('utf8');
  const body = parseJson(text);
  if (body === undefined) throw invalidRequest('The body is not valid JSON.');
  const repeated = findRepeatedMember(text)?.slice(0, 200);
  if (repeated !== undefined) throw invalidRequest(`${repeated}: This member stands in the body twice.`, repeated);
  return body;
}
