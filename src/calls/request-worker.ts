import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { ErrorKind } from '../errors/catalogue.ts';
import { GatewayError, type GatewayErrorOptions } from '../errors/gateway-error.ts';
import { JsonSyntaxError } from '../lib/json/json-scan.ts';
import { jsonOperationOf } from '../protocols/operations/all.ts';
import { countTokens } from '../protocols/operations/count-tokens.ts';
import type { Estimate } from '../protocols/operations/estimate.ts';
import { BodyFields } from '../protocols/operations/fields.ts';
import { inputTokens } from '../protocols/operations/input-tokens.ts';
import type { RequestFacts } from '../protocols/operations/operation.ts';
import type { MemberParameters } from '../protocols/parameters/parameters.ts';
import type { Count } from '../protocols/token-estimate/budgets.ts';
import { type BodyKind, countBody } from '../protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../protocols/token-estimate/tokenizer.ts';
import { AnswerError } from '../protocols/translation/answer.ts';
import type { TranslationTarget } from '../protocols/translation/translated-request.ts';
import { type Rewritten, rewritten } from './rewritten.ts';
import {
  type AskedTranslation,
  type Translated,
  translated,
  translatedAnswer,
  type WholeAnswer,
} from './translated.ts';

export type RequestTask = ReadTask | EstimateTask | CountTask | RewriteTask | TranslateTask | AnswerTask;

interface ReadTask {
  readonly does: 'read';
  readonly operation: string;
  readonly body: ArrayBuffer;
}

interface EstimateTask {
  readonly does: 'estimate';
  readonly kind: Estimate['kind'];
  readonly body: ArrayBuffer;
}

/** Asks for the number of tokens. The body was checked before: it is JSON within the limits of `scanJson`. */
interface CountTask {
  readonly does: 'count';
  readonly kind: BodyKind;
  readonly body: ArrayBuffer;
}

/** Asks what the parameters of a route change in a body that was checked before. */
interface RewriteTask {
  readonly does: 'rewrite';
  readonly operation: string;
  readonly parameters: readonly MemberParameters[];
  readonly body: ArrayBuffer;
}

/** Asks for the body of a provider that speaks another protocol. The client's body was checked before. */
interface TranslateTask {
  readonly does: 'translate';
  readonly asked: AskedTranslation;
  readonly target: TranslationTarget;
  readonly body: ArrayBuffer;
}

/** Asks for the answer of a provider in the client's protocol. */
interface AnswerTask {
  readonly does: 'answer';
  readonly whole: WholeAnswer;
  readonly body: ArrayBuffer;
}

/** A translated answer; `failure`: why the client's protocol cannot express it. */
export type TranslatedAnswer = { readonly answer: ArrayBuffer } | { readonly failure: string };

type Result = ReadBody | Estimated | Count | Rewritten | Translated | TranslatedAnswer;

/** The result for a body. The worker transfers the memory of `body` back to the caller. */
export interface ReadBody {
  readonly facts: RequestFacts;
  readonly body: ArrayBuffer;
}

export interface Estimated {
  readonly model: string | null;
  readonly count: Count;
}

/** A `GatewayError` as plain data, because errors lose their class between threads. */
export interface Refusal {
  readonly refusal: { readonly kind: ErrorKind; readonly options: GatewayErrorOptions };
}

const estimates = { responses: inputTokens, messages: countTokens };

/** The tokenizer is loaded by the first task. If this file loaded it, an error would leave tasks without a result. */
let tokenizer: Tokenizer | null = null;

export function run(task: RequestTask): Result | Refusal {
  let isMovedBack = false;
  try {
    const result = perform(task);
    isMovedBack = task.does === 'read';
    return result;
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refusal: refusalOf(error) };
  } finally {
    // Frees the memory of the body at once rather than at the thread's next garbage collection.
    if (!isMovedBack) task.body.transfer(0);
  }
}

function perform(task: RequestTask): Result {
  switch (task.does) {
    case 'read':
      return read(task);
    case 'estimate':
      return estimate(task);
    case 'count':
      return count(task.kind, Buffer.from(task.body));
    case 'rewrite':
      return rewritten(task.operation, Buffer.from(task.body), task.parameters);
    case 'translate':
      return translate(task);
    case 'answer':
      return answer(task);
  }
}

function read({ operation, body }: ReadTask): ReadBody {
  const facts = jsonOperationOf(operation).read(Buffer.from(body));
  return moving({ facts, body }, body);
}

function estimate({ kind, body }: EstimateTask): Estimated {
  const bytes = Buffer.from(body);
  const model = estimates[kind].inspect(BodyFields.read(bytes));
  return { model, count: count(kind, bytes) };
}

function translate({ asked, body, target }: TranslateTask): Translated {
  const { request, facts } = translated(asked, Buffer.from(body), target);
  const written = ownBytes(request.body);
  return moving({ request: { ...request, body: written }, facts }, written.buffer);
}

function answer({ whole, body }: AnswerTask): TranslatedAnswer {
  try {
    const { buffer } = ownBytes(translatedAnswer(whole, Buffer.from(body)));
    return moving({ answer: buffer }, buffer);
  } catch (error) {
    if (!(error instanceof AnswerError) && !(error instanceof JsonSyntaxError)) throw error;
    return { failure: error.message };
  }
}

/** Bytes in memory of their own. A small buffer is part of a larger one, which holds other bytes. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const isWhole = bytes.byteLength === bytes.buffer.byteLength;
  return new Uint8Array(isWhole ? (bytes.buffer as ArrayBuffer) : bytes);
}

function count(kind: BodyKind, bytes: Buffer): Count {
  tokenizer ??= new Tokenizer();
  return countBody(kind, bytes, tokenizer);
}

function refusalOf(error: GatewayError): Refusal['refusal'] {
  const { kind, message, status, code, type, retry, headers, param } = error;
  const options = { message, status, code, retry, headers };
  return { kind, options: { ...options, ...(param !== null && { param }), ...(type !== undefined && { type }) } };
}

function moving<Value extends object>(value: Value, buffer: ArrayBuffer): Value {
  return move({
    ...value,
    get [transferableSymbol]() {
      return [buffer];
    },
    get [valueSymbol]() {
      return value;
    },
  }) as Value;
}
