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

/** The throttle cost of a request that is rejected because its caller has too many at once. The throttle delays the rejections beyond 20 a second. */
const BUSY_COST = 5;

/** A change through the admin API or the account API. */
export interface ManagementChange {
  readonly by: Actor;
  /** The summary of the endpoint. */
  readonly action: string;
  /** The id of the resource; empty if it has none. */
  readonly id: string;
  readonly requestId: string;
  readonly clientAddress: string;
}

export interface ManagementWatch extends GuessLimits {
  /** The audit log. The entry of a change is written before the change takes effect. */
  readonly changes: AuditLog;
  /** Counts the changes of each actor and account, for their rate limits. */
  readonly changeCounts: ChangeCounts;
  /** Called after each change. */
  readonly onChange: (change: ManagementChange) => void;
  /** For tests: whether a request fails if its response does not match its schema. */
  readonly checksResponses: boolean;
  /** Shares of processing time of the callers, so that no caller delays others; `null`: no limit. */
  readonly shares: TimeShares | null;
  /** Memory budgets of request bodies; `null`: no limit. */
  readonly bodyBudgets: BodyBudgets | null;
  /** Maximum numbers of concurrent streams and bodies of one caller; absent: the defaults for a single process. */
  readonly atOnceMax?: { readonly streams: number; readonly bodies: number };
}

interface ManagementTable<Need, Context extends ChangingContext, Endpoint> {
  /** The path prefix of the API. */
  readonly prefix: string;
  readonly kind: RequestKind;
  readonly endpoints: readonly (ManagementEndpoint<Need, Context> & Endpoint)[];
  /**
   * Authenticates and authorizes a request before its body is read. It can remove parameters from `query` that the endpoint itself does not have.
   *
   * @throws GatewayError if the request is not allowed
   */
  enter(
    endpoint: ManagementEndpoint<Need, Context> & Endpoint,
    request: FastifyRequest,
    reply: FastifyReply,
    query: Record<string, unknown>,
  ): Promise<Context>;
  /**
   * Returns the caller whose share of processing time the request uses; `null` for operators, who are trusted, and for requests with other limits.
   */
  tenantOf(context: Context): string | null;
}

/** Serves the endpoints of an API. */
export function serveManagement<Need, Context extends ChangingContext, Endpoint>(
  app: FastifyInstance,
  { prefix, kind, endpoints, enter, tenantOf }: ManagementTable<Need, Context, Endpoint>,
  watch: ManagementWatch,
): void {
  const { addresses, throttle, changes, changeCounts, onChange, checksResponses, shares, bodyBudgets } = watch;
  const streamed = new StreamedLines(shares, watch.atOnceMax?.streams);
  const bodies = new RequestBodies(bodyBudgets, watch.atOnceMax?.bodies);

  /** Queues work of a caller. @throws GatewayError 429, after a delay, if the queue of the caller is full */
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

  /** @throws GatewayError 429, before anything is written, if the actor or its account makes too many changes */
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

  /** Runs the endpoint. Returns the lines or the text of the response; `null` if it has no body. */
  async function carryOut(
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
      // The change may have removed the reason for remembered refusals.
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
    // Responses contain private data and one-time secrets.
    reply.header('cache-control', 'no-store');
    const query = { ...(request.query as Record<string, unknown>) };
    // The caller is not known yet. All networks of one home connection share a queue, so using many networks gives no advantage.
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
        const made = await carryOut(endpoint, input, context, request);
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

/** Returns the caller that is charged for the memory of a body; `null` for visitors. Operators can use all free memory, accounts only a share. */
function bodyTenantOf({ actor }: ChangingContext, tenant: string | null): BodyTenant | null {
  if (actor.kind === 'visitor') return null;
  return { accountId: tenant ?? 'operators', isOnlyAccount: tenant === null };
}

/** Returns the caller that is charged for the memory of the text of a response. */
function textTenantOf(context: ChangingContext, tenant: string | null, network: string): BodyTenant {
  return bodyTenantOf(context, tenant) ?? { accountId: network, isOnlyAccount: false };
}

/** Whether a request was rejected because its caller sends too many at once. The gateway throttles these rejections. */
function isTooMany(error: unknown): boolean {
  return error instanceof GatewayError && (error.code === 'too_many_requests' || error.code === TOO_MANY_CHANGES);
}

/** Returns the `:id` of the path. @throws GatewayError 404 if the database cannot store an id with these characters */
function idInPath(request: FastifyRequest): string {
  const { id = '' } = request.params as { id?: string };
  if (!isStorable(id)) throw new GatewayError('pathUnknown');
  return id;
}

/** @throws if the response does not match the status or the schema of the endpoint */
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
