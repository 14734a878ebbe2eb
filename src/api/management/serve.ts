import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AuditLog } from '../../changes/audit-log.ts';
import { type ChangeCounts, countedChange } from '../../changes/change-rates.ts';
import { asTenant } from '../../db/current-tenant.ts';
import { adminEnvelope } from '../../errors/envelopes.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import type { BodyBudgets, BodyTenant } from '../../http/body-budgets.ts';
import type { RequestKind } from '../../http/http-report.ts';
import { readIdempotencyKey } from '../../http/idempotency-key.ts';
import { sendText } from '../../http/sent-text.ts';
import { groupMethods } from '../../http/served-addresses.ts';
import { ShareBusyError, type TimeShares } from '../../lib/fair/time-shares.ts';
import type { WorkTime } from '../../lib/fair/work-time.ts';
import { isStorable } from '../../lib/plain-text.ts';
import type { Actor } from '../../people/actor.ts';
import { TOO_MANY_CHANGES } from './admin-client.ts';
import { LineStream, type ManagementEndpoint } from './endpoint.ts';
import { localUserOf } from './local-user.ts';
import { type ChangingContext, idOf, runRecorded } from './recorded-change.ts';
import { type ReceivedBody, RequestBodies } from './request-body.ts';
import { type GuessLimits, slowAttempts } from './slow-guesses.ts';
import { StreamedLines } from './streamed-lines.ts';

/** Cost, for the refusal throttle, of a request beyond its caller's limits. The throttle delays more than 20 such refusals per second. */
const BUSY_COST = 5;

export interface ManagementChange {
  readonly by: Actor;
  readonly action: string;
  /** The `:id` in the path; empty if it has none. */
  readonly id: string;
  readonly requestId: string;
  readonly clientAddress: string;
}

export interface ManagementWatch extends GuessLimits {
  readonly changes: AuditLog;
  /** Counts changes for their rate limits. */
  readonly changeCounts: ChangeCounts;
  readonly onChange: (change: ManagementChange) => void;
  /** Whether a response that does not match its schema fails the request. True in tests. */
  readonly checksResponses: boolean;
  /** Divides processing time between callers; `null`: without limits. */
  readonly shares: TimeShares | null;
  readonly bodyBudgets: BodyBudgets | null;
  /** Limits of one caller; absent: those of a single process. */
  readonly atOnceMax?: { readonly streams: number; readonly bodies: number };
}

interface ManagementTable<Need, Context extends ChangingContext, Endpoint> {
  readonly prefix: string;
  readonly kind: RequestKind;
  readonly endpoints: readonly (ManagementEndpoint<Need, Context> & Endpoint)[];
  /** Authenticates and authorizes a request before its body is read. May remove parameters from `query`. */
  enter(
    endpoint: ManagementEndpoint<Need, Context> & Endpoint,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Record<string, unknown>,
  ): Promise<Context>;
  /** Returns the caller whose processing time is limited; `null`: an operator, or a request with other limits. */
  tenantOf(context: Context): string | null;
}

