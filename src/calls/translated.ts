import type { Usage } from '../protocols/metering/usage-facts.ts';
import { jsonOperationOf } from '../protocols/operations/all.ts';
import type { RequestFacts } from '../protocols/operations/operation.ts';
import type { ClientFormName } from '../protocols/translation/pairs.ts';
import { type AnswerCall, translateWhole } from '../protocols/translation/translated-answer.ts';
import {
  type AnswerFacts,
  type TranslatedRequest,
  type TranslationTarget,
  translateRequest,
} from '../protocols/translation/translated-request.ts';

export interface AskedTranslation {
  readonly client: ClientFormName;
  /** The model as the client calls it. */
  readonly model: string;
  readonly providerModel: string;
}

/** A translated request. All values are plain, so that they can be copied between threads. */
export interface Translated {
  readonly request: TranslatedRequest;
  /** What the operation of the provider read in the translated body. */
  readonly facts: RequestFacts;
}

/**
 * Translates a request, and reads the result as the operation of the provider does.
 * @throws GatewayError `invalidRequest` if the protocol of the provider cannot express the request
 */
export function translated(asked: AskedTranslation, body: Buffer, target: TranslationTarget): Translated {
  const request = translateRequest({ ...asked, body }, target);
  return { request, facts: jsonOperationOf(target.form).read(Buffer.from(request.body)) };
}

/** What the translation of a whole answer needs of the call. */
export interface WholeAnswer {
  readonly facts: AnswerFacts;
  readonly call: AnswerCall;
  /** The usage that is charged. */
  readonly usage: Usage;
}

/** @throws AnswerError or JsonSyntaxError if the client's protocol cannot express the answer */
export function translatedAnswer({ facts, call, usage }: WholeAnswer, answer: Buffer): Buffer {
  return translateWhole(facts, call, answer, usage);
}
