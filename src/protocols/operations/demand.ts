import { invalidRequest } from '../../errors/gateway-error.ts';
import { JsonReader, MemberNames } from '../../lib/json/json-reader.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { isPlainTerm, serviceTerms, type TermName, termNames } from '../metering/service-terms.ts';
import { TOOL_USES_MAX } from '../metering/usage-units.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';
import { readCompaction } from './compaction-demand.ts';
import { ContentReader } from './content-demand.ts';
import type { BodyFields } from './fields.ts';
import type { Demand, InnerModel } from './operation.ts';

/** What requests of every operation state in the same way. */
export interface ReadDemand
  extends Pick<
    Demand,
    | 'addressedTokens'
    | 'serverToolUses'
    | 'compactsAboveTokens'
    | 'writesCache'
    | 'outputTokensLimit'
    | 'thinkingTokens'
    | 'moreOutputTokens'
    | 'innerModels'
    | 'terms'
    | 'audioInput'
    | 'audioOutput'
  > {
  /** The number of choices that are asked for. */
  readonly choices: number;
}

/**
 * Reads what multiplies the cost of a request, in the spellings of all vendors with similar interfaces: a relay may
 * pass any of them on. One walk over the body. A member whose form is not that of the vendors is ignored; if several
 * members state the same thing, the greatest counts. See `docs/reservations.md`.
 *
 * @throws GatewayError `invalidRequest` if a request names very many models.
 */
export function readDemand(fields: BodyFields, imageTokens: number = BUDGETS.image.tokens): ReadDemand {
  return new DemandReader(fields, imageTokens).read();
}

/** What a member has: something that models read, tools, how the call is to run, or data that only the caller reads. */
const CONTENT = new MemberNames(
  ...['messages', 'input', 'system', 'prompt', 'instructions', 'documents', 'query', 'contents'],
);
const OFFERED = new MemberNames('tools', 'mcp_servers', 'plugins');
const FREE = new MemberNames(
  'metadata',
  'client_metadata',
  'litellm_metadata',
  'user',
  'logit_bias',
  'functions',
  'stop',
);
const PREDICTION = new MemberNames('prediction');

/** Numbers that limit or multiply the output. */
const NUMBERS = new MemberNames(
  ...['max_tokens', 'max_completion_tokens', 'max_output_tokens', 'max_new_tokens', 'max_generated_tokens'],
  ...['max_gen_tokens', 'num_predict', 'n_predict', 'budget_tokens'],
  ...['thinking_budget', 'thinking_token_budget', 'thinking_budget_tokens', 'max_thinking_tokens'],
  ...['max_reasoning_tokens', 'reasoning_budget'],
  ...['best_of', 'num_return_sequences', 'candidate_count', 'n'],
);
const THINKING_FROM = NUMBERS.names.indexOf('thinking_budget');
const CHOICES_FROM = NUMBERS.names.indexOf('best_of');
/** A name so short is the count of choices only near the top. */
const N = NUMBERS.names.indexOf('n');
const N_DEPTH_MAX = 2;

/** Members that name other models, as one text, as several, or as objects that have such a member. */
const MODELS = new MemberNames(
  ...[
    'model',
    'models',
    'model_name',
    'fallbacks',
    'fallback_model',
    'fallback_models',
    'allowed_models',
    'draft_model',
  ],
);
/** What a search is asked for with where it is no tool. */
const SEARCHES = new MemberNames('web_search_options', 'enable_search', 'search_parameters');
/** The same where vendors read it at the top alone: in a tool it says what that tool searches. Baidu, Doubao; Hunyuan. */
const SEARCHES_AT_TOP = new MemberNames('web_search', 'enable_enhancement', 'force_search_enhancement');
/** The terms of service that are asked for, and audio. They count where vendors read them: at the top, and in `MORE`. */
const TERMS = new MemberNames(...termNames.map((name) => serviceTerms[name].member));
/** What relays put at the top before they pass a request on. */
const MORE = new MemberNames('extra_body');
const MODALITIES = new MemberNames('modalities', 'response_modalities', 'output_modalities');
const AUDIO = new MemberNames('audio');
const THINKS = new MemberNames('enable_thinking');
const CACHES = new MemberNames('cache_control', 'prompt_cache_breakpoint');
/** Descriptions of data, in which any word may be the name of a member. */
const SCHEMAS = new MemberNames(
  ...['schema', 'json_schema', 'input_schema', 'output_schema', 'parameters', 'properties', 'function'],
  ...['guided_json', 'guided_grammar', 'structured_outputs', 'grammar', 'examples', 'input_examples', 'metadata'],
);

