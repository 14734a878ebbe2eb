import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { CallAdmission, LookRequest } from '../../calls/admission.ts';
import { requireAllowedModel } from '../../calls/allowed-models.ts';
import type { Context } from '../../calls/call-request.ts';
import type { CallRunner } from '../../calls/call-runner.ts';
import { Fingerprint, type IdempotentCalls } from '../../calls/idempotency/idempotent-call.ts';
import { Client } from '../../calls/relay/client.ts';
import type { RequestWorkers } from '../../calls/request-workers.ts';
import type { Settings } from '../../calls/settings.ts';
import { catalogEnvelope } from '../../errors/envelopes.ts';
import { type BodyLimits, type BodyOwner, readBody, requireJson } from '../../http/body.ts';
import type { BodyBudgets } from '../../http/body-budgets.ts';
import type { RequestKind } from '../../http/http-report.ts';
import { readIdempotencyKey, usableIdempotencyKey } from '../../http/idempotency-key.ts';
import { sendText } from '../../http/sent-text.ts';
import { groupMethods, routedPath } from '../../http/served-addresses.ts';
import { spoolBody } from '../../http/spool.ts';
import type { CallInput } from '../../protocols/operations/operation.ts';
import { totalTokens } from '../../protocols/token-estimate/budgets.ts';
import { ESTIMATOR_VERSION } from '../../protocols/token-estimate/count-body.ts';
import { familyFactor } from '../../protocols/token-estimate/families.ts';
import { modelAbsence } from '../../providers/catalog/catalog.ts';
import { reportOf } from '../../requests/request-report.ts';
import type { QueryString } from '../queries/paging.ts';
import type { QuerySources } from '../queries/query.ts';
import { etagOf, isKnown } from '../served-file.ts';
import type { CallEndpoint, Endpoint, EstimateEndpoint, QueryEndpoint } from './endpoint.ts';
import type { RefusalSubject, Refusals } from './refusals.ts';

export interface EndpointParts {
  readonly refusals: Refusals;
  readonly calls: CallRunner;
  readonly idempotentCalls: IdempotentCalls;
  readonly admission: Pick<CallAdmission, 'look'>;
  readonly settings: () => Settings;
  readonly querySources: QuerySources;
  readonly requestWorkers: RequestWorkers;
  readonly bodyBudgets: BodyBudgets;
  /** The directory of spooled uploads. */
  readonly spoolDirectory: string;
}

/** Serves a request with the settings in force when it arrived. */
type Handler = (
  request: FastifyRequest,
  reply: FastifyReply,
  settings: Settings,
  subject: RefusalSubject,
) => Promise<void>;

/** Serves every row of the table, and 405 with `Allow` for the methods that a path does not take. */
export function registerEndpoints(app: FastifyInstance, table: readonly Endpoint[], parts: EndpointParts): void {
  for (const endpoint of table) {
    const { path, envelope } = endpoint;
    const handle = createHandler(endpoint, parts);
    const { kind, operation, context } = reported(endpoint);
    app.route({
      method: methodsOf(endpoint),
      url: routedPath(path),
      config: { envelope, kind, operation, path },
      async handler(request, reply) {
        const settings = parts.settings();
        const report = reportOf(request);
        report.context = context;
        const subject = parts.refusals.subjectOf(request.raw);
        settings.inFlight.enter();
        report.enter();
        try {
          await handle(request, reply, settings, subject);
          parts.refusals.served(subject);
        } catch (error) {
          await parts.refusals.slowDown(subject, error, reply);
          throw error;
        } finally {
          report.leave();
          settings.inFlight.leave();
        }
      },
    });
  }
  const served = table.flatMap((endpoint) => methodsOf(endpoint).map((method) => ({ ...endpoint, method })));
  for (const address of groupMethods(served)) app.servedAddresses.add(address);
}

/** HEAD is served where GET is, except at the public catalog, which takes GET alone (contract 7). */
function methodsOf({ method, envelope }: Endpoint): string[] {
  return method === 'GET' && envelope !== catalogEnvelope ? ['GET', 'HEAD'] : [method];
}

/** What reports say of every request for an endpoint. */
function reported(endpoint: Endpoint): {
  readonly kind: RequestKind;
  readonly operation: string;
  readonly context: Context | null;
} {
  if ('operation' in endpoint) return { kind: 'call', operation: endpoint.operation.name, context: endpoint.context };
  if ('estimate' in endpoint) return { kind: 'estimate', operation: endpoint.estimate.name, context: endpoint.context };
  return { kind: 'query', operation: endpoint.query.name, context: null };
}

function createHandler(endpoint: Endpoint, parts: EndpointParts): Handler {
  if ('operation' in endpoint) return createCallHandler(endpoint, parts);
  return 'estimate' in endpoint ? createEstimateHandler(endpoint, parts) : createQueryHandler(endpoint, parts);
}

