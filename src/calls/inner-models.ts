import type { Principal } from '../accounting/accounts/principals.ts';
import { type PriceInForce, priceInForce } from '../accounting/pricing/price.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { Demand } from '../protocols/operations/operation.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';
import { requireAllowedModel } from './allowed-models.ts';

/** A model of the catalog that a request names as an inner model, with the name that the request uses. */
export interface AllowedModel {
  readonly name: string;
  readonly model: Model;
  readonly price: PriceInForce;
}

/**
 * The inner models that a request names, each with the model of the catalog that prices and admits it.
 *
 * @throws GatewayError `invalidRequest` with the member to blame where a name is not allowed: its use would have no price
 * and would not be checked against the plan; `modelNotAllowed` where the key may not use it.
 */
export function allowInnerModels(
  named: Demand['innerModels'],
  model: Model,
  { principal, catalog }: { readonly principal: Pick<Principal, 'allowedModels'>; readonly catalog: Catalog },
  nowMs: number,
): AllowedModel[] {
  return named.map(({ name, param }) => {
    const id = model.innerModels.get(name);
    const inner = id === undefined ? null : catalog.find(id);
    if (inner === null) {
      throw invalidRequest(`The model that "${param}" names cannot be used inside a call of this model.`, param);
    }
    requireAllowedModel(inner, principal, catalog, param);
    return { name, model: inner, price: priceInForce(inner.price, nowMs) };
  });
}

/**
 * The model whose usage a provider reports under a name: the call's own model, or an allowed inner model. Providers add a
 * date to names. Usage under any other name belongs to the inner model with the highest price of output.
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
