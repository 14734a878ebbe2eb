import type { ShareHolder } from '../../lib/fair/shares.ts';
import type { OutputSpeeds } from '../../protocols/metering/output-speed.ts';
import type { RequestBody } from '../../protocols/operations/operation.ts';
import { type Count, totalTokens } from '../../protocols/token-estimate/budgets.ts';
import type { BodyKind } from '../../protocols/token-estimate/count-body.ts';
import { familyFactor } from '../../protocols/token-estimate/families.ts';
import type { PreparedCall } from '../prepared-call.ts';
import type { StreamEstimates } from './attempt.ts';
import { withinReservation } from './bound-estimate.ts';

/** Counts the input tokens of a request, in another thread. It throws if it cannot take the request now. */
type CountInput = (kind: BodyKind, body: Buffer, holder: ShareHolder) => Promise<Count>;

/** The parts that estimates of all calls are made with. */
export interface EstimateParts {
  readonly countInput: CountInput;
  readonly speeds: OutputSpeeds;
}

/** The estimates of an attempt at a route with a body. */
export function streamEstimates(
  { countInput, speeds }: EstimateParts,
  { principal, policy, model, price, basis, estimate: { inputTokens, amountNano, assumesOutput } }: PreparedCall,
  routeId: string,
  body: RequestBody,
): StreamEstimates {
  const reservation = { amountNano, prices: price.prices, basis, assumesOutput };
  return {
    async inputTokens() {
      const { countedAs } = policy.operation;
      if (countedAs === null || !Buffer.isBuffer(body)) return inputTokens;
      try {
        const count = await countInput(countedAs, body, principal);
        const tokens = totalTokens(count, model.tokenFactor ?? familyFactor(model.id));
        return Math.min(tokens, model.contextTokensMax ?? tokens);
      } catch {
        // The queue of counts is full, or the body cannot be counted: the estimate of the admission serves instead.
        return inputTokens;
      }
    },
    unseenTokens: (elapsedMs) => speeds.unseenTokens(routeId, elapsedMs, model.hiddenReasoning),
    note: (stream) => speeds.note(routeId, stream),
    bound: (estimate, known) => withinReservation(estimate, known, reservation),
  };
}
