import type { Logger } from '../lib/logger.ts';
import type { RequestObserver } from '../requests/request-report.ts';
import type { UnpricedUses } from '../requests/unpriced-uses.ts';

/** Logs what an operator has to know of the charges of calls, and counts uses that have no price (`docs/logging.md`). */
export function createChargeWarnings(logger: Logger, unpricedUses: UnpricedUses): RequestObserver {
  return ({ outcome }) => {
    if (outcome?.notes === undefined) return;
    const { callId, model, provider, notes } = outcome;
    const { excess, unpriced, reservedNano } = notes;
    if (excess !== undefined) logger.warn({ callId, model, provider, excess }, EXCESS);
    if (unpriced !== undefined) unpricedUses.note(callId, model, provider, unpriced);
    if (reservedNano !== undefined) logger.warn({ callId, model }, ABOVE_RESERVATION);
  };
}

const ABOVE_RESERVATION = 'what was delivered is estimated above the reservation: the model has no maxOutputTokens';
const EXCESS = 'a provider reported more than its model can use; the call is charged without the excess';
