import { protocolNames } from '../../protocols/all.ts';
import type { Config, ModelConfig } from '../schema.ts';
import { matches, type Vendor } from './model-list.ts';
import { type VendorFacts, vendorAt, vendorNamed } from './vendor.ts';

/** A model in a price file. */
export interface Lookup {
  readonly vendor: Vendor;
  /** Without the name of the vendor. */
  readonly name: string;
}

/** A model of the catalog whose prices follow the source. */
export interface FollowedModel {
  readonly model: string;
  /** `null`: the source does not tell the price of the model. */
  readonly price: Lookup | null;
  /** The routes whose cost follows the source, by their position. */
  readonly costs: readonly { readonly route: number; readonly lookup: Lookup }[];
}

export type PriceSourceConfig = NonNullable<Config['priceSource']>;

/**
 * Which models of the catalog follow which models of the source. A route is looked up at the vendor to whom the address of its provider belongs, or else
 * by the name that the source sets for the model. The price of a model is the one of that name, or else of the first route that is looked up.
 */
export function followedModels(
  { providers, models }: Pick<Config, 'providers' | 'models'>,
  source: Pick<PriceSourceConfig, 'models' | 'names'>,
): FollowedModel[] {
  const lookupOf = (vendor: VendorFacts, name: string): Lookup => ({
    // What the address serves is no concern of prices.
    vendor: { ...vendor, protocols: protocolNames, lacks: [] },
    name,
  });
  return Object.entries(models)
    .filter(([id]) => source.models.some((pattern) => matches(pattern, id)))
    .map(([id, { routes }]) => {
      const given = Object.hasOwn(source.names, id) ? source.names[id]! : null;
      const named = given === null ? null : lookupOf(...splitName(given));
      const ofRoutes = routes.map(({ provider, model }) => {
        const vendor = vendorAt(providers[provider]!.baseUrl);
        return (vendor?.priceFileNames ?? []).length === 0 ? named : lookupOf(vendor!, model);
      });
      return {
        model: id,
        price: named ?? firstOf(routes, ofRoutes),
        costs: ofRoutes.flatMap((lookup, route) =>
          lookup === null || routes[route]!.cost === undefined ? [] : [{ route, lookup }],
        ),
      };
    });
}

function splitName(name: string): [VendorFacts, string] {
  const slash = name.indexOf('/');
  return [vendorNamed(name.slice(0, slash)), name.slice(slash + 1)];
}

/** The lookup of the route that is tried first. */
function firstOf(routes: ModelConfig['routes'], lookups: readonly (Lookup | null)[]): Lookup | null {
  const order = routes.map(({ priority }, route) => ({ priority, lookup: lookups[route] ?? null }));
  return (
    order.sort((one, other) => one.priority - other.priority).find(({ lookup }) => lookup !== null)?.lookup ?? null
  );
}

/** Equal for lookups of the same model. */
export const keyOf = ({ vendor, name }: Lookup): string => JSON.stringify([vendor.priceFileNames, name]);
