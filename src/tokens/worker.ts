import type { Count } from './budgets.ts';
import { type BodyKind, countBody } from './count-body.ts';
import { Tokenizer } from './tokenizer.ts';

/** What a thread of the estimator's pool runs. */
export interface CountTask {
  readonly kind: BodyKind;
  /** A JSON object in UTF-8. */
  readonly body: ArrayBuffer;
}

/** Read with the first body: an error while this file is loaded would leave the bodies that wait without an answer. */
let tokenizer: Tokenizer | null = null;

export function count({ kind, body }: CountTask): Count {
  tokenizer ??= new Tokenizer();
  return countBody(kind, Buffer.from(body), tokenizer);
}
