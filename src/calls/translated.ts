import { jsonOperationOf } from '../protocols/operations/all.ts';
import type { RequestFacts } from '../protocols/operations/operation.ts';
import type { ClientFormName } from '../protocols/translation/pairs.ts';
import {
  type TranslatedRequest,
  type TranslationTarget,
  translateRequest,
} from '../protocols/translation/translated-request.ts';

export interface AskedTranslation {
  readonly client: ClientFormName;
  readonly model: string;
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
