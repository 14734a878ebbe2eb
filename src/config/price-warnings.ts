import { operationOf } from '../protocols/operations/all.ts';
import { OUTPUT_TOKENS_DEFAULT } from '../protocols/operations/operation.ts';
import type { Config, ModelConfig, UnitPricesConfig } from './schema.ts';

/** Something in a valid configuration that its operator should know. */
export interface ConfigWarning {
  /** The dotted path of what it is about. */
  readonly key: string;
  readonly message: string;
}

/** What providers may bill that a configuration has no price or no limit for. */
export function priceWarnings(config: Pick<Config, 'models'>): ConfigWarning[] {
  return [...toolWarnings(config), ...limitWarnings(config)];
}

/** The operations whose output is text, as long as the model likes. */
const WITH_TEXT: readonly string[] = ['chat', 'messages', 'responses'];

/** The models whose output has no limit, so that the one of a reservation is assumed. */
function limitWarnings({ models }: Pick<Config, 'models'>): ConfigWarning[] {
  return Object.entries(models).flatMap(([id, { operations, maxOutputTokens }]): ConfigWarning[] => {
    if (maxOutputTokens !== undefined || !operations.some((name) => WITH_TEXT.includes(name))) return [];
    const message =
      `The output has no limit: if a request states none, ${OUTPUT_TOKENS_DEFAULT} tokens are reserved, and a call may cost more ` +
      'than that.';
    return [{ key: `models.${id}.maxOutputTokens`, message }];
  });
}

/** The price lists that have no price for tools whose uses the provider may report and bill. */
function toolWarnings({ models }: Pick<Config, 'models'>): ConfigWarning[] {
  return Object.entries(models).flatMap(([id, model]) => {
    const keys = [...new Set(model.operations.flatMap((name) => operationOf(name).toolPrices ?? []))];
    return priceListsInForce(model).flatMap(([path, prices]): ConfigWarning[] => {
      const missing = keys.filter((key) => prices[key] === undefined);
      if (missing.length === 0) return [];
      const message =
        'Uses of these tools of the provider are not charged, because they have no price ("0" says that they are free): ' +
        `${missing.join(', ')}.`;
      return [{ key: `models.${id}.${path}`, message }];
    });
  });
}

function priceListsInForce({ price }: ModelConfig): readonly (readonly [path: string, prices: UnitPricesConfig])[] {
  const { timeOfDay } = price;
  if (timeOfDay === undefined) return [['price', price]];
  return [
    ['price.timeOfDay.peak', timeOfDay.peak],
    ['price.timeOfDay.offPeak', timeOfDay.offPeak],
  ];
}
