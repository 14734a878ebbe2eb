import { isUtf8 } from 'node:buffer';
import { createHash, timingSafeEqual } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import type { RequestedVia } from '../../accounting/ledger/call-outcome.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { readBody, requireJson } from '../../http/body.ts';
import type { ClientAddresses } from '../../http/client-address.ts';
import { readCredential } from '../../http/credentials.ts';
import type { RefusalBrake } from '../../http/refusal-brake.ts';
import { groupMethods } from '../../http/served-addresses.ts';
import { isRecord, parseJson } from '../../lib/json.ts';
import { findRepeatedMember } from '../../lib/json-repeats.ts';
import { type AccountAdminParts, accountEndpoints } from './accounts.ts';
import { type AuditAdminParts, auditEndpoints } from './audit.ts';
import { type CallCorrectionParts, callCorrectionEndpoints } from './call-corrections.ts';
import { type CallAdminParts, callEndpoints } from './calls.ts';
import { type AdminEndpoint, LineStream } from './endpoint.ts';
import { type ExportAdminParts, exportEndpoints } from './export.ts';
import { type KeySearchParts, keySearchEndpoints } from './key-search.ts';
import { type KeyAdminParts, keyEndpoints } from './keys.ts';
import { type LedgerAdminParts, ledgerEndpoints } from './ledger.ts';
import { type PlanAdminParts, planEndpoints } from './plans.ts';
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
  CallCorrectionParts &
  SubscriptionAdminParts &
  PlanAdminParts &
  RouteAdminParts &
  UnpricedAdminParts &
  AuditAdminParts &
  UsageAdminParts &
  ExportAdminParts;

export const ADMIN_PREFIX = '/admin/v1';

/** The fewest characters of an admin token; shorter ones could be guessed. */
export const ADMIN_TOKEN_LENGTH_MIN = 16;

const BODY_LIMITS = { sizeBytesMax: 1024 * 1024, idleTimeoutMs: 30_000 };
const LOCAL_ONLY = 'Only the command line of the machine on which the gateway runs may use this address.';
/** The cost of a wrong admin token against the rate of refusals: 20 guesses a second are refused without delay. */
const GUESS_COST = 5;
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,200}$/;

/** Every address of the admin API. */
export function adminTable(parts: AdminParts): AdminEndpoint[] {
  return [
    ...accountEndpoints(parts),
    ...keyEndpoints(parts),
    ...keySearchEndpoints(parts),
    ...ledgerEndpoints(parts),
    ...callEndpoints(parts),
    ...callCorrectionEndpoints(parts),
    ...subscriptionEndpoints(parts),
    ...planEndpoints(parts),
    ...routeEndpoints(parts),
    ...unpricedEndpoints(parts),
    ...auditEndpoints(parts),
    ...usageEndpoints(parts),
    ...exportEndpoints(parts),
  ];
}

/** Who may use the admin API: requests with one of `tokens`, which are none where the list is empty. */
export interface AdminAccess {
  readonly tokens: readonly string[];
  /** The one of them that the command line of this machine has; `null` where it has none. */
  readonly localToken: string | null;
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

export interface AdminWatch {
  readonly addresses: ClientAddresses;
  readonly brake: RefusalBrake;
  /** Hears of every change, once it is made. */
  readonly onChange: (change: AdminChange) => void;
}

/** Serves the admin API. */
export function registerAdmin(
  app: FastifyInstance,
  parts: AdminParts,
  { tokens, localToken }: AdminAccess,
  { addresses, brake, onChange }: AdminWatch,
): void {
  const digests = tokens.map(digest);

  function authorize(token: string, { isLocal }: AdminEndpoint): RequestedVia {
    const given = digest(token);
    // All digests are compared, so that the time does not depend on which of them matches.
    const isKnown = digests.reduce((found, known) => timingSafeEqual(known, given) || found, false);
    if (!isKnown) throw new GatewayError('invalidApiKey', { message: 'The admin token is wrong.' });
    const isFromHere = localToken !== null && timingSafeEqual(digest(localToken), given);
    if (isLocal && !isFromHere) throw new GatewayError('invalidApiKey', { message: LOCAL_ONLY });
    return isFromHere ? 'command_line' : 'admin_token';
  }

  const table = adminTable(parts);
  for (const endpoint of table) {
    app.route({
      method: endpoint.method,
      url: ADMIN_PREFIX + endpoint.path,
      config: { envelope: adminEnvelope, kind: 'admin' },
      async handler(request, reply) {
        let via: RequestedVia;
        try {
          via = authorize(readAdminToken(request.raw), endpoint);
        } catch (error) {
          const isSlowed = await brake.hold(`admin ${addresses.ofRequest(request.raw)}`, GUESS_COST);
          if (!isSlowed) reply.header('connection', 'close');
          throw error;
        }
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
        if (endpoint.method !== 'GET') {
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
  return isRecord(result) && typeof result.id === 'string' ? result.id : null;
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

function readAdminToken(request: Parameters<typeof readCredential>[0]): string {
  try {
    return readCredential(request, 'bearer');
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    throw new GatewayError('invalidApiKey', { message: 'Send the admin token as "Authorization: Bearer <token>".' });
  }
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
