import type { Principal } from '../accounting/accounts/principals.ts';
import type { PricedInnerModel } from '../accounting/pricing/priced-models.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Demand } from '../protocols/operations/operation.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';

const NAMED_MAX = 20;

type ModelLists = Pick<Principal, 'allowedModels' | 'memberModels'>;

/**
 * Checks the model against the allow-lists of the key and its member. `param`: the request field that names the model.
 * @throws GatewayError `modelNotAllowed` or `memberModelNotAllowed`; the message lists the allowed models
 */
export function requireAllowedModel(
  model: Model,
  { allowedModels, memberModels }: ModelLists,
  catalog: Pick<Catalog, 'find'>,
  param = 'model',
): void {
  requireListed(model, allowedModels, catalog, 'modelNotAllowed', param);
  requireListed(model, memberModels, catalog, 'memberModelNotAllowed', param);
}

function requireListed(
  model: Model,
  names: ReadonlySet<string> | null,
  catalog: Pick<Catalog, 'find'>,
  kind: keyof typeof WHO,
  param: string,
): void {
  if (names === null || names.has(model.id)) return;
  const allowed = new Set([...names].flatMap((name) => catalog.find(name) ?? []));
  if (allowed.has(model)) return;
  const message = `${WHO[kind]} may not use the model ${JSON.stringify(model.id)}. ${whichMay([...allowed])}`;
  throw new GatewayError(kind, { param, message });
}

const WHO = { modelNotAllowed: 'This API key', memberModelNotAllowed: 'This member' } as const;

export function isShownModel({ id, aliases }: Pick<Model, 'id' | 'aliases'>, lists: ModelLists): boolean {
  return [lists.allowedModels, lists.memberModels].every(
    (allowed) => allowed === null || [id, ...aliases].some((name) => allowed.has(name)),
  );
}

function whichMay(allowed: readonly Model[]): string {
  if (allowed.length === 0) return 'None of the models that it may use is currently available.';
  const named = allowed.slice(0, NAMED_MAX).map(({ id }) => id);
  const others = allowed.length > named.length ? ` and ${allowed.length - named.length} others` : '';
  return `It may use: ${named.join(', ')}${others}.`;
}

export interface AllowedModel extends Omit<PricedInnerModel, 'price'> {
  readonly model: Model;
}

/**
 * Finds the catalog models of the inner models that a request names; each must have a price and be allowed.
 * @throws GatewayError `invalidRequest` with the request field if a name is not allowed; `modelNotAllowed` or `memberModelNotAllowed` if
 * the key or its member may not use the model
 */
export function allowInnerModels(
  named: Demand['innerModels'],
  model: Model,
  { principal, catalog }: { readonly principal: ModelLists; readonly catalog: Catalog },
): AllowedModel[] {
  return named.map(({ name, param }) => {
    const id = model.innerModels.get(name);
    const inner = id === undefined ? null : catalog.find(id);
    if (inner === null) {
      throw invalidRequest(
        `The field "${param}" names a model that cannot be used in calls of the requested model.`,
        param,
      );
    }
    requireAllowedModel(inner, principal, catalog, param);
    return { name, model: inner };
  });
}
