import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GatewayError, invalidRequest } from '../../errors/gateway-error.ts';
import { type BodyLimits, type HeldBody, readBody, requireJson } from '../../http/body.ts';
import type { BodyBudgets, BodyHolder } from '../../http/body-budgets.ts';
import { AtATime } from '../../lib/fair/at-a-time.ts';
import { findRepeatedMember } from '../../lib/json/json-repeats.ts';
import { JsonLimitError, type JsonScanLimits, JsonSyntaxError, scanJson } from '../../lib/json/json-scan.ts';

/** What a body of the admin API or the account API may have. Its values are counted before they are made. */
interface RequestBodyLimits {
  readonly body: BodyLimits;
  readonly json: JsonScanLimits;
}

/** Far beyond what honest clients send: the largest are lists of models and networks. */
export const HOLDER_LIMITS: RequestBodyLimits = {
  body: { sizeBytesMax: 1024 * 1024, idleTimeoutMs: 30_000 },
  json: { depthMax: 16, valuesMax: 20_000, membersMax: 1_000 },
};

/** Whoever has shown no credential: names, passwords and links are small. */
export const VISITOR_LIMITS: RequestBodyLimits = {
  body: { sizeBytesMax: 16 * 1024, idleTimeoutMs: 30_000 },
  json: { depthMax: 4, valuesMax: 100, membersMax: 100 },
};

/** Bodies of one account, or of one person, at a time: those that run or may wait, and some that arrive meanwhile. */
export const BODIES_MAX = 64;

/** A body that was received and not read yet. */
export interface ReceivedBody {
  /** @throws GatewayError `invalidRequest` if it is no JSON, or a member occurs twice, because either value could be meant. */
  parse(): unknown;
  /** Gives its memory back. May be called again. */
  release(): void;
}

/** Receives the bodies of both APIs. */
export class RequestBodies {
  readonly #budgets: BodyBudgets | null;
  readonly #atOnceMax: number;
  readonly #places: AtATime;

  /** `budgets`: what they take their memory from; `null`: as much as they like. `atOnceMax`: bodies of one holder at a time. */
  constructor(budgets: BodyBudgets | null, atOnceMax = BODIES_MAX) {
    this.#budgets = budgets;
    this.#atOnceMax = atOnceMax;
    this.#places = new AtATime(atOnceMax);
  }

  /**
   * Receives a body. That of a holder is in the memory budgets; a visitor, which has no holder, may send little and not encoded.
   *
   * @throws GatewayError as `readBody` does, and `rateLimitExceeded` if the holder sends too many at a time
   */
  async receive(request: FastifyRequest, reply: FastifyReply, holder: BodyHolder | null): Promise<ReceivedBody> {
    const giveBack = holder === null || holder.isOnlyAccount ? null : this.#places.take(holder.accountId);
    if (giveBack === null && holder !== null && !holder.isOnlyAccount) throw tooManyBodies(this.#atOnceMax);
    try {
      const received = await receiveJsonBody(request, reply, holder, this.#budgets);
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
    message: `${atOnceMax} requests with a body of yours are under way. Send fewer at a time.`,
    // The body is not read, so the connection cannot serve another request.
    headers: { 'retry-after': '1', connection: 'close' },
  });
}

async function receiveJsonBody(
  request: FastifyRequest,
  reply: FastifyReply,
  holder: BodyHolder | null,
  budgets: BodyBudgets | null,
): Promise<ReceivedBody> {
  requireJson(request.raw);
  const limits = holder === null ? VISITOR_LIMITS : HOLDER_LIMITS;
  if (holder === null) requirePlain(request);
  const owner = holder === null || budgets === null ? null : { holder, budgets, look: null };
  const held: HeldBody = await readBody(request.raw, reply.raw, limits.body, null, owner);
  return { parse: () => parseBody(held.bytes, limits.json), release: () => held.release() };
}

/** @throws GatewayError `unsupportedMediaType`, because a small encoded body can be a large one. */
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
  if (repeated !== undefined) throw invalidRequest(`${repeated}: This member stands in the body twice.`, repeated);
  return JSON.parse(text);
}
