import type { Model } from '../catalog/catalog.ts';
import type { OperationName } from '../config/schema.ts';
import type { ShareHolder } from '../lib/shares.ts';
import type { OutputSpeeds } from '../metering/output-speed.ts';
import { type Count, totalTokens } from '../tokens/budgets.ts';
import type { BodyKind } from '../tokens/count-body.ts';
import { familyFactor } from '../tokens/families.ts';
import type { UpstreamBody } from '../upstream/exchange.ts';
import type { StreamEstimates } from './attempt.ts';
import { type Reservation, withinReservation } from './bound-estimate.ts';

/** Counts the input of a request, in another thread. It throws where it cannot take the request now. */
export type CountInput = (kind: BodyKind, body: Buffer, holder: ShareHolder) => Promise<Count>;

/** What estimates are made with, whatever the call. */
export interface EstimateParts {
  readonly countInput: CountInput;
  readonly speeds: OutputSpeeds;
}

/** What an estimate needs to know of a call. */
export interface EstimatedCall {
  readonly holder: ShareHolder;
  readonly operation: OperationName;
  readonly model: Model;
  readonly routeId: string;
  readonly body: UpstreamBody;
  /** The input by size, which stands where nothing better can be had. */
  readonly inputTokensBySize: number;
  readonly reservation: Reservation;
}

/** The form in which each operation that streams text has its request. */
const FORMS: Readonly<Partial<Record<OperationName, BodyKind>>> = {
  chat: 'chat',
  messages: 'messages',
  responses: 'responses',
};

export function streamEstimates({ countInput, speeds }: EstimateParts, call: EstimatedCall): StreamEstimates {
  const { holder, operation, model, routeId, body, inputTokensBySize, reservation } = call;
  return {
    async inputTokens() {
      const form = FORMS[operation];
      if (form === undefined || !Buffer.isBuffer(body)) return inputTokensBySize;
      try {
        const count = await countInput(form, body, holder);
        const tokens = totalTokens(count, model.tokenFactor ?? familyFactor(model.id));
        return Math.min(tokens, model.contextTokensMax ?? tokens);
      } catch {
        // Too much waits to be counted, or it cannot be counted: the end of a call waits for no estimate.
        return inputTokensBySize;
      }
    },
    unseenTokens: (elapsedMs) => speeds.unseenTokens(routeId, elapsedMs, model.hiddenReasoning),
    note: (stream) => speeds.note(routeId, stream),
    bound: (estimate, reported) => withinReservation(estimate, reported, reservation),
  };
}
