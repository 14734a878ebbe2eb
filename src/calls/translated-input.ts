import type { Principal } from '../accounting/accounts/principals.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Soon } from '../lib/soon.ts';
import type { CallInput, JsonOperation } from '../protocols/operations/operation.ts';
import type { AnswerFacts } from '../protocols/translation/translated-request.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import { type MemoryOf, releasedOnFailure } from './body-memory.ts';
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
  readonly changed: readonly string[];
  /** Returns the memory of the body to the budget. May be called repeatedly. */
  release(): void;
}

/** What a translation needs of the call. */
interface AskedCall {
  readonly principal: Principal;
  readonly model: Pick<Model, 'id'>;
  readonly clientInput: CallInput;
}

interface TranslatorDependencies {
  readonly translate: RequestWorkers['translate'];
  readonly memoryOf: MemoryOf;
}

/** Translates requests of calls. Translated bodies count in the memory of bodies until they are released. */
export class Translator {
  readonly #dependencies: TranslatorDependencies;

  constructor(dependencies: TranslatorDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Translates the request of a call for a route.
   * @throws GatewayError, or rejects with it: `invalidRequest` if the protocol of the provider cannot express the request, `overloaded`
   * if there is no memory or no thread for it
   */
  translate({ principal, model, clientInput }: AskedCall, route: Route): Soon<TranslatedInput> {
    const { client, operation, target } = route.translation!;
    const body = clientInput.clientBody;
    if (body === null) throw new GatewayError('internal');
    const { translate, memoryOf } = this.#dependencies;
    const memory = memoryOf(principal);
    const ofRoute = ({ request, facts }: Translated): TranslatedInput => {
      const { body: written, answer, leftOut, added, changed } = request;
      memory.need(written.length);
      const bytes = Buffer.from(written.buffer, written.byteOffset, written.byteLength);
      const input = operation.toInput(facts, bytes);
      return { route, operation, input, answer, leftOut, added, changed, release: () => memory.release() };
    };
    return releasedOnFailure(memory, () => {
      // Another thread gets a copy of the client's body, and a translation is about as large.
      memory.need(body.length);
      const asked = { client, model: clientInput.model ?? model.id, providerModel: route.providerModel };
      const translated = translate(asked, body, target, principal);
      return translated instanceof Promise ? translated.then(ofRoute) : ofRoute(translated);
    });
  }
}

/** Whether a route cannot express the request, so that another one is tried. */
export function isTranslationRefusal(error: unknown): error is GatewayError {
  return error instanceof GatewayError && error.kind === 'invalidRequest';
}
