import { move, transferableSymbol, valueSymbol } from 'piscina';
import type { ErrorKind } from '../errors/catalogue.ts';
import { GatewayError, type GatewayErrorOptions } from '../errors/gateway-error.ts';
import { jsonOperationOf } from '../protocols/operations/all.ts';
import { countTokens } from '../protocols/operations/count-tokens.ts';
import type { Estimate } from '../protocols/operations/estimate.ts';
import { BodyFields } from '../protocols/operations/fields.ts';
import { inputTokens } from '../protocols/operations/input-tokens.ts';
import type { RequestFacts } from '../protocols/operations/operation.ts';
import type { Count } from '../protocols/token-estimate/budgets.ts';
import { type BodyKind, countBody } from '../protocols/token-estimate/count-body.ts';
import { Tokenizer } from '../protocols/token-estimate/tokenizer.ts';
import type { TranslationTarget } from '../protocols/translation/translated-request.ts';
import { type AskedTranslation, type Translated, translated } from './translated.ts';

export type RequestTask = ReadTask | EstimateTask | CountTask | TranslateTask;

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

/** Asks for the body of a provider that speaks another protocol. The client's body was checked before. */
interface TranslateTask {
  readonly does: 'translate';
  readonly asked: AskedTranslation;
  readonly target: TranslationTarget;
  readonly body: ArrayBuffer;
}

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

export function run(task: RequestTask): ReadBody | Estimated | Count | Translated | Refusal {
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

function perform(task: RequestTask): ReadBody | Estimated | Count | Translated {
  switch (task.does) {
    case 'read':
      return read(task);
    case 'estimate':
      return estimate(task);
    case 'count':
      return count(task.kind, Buffer.from(task.body));
    case 'translate':
      return translated(task.asked, Buffer.from(task.body), task.target);
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
