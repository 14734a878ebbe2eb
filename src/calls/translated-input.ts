import type { Principal } from '../accounting/accounts/principals.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Soon } from '../lib/soon.ts';
import type { CallInput, JsonOperation } from '../protocols/operations/operation.ts';
import type { AnswerFacts } from '../protocols/translation/translated-request.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import type { RequestWorkers } from './request-workers.ts';
import type { Translated } from './translated.ts';

/** A request in the protocol of a provider that does not speak the client's. */
export interface TranslatedInput {
  readonly route: Route;
  readonly operation: JsonOperation;
  readonly input: CallInput;
  /** What the answer needs of the request. */
  readonly answer: AnswerFacts;
  /** Members that the provider does not get, and those that were added. */
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
}

/** What a translation needs of the call. */
interface AskedCall {
  readonly principal: Principal;
  readonly model: Pick<Model, 'id'>;
  readonly clientInput: CallInput;
}

export type Translate = RequestWorkers['translate'];

/**
 * Translates the request of a call for a route.
 * @throws GatewayError, or rejects with it: `invalidRequest` if the protocol of the provider cannot express the request, `overloaded`
 */
export function translateFor(
  { principal, model, clientInput }: AskedCall,
  route: Route,
  translate: Translate,
): Soon<TranslatedInput> {
  const { client, operation, target } = route.translation!;
  const body = clientInput.clientBody;
  if (body === null) throw new GatewayError('internal');
  const asked = { client, model: clientInput.model ?? model.id };
  const ofRoute = (translated: Translated): TranslatedInput => inputOf(route, operation, translated);
  const translated = translate(asked, body, target, principal);
  return translated instanceof Promise ? translated.then(ofRoute) : ofRoute(translated);
}

function inputOf(route: Route, operation: JsonOperation, { request, facts }: Translated): TranslatedInput {
  const { body, answer, leftOut, added } = request;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return { route, operation, input: operation.toInput(facts, bytes), answer, leftOut, added };
}

/** Whether a route cannot express the request, so that another one is tried. */
export function isTranslationRefusal(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.kind === 'invalidRequest';
}
