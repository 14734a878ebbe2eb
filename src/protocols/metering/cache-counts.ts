import { isRecord } from '../../lib/json/json.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { readCount } from './usage-facts.ts';

/**
 * The tokens of a cache in usage objects, in the spellings of all vendors. What is not in this table and looks like a count of a
 * cache is marked on the record of the call: it may be billed at a price of its own.
 */
export interface CacheSpelling {
  /**
   * What it counts: reads; all writes, or those for a short time or for an hour and longer; `nothing` is a figure that follows from others.
   */
  readonly counts: 'read' | 'written' | 'written5m' | 'written1h' | 'nothing';
  readonly path: readonly string[];
  readonly vendor?: string;
  readonly document: string;
}

type CacheProtocol = 'chat' | 'responses' | 'messages';

const OPENAI = 'https://platform.openai.com/docs/api-reference/chat/object';
const OPENAI_RESPONSES = 'https://platform.openai.com/docs/api-reference/responses/object';
const ANTHROPIC = 'https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching';
const DASHSCOPE = 'https://www.alibabacloud.com/help/en/model-studio/context-cache';
const LITELLM = 'https://docs.litellm.ai/docs/completion/prompt_caching';
const NEW_API = 'https://docs.newapi.pro/en/docs/api/ai-model/chat/openai/create-chat-completion';
const DEEPSEEK = 'https://api-docs.deepseek.com/guides/kv_cache';
const MOONSHOT = 'https://platform.moonshot.ai/docs/api/chat';
const MISTRAL = 'https://docs.mistral.ai/api/endpoint/chat';
const OPENROUTER = 'https://openrouter.ai/docs/features/prompt-caching';

/** What stands in the details of the input, whatever a protocol calls them. */
const inDetails = (details: string): readonly CacheSpelling[] => [
  { counts: 'read', path: [details, 'cached_tokens'], document: OPENAI },
  { counts: 'written', path: [details, 'cache_write_tokens'], document: OPENROUTER },
  { counts: 'written', path: [details, 'cache_creation_input_tokens'], vendor: 'DashScope', document: DASHSCOPE },
  {
    counts: 'written5m',
    path: [details, 'cache_creation', 'ephemeral_5m_input_tokens'],
    vendor: 'DashScope',
    document: DASHSCOPE,
  },
  {
    counts: 'written1h',
    path: [details, 'cache_creation', 'ephemeral_1h_input_tokens'],
    vendor: 'DashScope',
    document: DASHSCOPE,
  },
  { counts: 'written', path: [details, 'cache_creation_tokens'], vendor: 'LiteLLM', document: LITELLM },
  {
    counts: 'written5m',
    path: [details, 'cache_creation_token_details', 'ephemeral_5m_input_tokens'],
    vendor: 'LiteLLM',
    document: LITELLM,
  },
  {
    counts: 'written1h',
    path: [details, 'cache_creation_token_details', 'ephemeral_1h_input_tokens'],
    vendor: 'LiteLLM',
    document: LITELLM,
  },
  { counts: 'written', path: [details, 'cached_creation_tokens'], vendor: 'New API', document: NEW_API },
  { counts: 'nothing', path: [details, 'cached_tokens_details', 'text_tokens'], document: OPENAI },
  { counts: 'nothing', path: [details, 'cached_tokens_details', 'audio_tokens'], document: OPENAI },
  { counts: 'nothing', path: [details, 'cached_tokens_details', 'image_tokens'], document: OPENAI },
];

/** Names of the messages protocol, which relays put beside those of others. */
const ofMessages: readonly CacheSpelling[] = [
  { counts: 'read', path: ['cache_read_input_tokens'], document: ANTHROPIC },
  { counts: 'written', path: ['cache_creation_input_tokens'], document: ANTHROPIC },
  { counts: 'written5m', path: ['cache_creation', 'ephemeral_5m_input_tokens'], document: ANTHROPIC },
  { counts: 'written1h', path: ['cache_creation', 'ephemeral_1h_input_tokens'], document: ANTHROPIC },
];

/** Of a relay that repeats the writes of messages on all addresses. */
const repeatedWrites = (names: readonly CacheSpelling['counts'][]): readonly CacheSpelling[] => [
  { counts: names[0]!, path: ['claude_cache_creation_5_m_tokens'], vendor: 'New API', document: NEW_API },
  { counts: names[1]!, path: ['claude_cache_creation_1_h_tokens'], vendor: 'New API', document: NEW_API },
];

