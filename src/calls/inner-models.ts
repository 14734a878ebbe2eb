import type { Principal } from '../accounting/accounts/principals.ts';
import { priceInForce } from '../accounting/pricing/price.ts';
import type { PricedInnerModel } from '../accounting/pricing/priced-models.ts';
import { invalidRequest } from '../errors/gateway-error.ts';
import type { Demand } from '../protocols/operations/operation.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';
import { requireAllowedModel } from './allowed-models.ts';

/** A model of the catalog that a request names as an inner model. */
export interface AllowedModel extends PricedInnerModel {
  readonly model: Model;
}

/**
 * The inner models that a request names, each with the model of the catalog that prices and admits it.
 *
 * @throws GatewayError `invalidRequest` with the member to blame if a name is not allowed: its use would have no price
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
