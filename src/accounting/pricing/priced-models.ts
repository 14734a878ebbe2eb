import type { PriceInForce } from './price.ts';

/** A model with its limits in tokens; `null`: not configured. */
export interface PricedModel {
  readonly id: string;
  readonly contextTokensMax: number | null;
  readonly outputTokensMax: number | null;
}

/** Another model that the request names, with its price in force. */
export interface PricedInnerModel {
  readonly name: string;
  readonly model: PricedModel;
  readonly price: PriceInForce;
}

/** Returns the model that a provider reported. For an unknown name, this is the inner model with the highest output price. */
export function reportedModel<Inner extends PricedInnerModel>(
  reported: string | null,
  ownNames: readonly string[],
  inner: readonly Inner[],
): Inner | 'own' {
  if (reported === null || inner.length === 0) return 'own';
  const isNamed = (name: string): boolean => reported === name || reported.startsWith(`${name}-`);
  const [named] = inner.filter(({ name }) => isNamed(name)).sort((a, b) => b.name.length - a.name.length);
  if (named !== undefined) return named;
  if (ownNames.some(isNamed)) return 'own';
  return inner.reduce((dearest, each) => (outputPrice(each) > outputPrice(dearest) ? each : dearest));
}

function outputPrice({ price }: PricedInnerModel): bigint {
  return price.prices.outputNanoPerMillion;
}