const atTheTop: readonly CacheSpelling[] = [
  { counts: 'read', path: ['prompt_cache_hit_tokens'], vendor: 'DeepSeek', document: DEEPSEEK },
  { counts: 'nothing', path: ['prompt_cache_miss_tokens'], vendor: 'DeepSeek', document: DEEPSEEK },
  { counts: 'read', path: ['cached_tokens'], vendor: 'Moonshot', document: MOONSHOT },
  ...ofMessages.map((spelling) => ({ ...spelling, vendor: 'LiteLLM', document: LITELLM })),
  ...repeatedWrites(['written5m', 'written1h']),
];

export const cacheSpellings: Readonly<Record<CacheProtocol, readonly CacheSpelling[]>> = {
  chat: [
    ...inDetails('prompt_tokens_details'),
    { counts: 'read', path: ['prompt_token_details', 'cached_tokens'], vendor: 'Mistral', document: MISTRAL },
    { counts: 'read', path: ['num_cached_tokens'], vendor: 'Mistral', document: MISTRAL },
    ...atTheTop,
  ],
  responses: [
    ...inDetails('input_tokens_details'),
    {
      counts: 'written5m',
      path: ['input_tokens_details', 'cache_write_tokens_details', 'ttl_30m_tokens'],
      document: OPENAI_RESPONSES,
    },
    {
      counts: 'written1h',
      path: ['input_tokens_details', 'cache_write_tokens_details', 'ttl_12h_tokens'],
      document: OPENAI_RESPONSES,
    },
    ...atTheTop,
  ],
  messages: [...ofMessages, ...repeatedWrites(['nothing', 'nothing'])],
};

type Places = ReadonlyMap<string, CacheSpelling['counts']>;

const placesOf = (spellings: readonly CacheSpelling[]): Places =>
  new Map(spellings.map(({ path, counts }) => [path.join('.'), counts]));
const places: Readonly<Record<CacheProtocol, Places>> = {
  chat: placesOf(cacheSpellings.chat),
  responses: placesOf(cacheSpellings.responses),
  messages: placesOf(cacheSpellings.messages),
};

/** What a usage object says of a cache. */
export interface CacheCounts {
  readonly read: number;
  /** All writes, the long-lived ones among them. */
  readonly written: number;
  readonly written1h: number;
  /** The members that count tokens of a cache in no known spelling. */
  readonly unexplained: readonly string[];
}

/**
 * Reads the members of a usage object that are named after a cache. A vendor, or the relay before it, states one count in several
 * spellings: the greatest counts. One walk over the names, since some vendors report usage with every event.
 */
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

function isOfCache(name: string): boolean {
  return name.includes('cache') || name.includes('Cache');
}

class CacheReader {
  readonly #places: Places;
  readonly #counts = { read: 0, written: 0, written5m: 0, written1h: 0, nothing: 0 };
  #unexplained: string[] = NONE;

  constructor(known: Places) {
    this.#places = known;
  }

  /** A count of a cache, or an object with several of them. */
  read(value: unknown, place: string): void {
    if (typeof value === 'object' && value !== null) {
      if (!isRecord(value)) return;
      for (const name of Object.keys(value)) if (!isRecord(value[name])) this.read(value[name], `${place}.${name}`);
      return;
    }
    const count = readCount(value) ?? 0;
    if (count === 0) return;
    const counts = this.#places.get(place);
    if (counts === undefined) this.#note(place);
    else this.#counts[counts] = Math.max(this.#counts[counts], count);
  }

  #note(place: string): void {
    const isName = place.length <= NAME_CHARACTERS_MAX && isPlainText(place);
    if (isName && this.#unexplained.length < NAMES_MAX) this.#unexplained = [...this.#unexplained, `usage.${place}`];
  }

  result(): CacheCounts {
    const { read, written, written5m, written1h } = this.#counts;
    const all = written > 0 ? written : written5m + written1h;
    return { read, written: all, written1h: Math.min(written1h, all), unexplained: this.#unexplained };
  }
}

const NONE: string[] = [];
const NAMES_MAX = 4;
const NAME_CHARACTERS_MAX = 96;