const TOOL = new MemberNames('type', 'tools', 'max_uses');
const TOOL_CALLS = new MemberNames('max_tool_calls');
/** What may ask a provider to summarize a long input. */
const CONTEXT_MANAGEMENT = new MemberNames('context_management');

const TYPE_BYTES_MAX = 64;
const NAME_BYTES_MAX = 512;
const NUMBER_BYTES_MAX = 64;
const INNER_MODELS_MAX = 32;

class DemandReader {
  readonly #fields: BodyFields;
  readonly #reader: JsonReader;
  readonly #content: ContentReader;
  #limit: number | null = null;
  #thinkingTokens = 0;
  #isThinkingOpen = false;
  #choices = 1;
  #serverToolUses = 0;
  #toolCallsLimit = 0;
  #compactsAboveTokens: number | null = null;
  #writesCache = false;
  #predictedTokens = 0;
  readonly #innerModels = new Map<string, InnerModel>();
  readonly #terms: { [Name in TermName]?: string } = {};
  #audioOutput: string | null = null;

  constructor(fields: BodyFields, imageTokens: number) {
    this.#fields = fields;
    this.#reader = new JsonReader(fields.bytes, fields.start);
    this.#content = new ContentReader(this.#reader, imageTokens, (path) => this.#offered(path));
  }

  read(): ReadDemand {
    const reader = this.#reader;
    const { bytes } = this.#fields;
    reader.eachMember((start, end) => {
      const has = (names: MemberNames): boolean => names.find(bytes, start, end) !== -1;
      if (has(CONTENT)) this.#content.read(this.#keyText(start, end));
      else if (has(OFFERED)) this.#offered(this.#keyText(start, end));
      else if (has(PREDICTION)) this.#predictedTokens = estimateTokens(this.#skippedBytes());
      else if (reader.kind === 'object' && has(MORE)) this.#more(this.#keyText(start, end));
      else if (!has(FREE) && !this.#asksFor(start, end)) this.#control(start, end, '', 1);
    });
    const isThinkingOpen = this.#isThinkingOpen && this.#thinkingTokens === 0;
    return {
      outputTokensLimit: this.#limit,
      thinkingTokens: this.#thinkingTokens,
      choices: this.#choices,
      addressedTokens: this.#content.addressedTokens,
      serverToolUses: this.#serverToolUses === 0 ? 0 : Math.max(this.#serverToolUses, this.#toolCallsLimit),
      compactsAboveTokens: this.#compactsAboveTokens,
      writesCache: this.#writesCache || this.#content.writesCache,
      moreOutputTokens: this.#predictedTokens + (isThinkingOpen ? OPEN_THINKING_TOKENS : 0),
      innerModels: [...this.#innerModels.values()],
      terms: this.#terms,
      audioInput: this.#content.audioInput,
      audioOutput: this.#audioOutput,
    };
  }

  /** The members of an object that a relay puts at the top. */
  #more(path: string): void {
    this.#reader.eachMember((start, end) => {
      if (!this.#asksFor(start, end)) this.#control(start, end, path, 2);
    });
  }

