import { GatewayError } from '../errors/gateway-error.ts';
import type { Count } from '../tokens/budgets.ts';
import { countBody } from '../tokens/count-body.ts';
import { Tokenizer } from '../tokens/tokenizer.ts';
import type { CountTask } from '../tokens/worker.ts';
import { countTokens } from './count-tokens.ts';
import { BodyFields } from './fields.ts';
import { inputTokens } from './input-tokens.ts';

/** What comes of a body that was to be estimated. */
export type Estimated =
  | { readonly model: string | null; readonly count: Count }
  /** It is not what its address takes; errors themselves do not cross threads. */
  | { readonly refusal: { readonly message: string; readonly param: string | null } };

const estimates = { responses: inputTokens, messages: countTokens };

/** Read with the first body: an error while this file is loaded would leave the bodies that wait without an answer. */
let tokenizer: Tokenizer | null = null;

/**
 * What a thread of the estimator's pool runs: it checks a body and counts it, so that the thread that serves calls does
 * nothing with a large one but hand it over.
 */
export function count({ kind, body }: CountTask): Estimated {
  const bytes = Buffer.from(body);
  try {
    const model = estimates[kind].inspect(BodyFields.read(bytes));
    tokenizer ??= new Tokenizer();
    return { model, count: countBody(kind, bytes, tokenizer) };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { refusal: { message: error.message, param: error.param } };
  }
}
