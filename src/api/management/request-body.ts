import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { type BodyLimits, type HeldBody, readBody, requireJson } from '../../http/body.ts';
import type { BodyBudgets, BodyTenant } from '../../http/body-budgets.ts';
import { AtATime } from '../../lib/fair/at-a-time.ts';
import { findRepeatedMember } from '../../lib/json/json-repeats.ts';
import { JsonLimitError, type JsonScanLimits, JsonSyntaxError, scanJson } from '../../lib/json/json-scan.ts';

/** Limits of a body. Its JSON values are counted before it is parsed. */
interface RequestBodyLimits {
  readonly body: BodyLimits;
  readonly json: JsonScanLimits;
}

/** Limits for authenticated callers, whose largest requests have lists of models and networks. */
export const TENANT_LIMITS: RequestBodyLimits = {
  body: { sizeBytesMax: 1024 * 1024, idleTimeoutMs: 30_000 },
  json: { depthMax: 16, valuesMax: 20_000, membersMax: 1_000 },
};

/** Limits for callers without a credential, who send names, passwords and links. */
export const VISITOR_LIMITS: RequestBodyLimits = {
  body: { sizeBytesMax: 16 * 1024, idleTimeoutMs: 30_000 },
  json: { depthMax: 4, valuesMax: 100, membersMax: 100 },
};

/** Maximum number of concurrent bodies of one account or user, including those that wait. */
export const BODIES_MAX = 64;

export interface ReceivedBody {
  /** Parses the body. @throws GatewayError `invalidRequest` if it is no JSON, or contains a member twice */
  parse(): unknown;
  /** Returns the memory. May be called repeatedly. */
  release(): void;
}

export class RequestBodies {
  readonly #budgets: BodyBudgets | null;
  readonly #atOnceMax: number;
  readonly #places: AtATime;

  /** `budgets`: `null` means no limit. `atOnceMax`: concurrent bodies of one caller. */
  constructor(budgets: BodyBudgets | null, atOnceMax = BODIES_MAX) {
    this.#budgets = budgets;
    this.#atOnceMax = atOnceMax;
    this.#places = new AtATime(atOnceMax);
  }

  /**
   * Receives a body. A visitor (`tenant` is `null`) may send only a small one without compression. Other bodies use the memory budgets.
   * @throws GatewayError like `readBody`, and `rateLimitExceeded` if the caller sends too many bodies at once
   */
  async receive(request: FastifyRequest, reply: FastifyReply, tenant: BodyTenant | null): Promise<ReceivedBody> {
    const giveBack = tenant === null || tenant.isOnlyAccount ? null : this.#places.take(tenant.accountId);
    if (giveBack === null && tenant !== null && !tenant.isOnlyAccount) throw tooManyBodies(this.#atOnceMax);
    try {
      const received = await receiveJsonBody(request, reply, tenant, this.#budgets);
      return {
        parse: received.parse,
        release() {
          giveBack?.();
          received.release();
        },
      };
    } catch (error) {
      giveBack?.();
      throw error;
    }
  }
}

function tooManyBodies(atOnceMax: number): GatewayError {
  return new GatewayError('rateLimitExceeded', {
    code: 'too_many_requests',
    message: `You have ${atOnceMax} requests with a body in flight. Send fewer at a time.`,
    // The body is not read, so no other request can use the connection.
    headers: { 'retry-after': '1', connection: 'close' },
  });
}

async function receiveJsonBody(
  request: FastifyRequest,
  reply: FastifyReply,
  tenant: BodyTenant | null,
  budgets: BodyBudgets | null,
): Promise<ReceivedBody> {
  requireJson(request.raw);
  const limits = tenant === null ? VISITOR_LIMITS : TENANT_LIMITS;
  if (tenant === null) requirePlain(request);
  const owner = tenant === null || budgets === null ? null : { tenant, budgets, look: null };
  const held: HeldBody = await readBody(request.raw, reply.raw, limits.body, null, owner);
  return { parse: () => parseBody(held.bytes, limits.json), release: () => held.release() };
}

/** Refuses compressed bodies, which can be small but become large. @throws GatewayError `unsupportedMediaType` */
function requirePlain({ headers }: FastifyRequest): void {
  const { 'content-encoding': encoding = 'identity' } = headers;
  if (encoding === 'identity') return;
  throw new GatewayError('unsupportedMediaType', {
    message: 'Before you have signed in, send the body without a Content-Encoding.',
    headers: { connection: 'close' },
  });
}

function parseBody(bytes: Buffer, limits: JsonScanLimits): unknown {
  if (!isUtf8(bytes)) throw invalidRequest('The body is not valid UTF-8.');
  try {
    scanJson(bytes, 0, bytes.length, limits);
  } catch (error) {
    if (error instanceof JsonLimitError) throw invalidRequest(`The body is too large to be read: ${error.message}.`);
    if (error instanceof JsonSyntaxError) throw invalidRequest('The body is not valid JSON.');
    throw error;
  }
  const text = bytes.toString('utf8');
  const repeated = findRepeatedMember(text)?.slice(0, 200);
  if (repeated !== undefined) throw invalidRequest(`${repeated}: This member is a duplicate.`, repeated);
  return JSON.parse(text);
}
