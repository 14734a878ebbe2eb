import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { Demand } from '../protocols/operations/operation.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';

/** A model of the catalog that a request names inside, by the name that it has there. */
export interface AllowedModel {
  readonly name: string;
  readonly model: Model;
  readonly price: PriceInForce;
}

/**
 * The models that a request names beside its own, each with the model of the catalog that prices and admits it.
 *
 * @throws GatewayError `invalidRequest` with the member to blame: such a model would be used past price and plan.
 */
export function allowInnerModels(
  named: Demand['innerModels'],
  model: Model,
  catalog: Catalog,
  nowMs: number,
): AllowedModel[] {
  return named.map(({ name, param }) => {
    const id = model.innerModels.get(name);
    const inner = id === undefined ? null : catalog.find(id);
    if (inner === null) {
      throw invalidRequest(`The model that "${param}" names cannot be used inside a call of this model.`, param);
    }
    return { name, model: inner, price: priceInForce(inner.price, nowMs) };
  });
}

/**
 * Whose usage a provider reports under a name: that of the call's own model, or of an allowed one; providers add a date
 * to names. What fits neither is charged as the dearest.
 */
export function ownerOf(
  reported: string | null,
  ownNames: readonly string[],
  allowed: readonly AllowedModel[],
): AllowedModel | 'own' {
  if (reported === null || allowed.length === 0) return 'own';
  const isNamed = (name: string): boolean => reported === name || reported.startsWith(`${name}-`);
  const [named] = allowed.filter(({ name }) => isNamed(name)).sort((a, b) => b.name.length - a.name.length);
  if (named !== undefined) return named;
  if (ownNames.some(isNamed)) return 'own';
  return allowed.reduce((dearest, each) => (outputPrice(each) > outputPrice(dearest) ? each : dearest));
}

function outputPrice({ price }: AllowedModel): bigint {
  return price.prices.outputNanoPerMillion;
}
