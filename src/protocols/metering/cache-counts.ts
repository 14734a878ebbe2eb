import { isRecord } from '../../lib/json/json.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { readCount } from './usage-facts.ts';

/** A name for a count of cache tokens in usage. Other names with "cache" are recorded on the call, because they might have a price. */
export interface CacheSpelling {
  /** What the member counts: tokens read, tokens written, or tokens written for a lifetime. `nothing`: it repeats other members. */
  readonly counts: 'read' | 'written' | 'written5m' | 'written1h' | 'nothing';
  readonly path: readonly string[];
  readonly vendor?: string;
  readonly document: string;
}

type CacheProtocol = 'chat' | 'responses' | 'messages';

/** `vendor` is `null` for names of the protocol itself. */
const spelt =
  (vendor: string | null, document: string) =>
  (counts: CacheSpelling['counts'], ...path: readonly string[]): CacheSpelling => ({
    counts,
    path,
    ...(vendor !== null && { vendor }),
    document,
  });

const openai = spelt(null, 'https://platform.openai.com/docs/api-reference/chat/object');
const openaiResponses = spelt(null, 'https://platform.openai.com/docs/api-reference/responses/object');
const anthropic = spelt(null, 'https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching');
const dashscope = spelt('DashScope', 'https://www.alibabacloud.com/help/en/model-studio/context-cache');
const litellm = spelt('LiteLLM', 'https://docs.litellm.ai/docs/completion/prompt_caching');
const newApi = spelt('New API', 'https://docs.newapi.pro/en/docs/api/ai-model/chat/openai/create-chat-completion');
const deepseek = spelt('DeepSeek', 'https://api-docs.deepseek.com/guides/kv_cache');
const moonshot = spelt('Moonshot', 'https://platform.moonshot.ai/docs/api/chat');
const mistral = spelt('Mistral', 'https://docs.mistral.ai/api/endpoint/chat');
const openrouter = spelt(null, 'https://openrouter.ai/docs/features/prompt-caching');
const perplexity = spelt('Perplexity', 'https://docs.perplexity.ai/api-reference/responses-post');

const inDetails = (details: string): readonly CacheSpelling[] => [
  openai('read', details, 'cached_tokens'),
  openrouter('written', details, 'cache_write_tokens'),
  perplexity('read', details, 'cache_read_input_tokens'),
  dashscope('written', details, 'cache_creation_input_tokens'),
  dashscope('written5m', details, 'cache_creation', 'ephemeral_5m_input_tokens'),
  dashscope('written1h', details, 'cache_creation', 'ephemeral_1h_input_tokens'),
  litellm('written', details, 'cache_creation_tokens'),
  litellm('written5m', details, 'cache_creation_token_details', 'ephemeral_5m_input_tokens'),
  litellm('written1h', details, 'cache_creation_token_details', 'ephemeral_1h_input_tokens'),
  newApi('written', details, 'cached_creation_tokens'),
  openai('nothing', details, 'cached_tokens_details', 'text_tokens'),
  openai('nothing', details, 'cached_tokens_details', 'audio_tokens'),
  openai('nothing', details, 'cached_tokens_details', 'image_tokens'),
];

/** Member names of the messages protocol. Relays add these members to the usage of other protocols. */
const ofMessages = (vendor: typeof anthropic): readonly CacheSpelling[] => [
  vendor('read', 'cache_read_input_tokens'),
  vendor('written', 'cache_creation_input_tokens'),
  vendor('written5m', 'cache_creation', 'ephemeral_5m_input_tokens'),
  vendor('written1h', 'cache_creation', 'ephemeral_1h_input_tokens'),
];

const repeatedWrites = (
  fiveMinutes: CacheSpelling['counts'],
  oneHour: CacheSpelling['counts'],
): readonly CacheSpelling[] => [
  newApi(fiveMinutes, 'claude_cache_creation_5_m_tokens'),
  newApi(oneHour, 'claude_cache_creation_1_h_tokens'),
];

