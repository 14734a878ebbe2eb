import type { PriceInForce } from './price.ts';

/** What a charge needs to know of a model. Limits in tokens; `null`: the model states none. */
export interface PricedModel {
  readonly id: string;
  readonly contextTokensMax: number | null;
  readonly outputTokensMax: number | null;
}

/** An inner model of a call, by the name that the request uses, with its price in force. */
export interface PricedInnerModel {
  readonly name: string;
  readonly model: PricedModel;
  readonly price: PriceInForce;
}

/**
 * The model whose usage a provider reports under a name: the call's own model, or one of its inner models. Providers add a
 * date to names. Usage under any other name belongs to the inner model with the highest price of output.
 */
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