  /** Reads a member at the top that asks for a term of service, or for audio; `false`: it is none, or has more to read. */
  #asksFor(start: number, end: number): boolean {
    const reader = this.#reader;
    const { bytes, kind } = reader;
    if (kind === 'string') {
      const term = termNames[TERMS.find(bytes, start, end)];
      if (term === undefined) return false;
      const value = reader.text(TYPE_BYTES_MAX) ?? TOO_LONG;
      const before = this.#terms[term];
      if (before === undefined || isPlainTerm(term, before)) this.#terms[term] = value;
      return true;
    }
    if (kind === 'array' && MODALITIES.find(bytes, start, end) !== -1) {
      reader.items(() => {
        if (reader.kind !== 'string' || reader.text(TYPE_BYTES_MAX)?.toLowerCase() !== 'audio') return;
        this.#audioOutput = this.#keyText(start, end);
      });
      return true;
    }
    if (kind === 'object' && AUDIO.find(bytes, start, end) !== -1) this.#audioOutput ??= this.#keyText(start, end);
    return false;
  }

  /** A member that says how the call is to run. */
  #control(start: number, end: number, path: string, depth: number, countsNumbers = true): void {
    const reader = this.#reader;
    const { bytes, kind } = reader;
    if (kind === 'number' || kind === 'string') {
      const number = NUMBERS.find(bytes, start, end);
      if (number !== -1) {
        if (countsNumbers && (number !== N || depth <= N_DEPTH_MAX)) this.#number(number);
        return;
      }
    }
    if (kind === 'number' && TOOL_CALLS.find(bytes, start, end) !== -1) {
      this.#toolCallsLimit = Math.max(this.#toolCallsLimit, this.#toolUses() ?? 0);
      return;
    }
    if (kind === 'null' || kind === 'number') return;
    if (CONTEXT_MANAGEMENT.find(bytes, start, end) !== -1) {
      const aboveTokens = readCompaction(reader.from(reader.offset));
      if (aboveTokens !== null)
        this.#compactsAboveTokens = Math.min(this.#compactsAboveTokens ?? aboveTokens, aboveTokens);
    }
    if (depth > 1 && SCHEMAS.find(bytes, start, end) !== -1) return;
    if (CACHES.find(bytes, start, end) !== -1) this.#writesCache = true;
    if (THINKS.find(bytes, start, end) !== -1 && kind === 'true') this.#isThinkingOpen = true;
    const isAtTop = countsNumbers && depth <= N_DEPTH_MAX;
    const searches =
      SEARCHES.find(bytes, start, end) !== -1 || (isAtTop && SEARCHES_AT_TOP.find(bytes, start, end) !== -1);
    if (searches && kind !== 'false') this.#serverToolUses += TOOL_USES;
    if (kind === 'true' || kind === 'false') return;
    const name = MODELS.find(bytes, start, end);
    // The model of the call itself.
    const isOwn = depth === 1 && MODELS.names[name] === 'model';
    if (name !== -1 && !isOwn) {
      this.#models(pathTo(path, this.#keyText(start, end)), depth, countsNumbers);
    } else if (kind === 'object' || kind === 'array') {
      this.#controls(pathTo(path, this.#keyText(start, end)), depth, countsNumbers);
    }
  }

  /** The members of what comes next, an object or an array of them. */
  #controls(path: string, depth: number, countsNumbers: boolean): void {
    const reader = this.#reader;
    if (reader.kind === 'array') {
      reader.items((index) => {
        const { kind } = reader;
        if (kind === 'object' || kind === 'array') this.#controls(`${path}[${index}]`, depth, countsNumbers);
      });
    } else {
      reader.eachMember((start, end) => this.#control(start, end, path, depth + 1, countsNumbers));
    }
  }

  /** What comes next names models. */
  #models(path: string, depth: number, countsNumbers: boolean): void {
    const reader = this.#reader;
    switch (reader.kind) {
      case 'string':
        this.#innerModel(path);
        break;
      case 'array':
        reader.items((index) => this.#models(`${path}[${index}]`, depth, countsNumbers));
        break;
      case 'object':
        this.#controls(path, depth, countsNumbers);
        break;
      default:
    }
  }

  #innerModel(param: string): void {
    const name = this.#reader.text(NAME_BYTES_MAX);
    if (name === '') return;
    if (name === null) throw invalidRequest(`The name in "${param}" is too long.`, param);
    if (this.#innerModels.has(name)) return;
    if (this.#innerModels.size === INNER_MODELS_MAX) {
      throw invalidRequest(`The request names more than ${INNER_MODELS_MAX} models.`, param);
    }
    this.#innerModels.set(name, { name, param });
  }

  #number(index: number): void {
    const value = this.#wholeNumber();
    if (value === null) return;
    if (index >= CHOICES_FROM) this.#choices = Math.max(this.#choices, value);
    else if (index < THINKING_FROM) this.#limit = value > 0 ? Math.max(this.#limit ?? 0, value) : this.#limit;
    else if (value < 0) this.#isThinkingOpen = true;
    else this.#thinkingTokens = Math.max(this.#thinkingTokens, value);
  }

  /** The number that comes next, rounded up; `null` if there is none. Some servers take one that stands in quotes. */
  #wholeNumber(): number | null {
    const reader = this.#reader;
    const { offset, kind } = reader;
    let text: string | null;
    if (kind === 'string') {
      text = reader.text(NUMBER_BYTES_MAX);
    } else {
      reader.skip();
      text = this.#slice(offset, reader.offset);
    }
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isNaN(value) ? null : Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
  }

  /** Tools, or servers of tools. */
  #offered(path: string): void {
    const reader = this.#reader;
    if (reader.kind !== 'array') {
      this.#controls(path, 1, false);
      return;
    }
    reader.items((index) => {
      if (reader.kind === 'object') this.#tool(`${path}[${index}]`, path === 'tools' || path.endsWith('.tools'));
    });
  }

  #tool(path: string, isTyped: boolean): void {
    const reader = this.#reader;
    let type: string | null = null;
    let uses: number | null = null;
    reader.eachMember((start, end) => {
      const name = TOOL.names[TOOL.find(reader.bytes, start, end)];
      if (name === 'max_uses') uses = this.#toolUses() ?? uses;
      else if (name === 'type' && reader.kind === 'string') type = reader.text(TYPE_BYTES_MAX) ?? '';
      else if (name === 'tools') this.#offered(`${path}.tools`);
      else this.#control(start, end, path, 2, false);
    });
    if (!isTyped || (type !== null && isServerTool(type))) this.#serverToolUses += uses ?? TOOL_USES;
  }

  /** The uses of a tool that a request allows; `null`: it does not say. */
  #toolUses(): number | null {
    const uses = this.#wholeNumber();
    return uses === null || uses <= 0 ? null : Math.min(uses, TOOL_USES_MAX);
  }

  #skippedBytes(): number {
    const { offset } = this.#reader;
    this.#reader.skip();
    return this.#reader.offset - offset;
  }

  #keyText(start: number, end: number): string {
    return JSON.parse(`"${this.#slice(start, end)}"`) as string;
  }

  #slice(start: number, end: number): string {
    return this.#reader.bytes.toString('utf8', start, end);
  }
}

/** How often a tool that the provider runs is expected to be used if the request does not limit it. */
const TOOL_USES = 2;

/** In place of the name of a term that is longer than any that has a price. */
const TOO_LONG = '…';

/**
 * Thinking tokens that are assumed where thinking is asked for without a limit of its own: the default of Qwen's
 * models.
 */
const OPEN_THINKING_TOKENS = 38_912;

/** Tools that the caller runs: functions, and those whose results come with the next request. */
const CLIENT_TOOLS: readonly string[] = ['', 'function', 'custom', 'local_shell', 'apply_patch', 'namespace'];
const CLIENT_TOOL_KINDS = ['bash_', 'text_editor_', 'memory_'];

function isServerTool(type: string): boolean {
  return !CLIENT_TOOLS.includes(type) && !CLIENT_TOOL_KINDS.some((kind) => type.startsWith(kind));
}

function pathTo(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
