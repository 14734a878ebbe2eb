import { isDeepStrictEqual } from 'node:util';
import { isZero, readDecimal } from '../../lib/decimal.ts';
import { isRecord } from '../../lib/json/json.ts';
import { closestName } from '../suggest.ts';
import { PriceFileError, UnknownVendorError } from './errors.ts';
import { type Entry, type PricedEntry, type Rates, readEntry } from './price-file.ts';

export interface ModelDraft extends PricedEntry {
  /** Id of the model, here and at the provider. */
  readonly id: string;
  readonly operations: readonly string[];
  readonly contextLength: string | null;
  readonly maxOutputTokens: string | null;
  /** Remarks of the price file about the model. */
  readonly notes: readonly string[];
}

export interface NotPriced {
  readonly id: string;
  readonly why: string;
}

export interface ModelList {
  readonly models: readonly ModelDraft[];
  readonly notPriced: readonly NotPriced[];
}

export interface Vendor {
  readonly title: string;
  /** Names of the provider in LiteLLM's file. If two of them have a model, the price of the first one applies. `null`: unknown. */
  readonly priceFileNames: readonly string[] | null;
  readonly protocols: readonly string[];
  /** Operations that the provider's addresses do not serve. */
  readonly lacks: readonly string[];
}

interface Wanted {
  readonly vendor: Vendor;
  readonly isWanted: (id: string) => boolean;
  readonly rates: Rates;
}

/**
 * Reads models from LiteLLM's price file, or from a provider's list in the formats of OpenAI, Anthropic, OpenRouter (with prices) and
 * Ollama.
 *
 * @throws PriceFileError if it is neither, or has no such model; UnknownVendorError if the vendor of LiteLLM's file is not known
 */
export function readModels(file: string, value: unknown, wanted: Wanted): ModelList {
  if (isRecord(value)) {
    if (Array.isArray(value.data)) return readProviderList(value.data, wanted);
    if (Array.isArray(value.models)) return readProviderList(value.models, wanted);
  }
  if (isPriceFile(value)) return readPriceFile(value, wanted);
  throw new PriceFileError(
    `${file} is neither LiteLLM's price file (model_prices_and_context_window.json) nor a provider's list of models.`,
  );
}

/** Whether a value has the form of LiteLLM's price file. */
export function isPriceFile(value: unknown): value is Entry {
  return isRecord(value) && Object.values(value).some((entry) => isRecord(entry) && 'litellm_provider' in entry);
}

function readPriceFile(file: Entry, wanted: Wanted): ModelList {
  const names = namesOf(wanted.vendor);
  const list = modelsOfVendor(file, names, wanted);
  if (list.models.length + list.notPriced.length === 0) throw noModels(file, names, wanted.vendor);
  return list;
}

/**
 * The wanted models of a vendor in LiteLLM's price file.
 *
 * @param names the vendor's names in the file; the price of the first one applies
 */
export function modelsOfVendor(file: Entry, names: readonly string[], { vendor, isWanted, rates }: Wanted): ModelList {
  const found = new Map<string, { readonly rank: number; readonly entries: Entry[] }>();
  for (const [key, entry] of Object.entries(file)) {
    if (!isRecord(entry)) continue;
    const rank = names.indexOf(String(entry.litellm_provider));
    const id = withoutProvider(key, names);
    if (rank === -1 || !isWanted(id)) continue;
    const before = found.get(id);
    if (before === undefined || rank < before.rank) found.set(id, { rank, entries: [entry] });
    // The file can have a model twice: with the provider's name as a prefix, and without.
    else if (rank === before.rank) before.entries.push(entry);
  }

  const models: ModelDraft[] = [];
  const notPriced: NotPriced[] = [];
  for (const [id, { entries }] of found) {
    const drafts = entries.map((entry) => draftOf(id, entry, vendor, rates));
    const reasons = new Set(drafts.filter((draft) => typeof draft === 'string'));
    const [first] = drafts;
    if (reasons.size > 0) notPriced.push(...[...reasons].map((why) => ({ id, why })));
    else if (drafts.every((draft) => isDeepStrictEqual(costOf(draft), costOf(first)))) models.push(first as ModelDraft);
    else notPriced.push({ id, why: 'the file lists the model twice, with different prices' });
  }
  return { models, notPriced };
}

function namesOf({ title, priceFileNames }: Vendor): readonly string[] {
  if (priceFileNames !== null) return priceFileNames;
  throw new UnknownVendorError(`The address of ${title} is not the address of a known vendor.`);
}

function noModels(file: Entry, names: readonly string[], { title }: Vendor): PriceFileError {
  const known = [
    ...new Set(Object.values(file).flatMap((entry) => (isRecord(entry) ? [String(entry.litellm_provider)] : []))),
  ];
  const hint = known.some((name) => names.includes(name)) ? '' : hintOf(names, known);
  return new PriceFileError(`The price file has no matching model of ${title}.${hint}`);
}

/** Returns advice if the price file has no models of the vendor at all. */
function hintOf(names: readonly string[], known: readonly string[]): string {
  const closest = names.map((name) => closestName(name, known)).find((name) => name !== null);
  if (closest !== undefined) return ` Did you mean ${closest}?`;
  return ' It has no models of this vendor; the list that the vendor returns (GET /v1/models) may have prices.';
}