export function serveManagement<Need, Context extends ChangingContext, Endpoint>(
  app: FastifyInstance,
  { prefix, kind, endpoints, enter, tenantOf }: ManagementTable<Need, Context, Endpoint>,
  watch: ManagementWatch,
): void {
  const { addresses, throttle, changes, changeCounts, onChange, checksResponses, shares, bodyBudgets } = watch;
  const streamed = new StreamedLines(shares, watch.atOnceMax?.streams);
  const bodies = new RequestBodies(bodyBudgets, watch.atOnceMax?.bodies);

  /** Runs work within its caller's share of time. @throws GatewayError 429, after a delay, if the caller's queue is full */
  async function inShare<Result>(
    tenant: string | null,
    work: (time: WorkTime | null) => Promise<Result>,
  ): Promise<Result> {
    if (tenant === null || shares === null) return work(null);
    try {
      return await shares.run(tenant, work);
    } catch (error) {
      const isBusy = error instanceof ShareBusyError;
      if (isBusy || isTooMany(error)) await throttle.hold(`busy ${tenant}`, BUSY_COST);
      if (!isBusy) throw error;
      throw new GatewayError('rateLimitExceeded', {
        code: 'too_many_requests',
        message: 'Too many of your requests are waiting. Send fewer at a time.',
        headers: { 'retry-after': String(Math.max(1, Math.ceil(error.pauseMs / 1_000))) },
      });
    }
  }

  /** Counts a change. @throws GatewayError 429, before anything is written, if the actor or its account makes too many */
  async function countChange({ method }: Pick<ManagementEndpoint<Need, Context>, 'method'>, context: Context) {
    const accountId = context.scope?.accountId ?? null;
    const counted = countedChange(context.actor, accountId, method === 'DELETE', kind === 'admin');
    const waitMs = counted === null ? 0 : await changeCounts.take(counted);
    if (waitMs === 0) return;
    const seconds = Math.ceil(waitMs / 1_000);
    throw new GatewayError('rateLimitExceeded', {
      code: TOO_MANY_CHANGES,
      message: `Too many changes by you or your account. Nothing was changed; try again in ${seconds} s.`,
      headers: { 'retry-after': String(seconds) },
    });
  }

  async function runEndpoint(
    endpoint: ManagementEndpoint<Need, Context>,
    input: Parameters<typeof endpoint.run>[0],
    context: Context,
    request: FastifyRequest,
  ): Promise<LineStream | string | null> {
    let result: object | null;
    if (endpoint.isChange) {
      await countChange(endpoint, context);
      const clientAddress = addresses.exactOf(request.raw);
      const source = { prefix, clientAddress, requestId: request.id, localUser: localUserOf(request.headers) };
      result = await runRecorded(endpoint, input, context, source, changes);
      throttle.forgetAll();
      onChange({
        by: context.actor,
        action: endpoint.summary,
        id: idOf(result) ?? input.id,
        requestId: request.id,
        clientAddress,
      });
    } else {
      result = await endpoint.run(input, context);
    }
    if (result instanceof LineStream) return result;
    if (checksResponses) checkResponse(endpoint, result);
    return result === null ? null : JSON.stringify(result);
  }

  async function respond(
    endpoint: ManagementEndpoint<Need, Context> & Endpoint,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    // Responses contain private data and secrets that are shown once, so nobody may cache them.
    reply.header('cache-control', 'no-store');
    const query = { ...(request.query as Record<string, unknown>) };
    // The caller is not known yet. All networks of a home connection use one queue, so that having several gives no advantage.
    const network = `network ${addresses.lineOf(request.raw)}`;
    const context = await asTenant(network, () => enter(endpoint, request, reply, query));
    const id = idInPath(request);
    const idempotencyKey = readIdempotencyKey(request);
    const wantsCsv = /(^|,)\s*text\/csv\b/i.test(request.headers.accept ?? '');
    const tenant = tenantOf(context);
    let received: ReceivedBody | null = null;
    if (endpoint.bodySchema !== null) {
      received = await bodies.receive(request, reply, bodyTenantOf(context, tenant));
    }
    const isVisitor = context.actor.kind === 'visitor';
    const response = await inShare(tenant, async (time) => {
      const input = endpoint.check({ id, query, body: received?.parse(), idempotencyKey, wantsCsv });
      const run = async () => {
        const made = await runEndpoint(endpoint, input, context, request);
        if (!(made instanceof LineStream)) return made;
        return { contentType: made.contentType, chunks: await streamed.begin(made.chunks, tenant) };
      };
      return asTenant(isVisitor ? network : tenant, run, time);
    }).finally(() => received?.release());
    reply.code(endpoint.status);
    if (typeof response === 'object' && response !== null) {
      return reply.type(response.contentType).send(Readable.from(response.chunks, { objectMode: false }));
    }
    if (response === null) return reply.send();
    return sendText(reply.type('application/json'), response, bodyBudgets, textTenantOf(context, tenant, network));
  }

  for (const endpoint of endpoints) {
    app.route({
      method: endpoint.method,
      url: prefix + endpoint.path,
      config: { envelope: adminEnvelope, kind },
      handler: (request, reply) => slowAttempts(watch, request, reply, () => respond(endpoint, request, reply)),
    });
  }
  const served = endpoints.map(({ method, path }) => ({ method, path: prefix + path, envelope: adminEnvelope }));
  for (const address of groupMethods(served)) app.servedAddresses.add(address);
}

/** Returns the caller whose share of memory a body uses; `null` for visitors. Operators can use all free memory, accounts only a share. */
function bodyTenantOf({ actor }: ChangingContext, tenant: string | null): BodyTenant | null {
  if (actor.kind === 'visitor') return null;
  return { accountId: tenant ?? 'operators', isOnlyAccount: tenant === null };
}

function textTenantOf(context: ChangingContext, tenant: string | null, network: string): BodyTenant {
  return bodyTenantOf(context, tenant) ?? { accountId: network, isOnlyAccount: false };
}

/** Whether an error is one of those that are throttled. */
function isTooMany(error: unknown): boolean {
  return error instanceof GatewayError && (error.code === 'too_many_requests' || error.code === TOO_MANY_CHANGES);
}

/** Returns the `:id` of the path. @throws GatewayError 404 if the database cannot store its characters */
function idInPath(request: FastifyRequest): string {
  const { id = '' } = request.params as { id?: string };
  if (!isStorable(id)) throw new GatewayError('pathUnknown');
  return id;
}

/** Checks a response. @throws if it does not match the endpoint's status or schema */
function checkResponse(
  {
    method,
    path,
    status,
    responseSchema,
  }: Pick<ManagementEndpoint<unknown, never>, 'method' | 'path' | 'status' | 'responseSchema'>,
  result: object | null,
): void {
  if ((result === null) !== (status === 204)) throw new Error(`${method} ${path} responded ${result} with ${status}`);
  if (responseSchema === null || result === null) return;
  const checked = responseSchema.safeParse(JSON.parse(JSON.stringify(result)));
  if (!checked.success)
    throw new Error(`The response of ${method} ${path} does not match its schema`, { cause: checked.error });
}
