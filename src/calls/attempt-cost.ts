import { chargeBasis } from '../accounting/pricing/charge.ts';
import { priceInForce } from '../accounting/pricing/price.ts';
import type { CallInput } from '../protocols/operations/operation.ts';
import type { Model, Route } from '../providers/catalog/catalog.ts';
import type { EndpointPolicy } from './call-request.ts';
import { estimateReservation } from './reservation-estimate.ts';

interface SentCall {
  readonly route: Pick<Route, 'cost'>;
  readonly input: Pick<CallInput, 'inputTokensEstimate' | 'choices' | 'demand'>;
  readonly model: Model;
  readonly policy: Pick<EndpointPolicy, 'operation'>;
  readonly startedAtMs: number;
}

/**
 * What an attempt of unknown outcome can have cost the operator at most: the maximum use of the call, at the cost prices of the route;
 * `null`: the route has none.
 */
export function costAtMostNano({
  route: { cost },
  input,
  model,
  policy: { operation },
  startedAtMs,
}: SentCall): bigint | null {
  if (cost === undefined) return null;
  const { prices } = priceInForce(cost, startedAtMs);
  const terms = { model, prices, basis: chargeBasis(operation, prices), continuedTokens: 0 };
  return estimateReservation(input, terms).amountNano;
}