function createCallHandler(endpoint: CallEndpoint, parts: EndpointParts): Handler {
  const { refusals, calls, idempotentCalls, requestWorkers, bodyBudgets, spoolDirectory } = parts;
  const { operation } = endpoint;
  return async (request, reply, settings, subject) => {
    const client = new Client(reply.raw, operation, () => reply.hijack());
    const report = reportOf(request);
    // Also where it is known at once: meanwhile a body is received that came with its head, and then nothing waits for it.
    const principal = await refusals.identify(subject, endpoint.path, endpoint.credential, report);
    const limits = bodyLimits(endpoint, settings);
    const fingerprint = isRepeatable(request.raw, settings) ? new Fingerprint(endpoint.path) : null;
    const owner: BodyOwner = {
      holder: principal,
      budgets: bodyBudgets,
      look: () => lookUnlessRepeat(parts, request.raw, { ...principal, policy: endpoint, settings }),
    };

    function run(input: CallInput): Promise<void> {
      const { headers, id: requestId } = request;
      const call = { policy: endpoint, principal, headers, input, requestId, client, settings, report, claim: null };
      report.isStream = input.isStream;
      report.modelAsked = input.model;
      // Streams are not stored, so a stream cannot be repeated.
      const key = fingerprint === null || input.isStream ? null : readIdempotencyKey(request.raw);
      if (key === null) return calls.run(call);
      return idempotentCalls.run(calls, call, { idempotencyKey: key, fingerprint: fingerprint!.digest() });
    }

    try {
      if ('read' in operation) {
        requireJson(request.raw);
        const consume = fingerprint === null ? null : (piece: Buffer) => fingerprint.add(piece);
        const reading = readBody(request.raw, reply.raw, limits, consume, owner);
        const sent = reading instanceof Promise ? await reading : reading;
        try {
          const soon = requestWorkers.read(operation, sent.bytes, principal);
          const { facts, body } = soon instanceof Promise ? await soon : soon;
          await run(operation.toInput(facts, body));
        } finally {
          sent.release();
        }
      } else {
        const reader = operation.receive(request.headers['content-type'], fingerprint);
        const spoolLimits = { ...limits, directory: spoolDirectory };
        const stored = await spoolBody(request.raw, reply.raw, spoolLimits, (chunk) => reader.push(chunk), owner);
        try {
          await run(reader.finish(stored));
        } finally {
          await stored.remove();
        }
      }
    } catch (error) {
      reply.headers(client.headers);
      throw error;
    } finally {
      report.chunks = client.chunks;
    }
  };
}

/** Checks the limits before the body is read. A repeat passes: it gets the response of the first call, whatever the account has left. */
async function lookUnlessRepeat(
  { admission, idempotentCalls }: EndpointParts,
  request: IncomingMessage,
  call: LookRequest,
): Promise<void> {
  try {
    await admission.look(call);
  } catch (refusal) {
    if (!(await idempotentCalls.isRepeat(call, usableIdempotencyKey(request)))) throw refusal;
  }
}

/** Whether the request is for an idempotent call. */
function isRepeatable({ headers }: IncomingMessage, { config }: Settings): boolean {
  return headers['idempotency-key'] !== undefined && config.idempotency.keepFor > 0;
}

function createEstimateHandler(endpoint: EstimateEndpoint, parts: EndpointParts): Handler {
  const { refusals, requestWorkers, bodyBudgets } = parts;
  const { path, credential, estimate } = endpoint;
  return async (request, reply, settings, subject) => {
    const report = reportOf(request);
    const principal = await refusals.identify(subject, path, credential, report);
    requireJson(request.raw);
    // Estimates are free, so no balance or limit needs a check.
    const owner: BodyOwner = { holder: principal, budgets: bodyBudgets, look: null };
    const body = await readBody(request.raw, reply.raw, estimateLimits(endpoint, settings), null, owner);
    const { model: name, count } = await requestWorkers
      .estimate(estimate.kind, body.bytes, principal)
      .finally(() => body.release());
    const model = name === null ? null : settings.catalog.find(name);
    report.modelAsked = name;
    report.model = model?.id ?? null;
    if (model === null && estimate.requiresModel) throw modelAbsence(name!);
    if (model !== null) requireAllowedModel(model, principal, settings.catalog);
    const factor = model?.tokenFactor ?? familyFactor(model?.id ?? name ?? '');
    const response = estimate.toResponse(totalTokens(count, factor));
    await reply.header('x-gateway-token-estimate', ESTIMATOR_VERSION).send(response);
  };
}

/** At coding addresses the plan's limit of the input applies as well (contract 4.4, 4.7). */
function estimateLimits(endpoint: EstimateEndpoint, settings: Settings): BodyLimits {
  const limits = bodyLimits(endpoint, settings);
  if (endpoint.context === 'balance') return limits;
  const sizeBytesMax = Math.min(limits.sizeBytesMax, settings.codingInputBytesMax);
  const message = `The input is larger than the ${sizeBytesMax} bytes that the Coding Plan takes: prompt is too long.`;
  return { ...limits, sizeBytesMax, tooLarge: { kind: 'packageInputTooLarge', message } };
}

function bodyLimits({ bodyLimitBytes }: { readonly bodyLimitBytes: number }, { config }: Settings): BodyLimits {
  return { sizeBytesMax: bodyLimitBytes, idleTimeoutMs: config.server.uploadIdleTimeout };
}

function createQueryHandler(endpoint: QueryEndpoint, { refusals, querySources, bodyBudgets }: EndpointParts): Handler {
  const { path, credential, query } = endpoint;
  return async (request, reply, _settings, subject) => {
    const principal =
      credential === 'none' ? null : await refusals.identify(subject, path, credential, reportOf(request));
    const modelId = (request.params as { '*'?: string })['*'] ?? '';
    const search = request.query as QueryString;
    const asked = { principal, modelId, headers: request.headers, search };
    const { body, headers } = await query.response(asked, querySources);
    const text = JSON.stringify(body);
    const etag = etagOf(text);
    reply.headers({ ...headers, etag }).type('application/json');
    if (isKnown(request.headers, etag)) return reply.code(304).send();
    return sendText(reply, text, bodyBudgets, principal ?? { accountId: subject.name, isOnlyAccount: false });
  };
}
