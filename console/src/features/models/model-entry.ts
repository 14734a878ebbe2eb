import { entryOf, type Fields, fieldsOf } from '../../parts/catalog/catalog-value.ts';
import { valueAt } from '../../parts/catalog/edits.ts';
import { listAt, type PriceList, priceLists } from '../../parts/catalog/price-lists.ts';

export const OPERATIONS = [
  'chat',
  'messages',
  'responses',
  'compact',
  'completions',
  'embeddings',
  'rerank',
  'images.generate',
  'images.edit',
] as const;

/** A new route. The only provider is chosen at once. */
export function newRoute(providers: readonly string[]): Fields {
  return { provider: providers.length === 1 ? providers[0] : '', model: '', priority: '', weight: '' };
}

/** A new model. Its members are in the order of the text. */
export function newModel(providers: readonly string[]): Fields {
  return {
    displayName: '',
    manufacturer: '',
    contextLength: '',
    maxOutputTokens: '',
    description: '',
    aliases: [],
    operations: ['chat'],
    listed: '',
    price: { input: '', cachedInput: '', output: '' },
    routes: [newRoute(providers)],
  };
}

/** A new model with all that another one has, except its names. Numbers are as in the text. */
export function copyOfModel(text: string, name: string): Fields {
  const { aliases: _aliases, displayName: _displayName, ...fields } = entryOf(text, 'models', name);
  return fields;
}

/** The path of the price list of a model that applies at an instant, and its first day or instant. */
export function priceListAt(model: Fields, nowMs: number, timezone: string): Pick<PriceList, 'path' | 'from'> {
  const { path, from } = listAt(priceLists(fieldsOf(model.price)), nowMs, timezone);
  return { path: ['price', ...path], from };
}

export function listIn(model: Fields, { path }: Pick<PriceList, 'path'>): Fields {
  return fieldsOf(valueAt(model, path));
}
