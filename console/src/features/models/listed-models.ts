import type { ProviderModels } from '../../api/types.ts';
import { type CatalogValue, type Fields, fieldsOf, listOf, textOf } from '../../parts/catalog/catalog-value.ts';
import { type CatalogEdit, newEntry } from '../../parts/catalog/edits.ts';
import { groupPrices, listAt, priceLists } from '../../parts/catalog/price-lists.ts';

type Listed = ProviderModels['data'][number];

/** A model of a provider's list, and what the catalog has of it. */
export interface Offer extends Listed {
  /**
   * - `new`: the catalog has no model of this name.
   * - `route`: it has one, without a route to the provider.
   * - `served`: a model of the catalog has a route to it.
   */
  readonly kind: 'new' | 'route' | 'served';
}

export function offersOf(
  { models }: Pick<CatalogValue, 'models'>,
  provider: string,
  listed: readonly Listed[],
): Offer[] {
  const served = new Set(
    Object.values(models).flatMap(({ routes }) =>
      listOf(routes)
        .map(fieldsOf)
        .filter((route) => route.provider === provider)
        .map((route) => textOf(route.model)),
    ),
  );
  return listed.map((model) => ({
    ...model,
    kind: served.has(model.id) ? 'served' : Object.hasOwn(models, model.id) ? 'route' : 'new',
  }));
}

/** Token prices as entered. */
export interface EnteredPrices {
  readonly input: string;
  readonly cachedInput: string;
  readonly output: string;
}

export const NO_PRICES: EnteredPrices = { input: '', cachedInput: '', output: '' };

/** The instant at which prices are in force, and the billing time zone. */
export interface Now {
  readonly ms: number;
  readonly timezone: string;
}

/**
 * The price list in force of a model of the catalog that a provider serves under the same name; `null` if there is none. Relays put the
 * name of the vendor in front of a model's.
 */
export function knownPrices({ models }: Pick<CatalogValue, 'models'>, id: string, now: Now): Fields | null {
  const name = baseName(id);
  const found = Object.values(models).find(({ routes }) =>
    listOf(routes).some((route) => baseName(textOf(fieldsOf(route).model)) === name),
  );
  if (found === undefined) return null;
  return groupPrices(listAt(priceLists(fieldsOf(found.price)), now.ms, now.timezone).fields);
}

const baseName = (id: string): string => id.slice(id.lastIndexOf('/') + 1).toLowerCase();

export interface ChosenModel {
  readonly offer: Offer;
  readonly prices: EnteredPrices;
}

/** Adds models of a provider, or routes to it if the catalog has the models: all in one revision. */
export function chosenModelEdits(
  { models }: Pick<CatalogValue, 'models'>,
  provider: string,
  operations: readonly string[],
  chosen: readonly ChosenModel[],
  now: Now,
): CatalogEdit[] {
  return chosen.flatMap(({ offer, prices }) => {
    const { id, displayName, contextLength, maxOutputTokens } = offer;
    const route = { provider, model: id };
    const routes = listOf(models[id]?.routes);
    if (offer.kind === 'route') {
      const path = ['models', id, 'routes'];
      return [routes.length === 0 ? { path, value: [route] } : { path: [...path, routes.length], value: route }];
    }
    return newEntry(['models', id], {
      displayName: displayName === id ? '' : displayName,
      contextLength: textOf(contextLength),
      maxOutputTokens: textOf(maxOutputTokens),
      operations,
      price: { ...knownPrices({ models }, id, now), ...prices },
      routes: [route],
    });
  });
}