const atTheTop: readonly CacheSpelling[] = [
  deepseek('read', 'prompt_cache_hit_tokens'),
  deepseek('nothing', 'prompt_cache_miss_tokens'),
  moonshot('read', 'cached_tokens'),
  ...ofMessages(litellm),
  ...repeatedWrites('written5m', 'written1h'),
];

export const cacheSpellings: Readonly<Record<CacheProtocol, readonly CacheSpelling[]>> = {
  chat: [
    ...inDetails('prompt_tokens_details'),
    mistral('read', 'prompt_token_details', 'cached_tokens'),
    mistral('read', 'num_cached_tokens'),
    ...atTheTop,
  ],
  responses: [
    ...inDetails('input_tokens_details'),
    openaiResponses('written5m', 'input_tokens_details', 'cache_write_tokens_details', 'ttl_30m_tokens'),
    openaiResponses('written1h', 'input_tokens_details', 'cache_write_tokens_details', 'ttl_12h_tokens'),
    ...atTheTop,
  ],
  messages: [...ofMessages(anthropic), ...repeatedWrites('nothing', 'nothing')],
};

type Places = ReadonlyMap<string, CacheSpelling['counts']>;

const placesOf = (spellings: readonly CacheSpelling[]): Places =>
  new Map(spellings.map(({ path, counts }) => [path.join('.'), counts]));
const places: Readonly<Record<CacheProtocol, Places>> = {
  chat: placesOf(cacheSpellings.chat),
  responses: placesOf(cacheSpellings.responses),
  messages: placesOf(cacheSpellings.messages),
};

export interface CacheCounts {
  readonly read: number;
  /** All written tokens, whatever their lifetime. */
  readonly written: number;
  readonly written1h: number;
  readonly unknown: number;
  /** Paths of members with unknown names. */
  readonly unexplained: readonly string[];
}

/** Reads members with "cache" in their names. Of several names for the same count, the greatest value applies. */
export function readCacheCounts(usage: Readonly<Record<string, unknown>>, protocol: CacheProtocol): CacheCounts {
  const reader = new CacheReader(places[protocol]);
  for (const name of Object.keys(usage)) {
    const value = usage[name];
    if (isOfCache(name)) reader.read(value, name);
    else if (isRecord(value)) {
      for (const detail of Object.keys(value)) if (isOfCache(detail)) reader.read(value[detail], `${name}.${detail}`);
    }
  }
  return reader.result();
}

export function isOfCache(name: string): boolean {
  return name.includes('ache') && (name.includes('cache') || name.includes('Cache'));
}

class CacheReader {
  readonly #places: Places;
  readonly #counts = { read: 0, written: 0, written5m: 0, written1h: 0, nothing: 0 };
  #unknown = 0;
  #unexplained: string[] = NONE;

  constructor(known: Places) {
    this.#places = known;
  }

  read(value: unknown, place: string): void {
    if (typeof value === 'object' && value !== null) {
      if (!isRecord(value)) return;
      for (const name of Object.keys(value)) if (!isRecord(value[name])) this.read(value[name], `${place}.${name}`);
      return;
    }
    const count = readCount(value) ?? 0;
    if (count === 0) return;
    const counts = this.#places.get(place);
    if (counts === undefined) this.#note(place, count);
    else this.#counts[counts] = Math.max(this.#counts[counts], count);
  }

  #note(place: string, count: number): void {
    if (TOKENS.test(place)) this.#unknown += count;
    const isName = place.length <= NAME_CHARACTERS_MAX && isPlainText(place);
    if (isName && this.#unexplained.length < NAMES_MAX) this.#unexplained = [...this.#unexplained, `usage.${place}`];
  }

  result(): CacheCounts {
    const { read, written, written5m, written1h } = this.#counts;
    const all = written > 0 ? written : written5m + written1h;
    return {
      read,
      written: all,
      written1h: Math.min(written1h, all),
      unknown: this.#unknown,
      unexplained: this.#unexplained,
    };
  }
}

const TOKENS = /token/i;
const NONE: string[] = [];
const NAMES_MAX = 4;
const NAME_CHARACTERS_MAX = 96;
