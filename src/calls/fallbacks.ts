import { budgetIdsOf } from '../accounting/accounts/budget-ids.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Logger } from '../lib/logger.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import { newestMaker } from '../protocols/translation/carriers.ts';
import type { Model } from '../providers/catalog/catalog.ts';
import type { Call } from './call.ts';
import type { Preparation } from './preparation.ts';
import { fallbackReasonOf } from './relay/further-attempts.ts';

interface FallbackDependencies {
  readonly preparation: Pick<Preparation, 'moveTo'>;
  readonly logger: Logger;
}

/** Chooses other models for calls that no route of the requested one serves (`docs/routing.md`). */
export class Fallbacks {
  readonly #dependencies: FallbackDependencies;

  constructor(dependencies: FallbackDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Moves a call to the next model that may serve it. Returns false if there is none, or the error allows none.
   * @param error why the current model cannot serve the call
   */
  async next(call: Call, error: unknown): Promise<boolean> {
    const { preparation, logger } = this.#dependencies;
    const terms = call.fallbackTerms;
    const reason = terms === null ? null : fallbackReasonOf(error);
    if (terms === null || reason === null || !terms.on.has(reason)) return false;
    if (call.signerId !== null || continuesState(call.clientInput)) return false;
    const asked = call.fallback?.asked ?? call.model;
    while (call.fallbacksTried < terms.models.length) {
      const model = call.catalog.find(terms.models[call.fallbacksTried++]!);
      if (model === null || (call.report.isAdmitted && !isWithinAdmission(call, model))) continue;
      const at = { callId: call.callId, asked: asked.id, model: model.id, reason };
      try {
        await preparation.moveTo(call, model, { asked, reason });
        call.report.model = model.id;
        logger.info(at, 'another model serves the call');
        return true;
      } catch (failed) {
        // Whatever fails, the call continues with its own failure: an admitted one must end.
        if (failed instanceof GatewayError)
          logger.info({ ...at, code: failed.code, words: failed.message }, 'a fallback cannot serve the call');
        else logger.error({ ...at, err: failed }, 'a fallback could not be prepared');
      }
    }
    return false;
  }
}

/** Whether a request continues state of a provider or a model, which no other model can read. */
export function continuesState(
  input: Pick<CallInput, 'model' | 'references' | 'continuationKeys' | 'demand' | 'signedKeys' | 'clientBody'>,
): boolean {
  return (
    input.model === null ||
    input.references.length > 0 ||
    input.continuationKeys.length > 0 ||
    input.demand.continues !== 'nothing' ||
    input.signedKeys().length > 0 ||
    (input.clientBody !== null && newestMaker(input.clientBody) !== null)
  );
}

/** Whether the limits that admitted a call can allow another model: it is in the plan, and has no budget of its own. */
function isWithinAdmission({ planId, settings, principal }: Call, model: Model): boolean {
  if (planId === null) return principal.modelBudgets === null || budgetIdsOf(principal.modelBudgets, model) === null;
  return settings.plans.find(({ id }) => id === planId)?.models.has(model.id) === true;
}