const costOf = (draft: ModelDraft | string | undefined): unknown => typeof draft === 'object' && draft.cost;

/** Returns a model with prices, or the reason why it is left out. */
function draftOf(id: string, entry: Entry, vendor: Vendor, rates: Rates): ModelDraft | string {
  const operations = operationsOf(id, entry, vendor);
  if (typeof operations === 'string') return operations;
  const read = readEntry(entry, rates);
  if (typeof read === 'string') return read;
  const limits = limitsOf(entry.max_input_tokens, entry.max_output_tokens);
  return { id, operations, ...limits, ...read, notes: notesOf(entry) };
}

function notesOf({ metadata, deprecation_date: end }: Entry): string[] {
  const comment = isRecord(metadata) && typeof metadata.comment === 'string' ? [metadata.comment] : [];
  return [...(typeof end === 'string' ? [`The vendor retires it on ${end}.`] : []), ...comment];
}

const withoutProvider = (key: string, names: readonly string[]): string => {
  const name = names.find((each) => key.startsWith(`${each}/`));
  return name === undefined ? key : key.slice(name.length + 1);
};

/** Returns the operations that the addresses serve, or the reason why there are none. */
function operationsOf(id: string, entry: Entry, { protocols, lacks }: Vendor): readonly string[] | string {
  if (id.startsWith('ft:')) return 'a fine-tuned model has a different name for each owner';
  const outputs = listOf(entry.supported_output_modalities);
  if (entry.mode === 'chat' && outputs !== null && !outputs.includes('text'))
    return `its output is ${outputs.join(', ')}`;
  const named = operationsByMode(entry, protocols);
  if (named === null) return `"${String(entry.mode)}" is not served`;
  const served = named.filter((operation) => !lacks.includes(operation));
  if (served.length > 0) return served;
  return named.length > 0
    ? `the address does not serve ${named.join(', ')}`
    : `it is only served at ${(listOf(entry.supported_endpoints) ?? []).join(', ')}`;
}

/** Returns the operations of a model by its mode; `null` if the gateway does not serve the mode. */
function operationsByMode(entry: Entry, protocols: readonly string[]): readonly string[] | null {
  const endpoints = listOf(entry.supported_endpoints);
  const has = (path: string): boolean => endpoints?.some((endpoint) => endpoint.endsWith(path)) ?? false;
  const hasOrSaysNone = (path: string): boolean => endpoints === null || has(path);
  const speaksChat = protocols.includes('chat');
  if (entry.mode === 'chat') {
    return [
      ...(hasOrSaysNone('/chat/completions') ? protocols : []),
      ...(speaksChat && has('/responses') ? ['responses'] : []),
    ];
  }
  if (!speaksChat) return null;
  switch (entry.mode) {
    case 'responses':
      return ['responses'];
    case 'completion':
      return ['completions'];
    case 'embedding':
      return ['embeddings'];
    case 'rerank':
      return ['rerank'];
    case 'image_generation':
      return [
        ...(hasOrSaysNone('/images/generations') ? ['images.generate'] : []),
        ...(has('/images/edits') ? ['images.edit'] : []),
      ];
    default:
      return null;
  }
}

const listOf = (value: unknown): readonly string[] | null => (Array.isArray(value) ? value.map(String) : null);

function readProviderList(list: readonly unknown[], { vendor, isWanted, rates }: Wanted): ModelList {
  const models: ModelDraft[] = [];
  const notPriced: NotPriced[] = [];
  for (const entry of list) {
    if (!isRecord(entry)) continue;
    const id = String(entry.id ?? entry.model ?? entry.name ?? '');
    if (id === '' || !isWanted(id)) continue;
    const read = isRecord(entry.pricing) ? readPricing(entry.pricing, rates) : 'the list has no price';
    if (typeof read === 'string') notPriced.push({ id, why: read });
    else models.push({ id, operations: vendor.protocols, ...limitsOf(entry.context_length, null), ...read, notes: [] });
  }
  if (models.length + notPriced.length === 0)
    throw new PriceFileError(`The list has no matching model of ${vendor.title}.`);
  return { models, notPriced };
}

/** OpenRouter's names of prices, with LiteLLM's names for the same. Both are in dollars per token. */
const OF_OPENROUTER: Readonly<Record<string, string>> = {
  prompt: 'input_cost_per_token',
  completion: 'output_cost_per_token',
  input_cache_read: 'cache_read_input_token_cost',
  input_cache_write: 'cache_creation_input_token_cost',
  internal_reasoning: 'output_cost_per_reasoning_token',
  audio: 'input_cost_per_audio_token',
};

function readPricing(pricing: Entry, rates: Rates): PricedEntry | string {
  const perRequest = readDecimal(pricing.request);
  if (perRequest !== null && !isZero(perRequest))
    return 'it has a price per request in addition to the prices of tokens';
  return readEntry(asPriceFile(pricing), rates);
}

const asPriceFile = (pricing: Entry): Record<string, unknown> =>
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

/** Whether a name matches a pattern, in which `*` stands for any text. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  if (others.length === 0) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  const last = others.pop()!;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
