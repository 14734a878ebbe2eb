import type { Principal } from '../accounting/accounts/principals.ts';
import type { PricedInnerModel } from '../accounting/pricing/priced-models.ts';
import { GatewayError, invalidRequest } from '../errors/gateway-error.ts';
import type { Demand } from '../protocols/operations/operation.ts';
import type { Catalog, Model } from '../providers/catalog/catalog.ts';

const NAMED_MAX = 20;

type ModelLists = Pick<Principal, 'allowedModels' | 'memberModels' | 'accountModels'>;

type GroupCatalog = Pick<Catalog, 'find' | 'group'>;

/**
 * Checks a model against the allow-lists of a key, its member, its account and the account's group. A list allows the model by its current
 * id or by a former id, which is now an alias.
 *
 * @param param the request field that names the model
 * @param catalog the catalog of the account's group
 * @throws GatewayError `modelNotAllowed`, `memberModelNotAllowed` or `accountModelNotAllowed`, with the models that are allowed
 */
export function requireAllowedModel(
  model: Model,
  { allowedModels, memberModels, accountModels }: ModelLists,
  catalog: GroupCatalog,
  param = 'model',
): void {
  requireListed(model, allowedModels, catalog, { kind: 'modelNotAllowed', who: 'This API key', param });
  requireListed(model, memberModels, catalog, { kind: 'memberModelNotAllowed', who: 'This member', param });
  requireListed(model, accountModels, catalog, { kind: 'accountModelNotAllowed', who: 'This account', param });
  const { group } = catalog;
  if (group === null || group.models === null) return;
  const name = JSON.stringify(group.name);
  if (!group.isConfigured) {
    const message = `The group ${name} of this account is not configured, so the account may use no model. Ask the operator.`;
    throw new GatewayError('accountModelNotAllowed', { param, message });
  }
  const who = `The group ${name} of this account`;
  requireListed(model, group.models, catalog, { kind: 'accountModelNotAllowed', who, param });
}

interface Refused {
  readonly kind: 'modelNotAllowed' | 'memberModelNotAllowed' | 'accountModelNotAllowed';
  readonly who: string;
  readonly param: string;
}

function requireListed(
  model: Model,
  names: ReadonlySet<string> | null,
  catalog: GroupCatalog,
  { kind, who, param }: Refused,
): void {
  if (names === null || names.has(model.id)) return;
  const allowed = new Set([...names].flatMap((name) => catalog.find(name) ?? []));
  if (allowed.has(model)) return;
  const message = `${who} may not use the model ${JSON.stringify(model.id)}. ${whichMay([...allowed])}`;
  throw new GatewayError(kind, { param, message });
}

/**
 * Whether model lists show a model, by its id or one of its other names.
 *
 * @param group the group of the account
 */
export function isShownModel(
  { id, aliases }: Pick<Model, 'id' | 'aliases'>,
  { allowedModels, memberModels, accountModels }: ModelLists,
  group: Catalog['group'],
): boolean {
  const isIn = (allowed: ReadonlySet<string> | null): boolean =>
    allowed === null || allowed.has(id) || aliases.some((alias) => allowed.has(alias));
  return isIn(allowedModels) && isIn(memberModels) && isIn(accountModels) && isIn(group === null ? null : group.models);
}

function whichMay(allowed: readonly Model[]): string {
  if (allowed.length === 0) return 'None of the allowed models is currently available.';
  const named = allowed.slice(0, NAMED_MAX).map(({ id }) => id);
  const others = allowed.length > named.length ? ` and ${allowed.length - named.length} others` : '';
  return `Allowed models: ${named.join(', ')}${others}.`;
}

export interface AllowedModel extends Omit<PricedInnerModel, 'price'> {
  readonly model: Model;
}

/**
 * Returns the inner models that a request names: other models that the provider runs for the call, for example for a tool. Their prices and
 * limits are those of models in the catalog.
 *
 * @throws GatewayError `invalidRequest`, with the request field, if the catalog does not map the name to a model with a price; the errors
 * of `requireAllowedModel` if the model may not be used
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
