import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../../lib/json/json.ts';
import { CliError } from '../command.ts';
import { isZero, readDecimal } from './exact.ts';
import { type PricedEntry, type Rates, readEntry } from './price-file.ts';

/** A model that an import proposes. */
export interface ModelDraft extends PricedEntry {
  /** What those who call it say. */
  readonly id: string;
  /** What the provider calls it. */
  readonly route: string;
  readonly operations: readonly string[];
  readonly contextLength: string | null;
  readonly maxOutputTokens: string | null;
}

export interface NotPriced {
  readonly id: string;
  readonly why: string;
}

export interface ModelList {
  readonly models: readonly ModelDraft[];
  readonly notPriced: readonly NotPriced[];
}

interface Wanted {
  /** As LiteLLM's file names the provider. */
  readonly priceFileNames: readonly string[];
  readonly protocols: readonly string[];
  readonly isWanted: (id: string) => boolean;
  readonly rates: Rates;
}

/**
 * Models of LiteLLM's price file, or of the list that a provider returns: OpenAI's and Anthropic's form, OpenRouter's with prices, Ollama's.
 *
 * @throws CliError if it is neither.
 */
export function readModels(file: string, value: unknown, wanted: Wanted): ModelList {
  if (isRecord(value)) {
    if (Array.isArray(value.data)) return readProviderList(value.data, wanted);
    if (Array.isArray(value.models)) return readProviderList(value.models, wanted);
    if (Object.values(value).some((entry) => isRecord(entry) && 'litellm_provider' in entry))
      return readPriceFile(value, wanted);
  }
  throw new CliError(
    `${file} is neither LiteLLM's price file (model_prices_and_context_window.json) nor a list of models as a provider returns it.`,
  );
}

function readPriceFile(file: Readonly<Record<string, unknown>>, wanted: Wanted): ModelList {
  const models: ModelDraft[] = [];
  const notPriced: NotPriced[] = [];
  const disputed = new Set<string>();
  for (const [key, entry] of Object.entries(file)) {
    if (!isRecord(entry) || !wanted.priceFileNames.includes(String(entry.litellm_provider))) continue;
    const id = withoutProvider(key, wanted.priceFileNames);
    if (!wanted.isWanted(id)) continue;
    const operations = operationsOf(entry, wanted.protocols);
    const read = operations.length === 0 ? `"${String(entry.mode)}" is not served` : readEntry(entry, wanted.rates);
    const draft = models.find((model) => model.id === id);
    if (typeof read === 'string') notPriced.push({ id, why: read });
    // A model that stands there with and without the name of its provider is one.
    else if (draft !== undefined) {
      if (!isDeepStrictEqual(draft.cost, read.cost)) disputed.add(id);
    } else {
      models.push({ id, route: id, operations, ...limitsOf(entry.max_input_tokens, entry.max_output_tokens), ...read });
    }
  }
  return {
    models: models.filter(({ id }) => !disputed.has(id)),
    notPriced: [...notPriced, ...[...disputed].map((id) => ({ id, why: 'it stands there twice, with other prices' }))],
  };
}

const withoutProvider = (key: string, names: readonly string[]): string => {
  const name = names.find((each) => key.startsWith(`${each}/`));
  return name === undefined ? key : key.slice(name.length + 1);
};

function operationsOf(entry: Readonly<Record<string, unknown>>, protocols: readonly string[]): string[] {
  const endpoints = Array.isArray(entry.supported_endpoints) ? entry.supported_endpoints.map(String) : [];
  const has = (path: string): boolean => endpoints.some((endpoint) => endpoint.endsWith(path));
  if (entry.mode === 'chat')
    return [...protocols, ...(protocols.includes('chat') && has('/responses') ? ['responses'] : [])];
  if (!protocols.includes('chat')) return [];
  switch (entry.mode) {
    case 'responses':
      return ['responses'];
    case 'embedding':
      return ['embeddings'];
    case 'rerank':
      return ['rerank'];
    case 'image_generation':
      return has('/images/edits') ? ['images.generate', 'images.edit'] : ['images.generate'];
    default:
      return [];
  }
}

function readProviderList(list: readonly unknown[], { protocols, isWanted, rates }: Wanted): ModelList {
  const models: ModelDraft[] = [];
  const notPriced: NotPriced[] = [];
  for (const entry of list) {
    if (!isRecord(entry)) continue;
    const id = String(entry.id ?? entry.model ?? entry.name ?? '');
    if (id === '' || !isWanted(id)) continue;
    const read = isRecord(entry.pricing) ? readPricing(entry.pricing, rates) : 'the list has no price of it';
    if (typeof read === 'string') notPriced.push({ id, why: read });
    else models.push({ id, route: id, operations: protocols, ...limitsOf(entry.context_length, null), ...read });
  }
  return { models, notPriced };
}

/** OpenRouter's names of prices, which are in dollars a token too, by those of LiteLLM's file. */
const OF_OPENROUTER: Readonly<Record<string, string>> = {
  prompt: 'input_cost_per_token',
  completion: 'output_cost_per_token',
  input_cache_read: 'cache_read_input_token_cost',
  input_cache_write: 'cache_creation_input_token_cost',
  internal_reasoning: 'output_cost_per_reasoning_token',
  audio: 'input_cost_per_audio_token',
};

function readPricing(pricing: Readonly<Record<string, unknown>>, rates: Rates): PricedEntry | string {
  const perRequest = readDecimal(pricing.request);
  if (perRequest !== null && !isZero(perRequest)) return 'each request has a price beside its tokens';
  return readEntry(asPriceFile(pricing), rates);
}

const asPriceFile = (pricing: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(pricing).map(([name, value]) => [
      Object.hasOwn(OF_OPENROUTER, name) ? OF_OPENROUTER[name] : `cost of ${name}`,
      value,
    ]),
  );

function limitsOf(context: unknown, output: unknown): Pick<ModelDraft, 'contextLength' | 'maxOutputTokens'> {
  const whole = (value: unknown): string | null =>
    Number.isSafeInteger(value) && Number(value) > 0 ? String(value) : null;
  return { contextLength: whole(context), maxOutputTokens: whole(output) };
}

/** Whether a name is as a pattern says, in which `*` is any text. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = rest.pop()!;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
