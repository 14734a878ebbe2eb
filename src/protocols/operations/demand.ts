import type { JsonReader } from '../../lib/json/json-reader.ts';
import { decodeString } from '../../lib/json/json-string.ts';
import { ContentDemand, Reads } from '../content-demand.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { isPlainTerm, type TermName } from '../metering/service-terms.ts';
import { TOOL_USES_MAX } from '../metering/usage-units.ts';
import { type NamedState, type RequestTable, readContent, readNamedState } from '../request-reader.ts';
import { toolRule } from '../tools.ts';
import { Meaning, meaningOf, termOf } from './demand-names.ts';
import type { BodyFields } from './fields.ts';
import { NamedModels } from './named-models.ts';
import { type Demand, plainDemand } from './operation.ts';

/** Maximum bytes of a type: 64 characters, each as an escape of six bytes. */
const TYPE_BYTES_MAX = 6 * 64;
const TERM_BYTES_MAX = 64;
const NUMBER_BYTES_MAX = 64;
const NEAR_TOP_DEPTH_MAX = 2;

const NUMBERS = Meaning.limit | Meaning.thinking | Meaning.choices;

interface OpenTool {
  isRunByProvider: boolean;
  uses: number | null;
  /** Models that the parameters of the tool name. Ignored for functions, whose parameters are a schema. */
  models: NamedModels | null;
}

interface OpenEdit {
  isCompaction: boolean;
  aboveTokens: number | null;
}

/**
 * Reads what multiplies the cost of a request (`docs/reservations.md`), in the spellings of all vendors, because a relay might forward it
 * to any of them. Members of an unexpected type are ignored. If several members state a quantity, the highest value applies.
 */
export class DemandReader extends ContentDemand {
  readonly #fields: BodyFields;
  #reader: JsonReader;
  #limit: number | null = null;
  #thinkingTokens = 0;
  #isThinkingOpen = false;
  #choices = 1;
  #serverToolUses = 0;
  #toolCallsLimit = 0;
  #compactsAboveTokens: number | null = null;
  #predictedTokens = 0;
  #models = new NamedModels();
  readonly #terms: { [Name in TermName]?: string } = {};
  #audioOutput: string | null = null;
  #tool: OpenTool | null = null;
  #isForModelsOnly = false;
  #edit: OpenEdit | null = null;

  constructor(fields: BodyFields, imageTokens: number) {
    super(imageTokens);
    this.#fields = fields;
    this.#reader = fields.reader();
  }

  /** Reads references to provider state and, at the same time, what `demand` returns. */
  named(table: RequestTable): NamedState {
    return readNamedState(this.#reader, table, this);
  }

  get choices(): number {
    return this.#choices;
  }

  /** Returns what was read. @throws GatewayError `invalidRequest` if the request names too many models */
  demand(continues: Demand['continues']): Demand {
    const { bytes, start } = this.#fields;
    const isThinkingOpen = this.#isThinkingOpen && this.#thinkingTokens === 0;
    return {
      ...plainDemand,
      outputTokensLimit: this.#limit,
      thinkingTokens: this.#thinkingTokens,
      addressedTokens: this.addressedTokens,
      serverToolUses: this.#serverToolUses === 0 ? 0 : Math.max(this.#serverToolUses, this.#toolCallsLimit),
      compactsAboveTokens: this.#compactsAboveTokens,
      writesCache: this.writesCache,
      moreOutputTokens: this.#predictedTokens + (isThinkingOpen ? OPEN_THINKING_TOKENS : 0),
      continues,
      innerModels: this.#models.list(bytes, start),
      terms: this.#terms,
      audioInput: this.audioInput,
      audioOutput: this.#audioOutput,
    };
  }

  readMember(json: JsonReader, isRequest: boolean): Reads {
    const { bytes, keyStart: start, keyEnd: end, kind } = json;
    const meaning = meaningOf(bytes, start, end);
    // Nearly all settings have no meaning here.
    if ((meaning === 0 || meaning === Meaning.unknown) && kind !== 'object' && kind !== 'array') return Reads.nothing;
    if ((meaning & Meaning.content) !== 0) {
      this.content = decodeString(bytes, start, end);
      return Reads.content;
    }
    if (isRequest && kind === 'object' && (meaning & Meaning.more) !== 0) return Reads.more;
    if ((meaning & Meaning.free) !== 0 || (isRequest && (meaning & Meaning.ownModel) !== 0)) return Reads.nothing;
    this.#at(json, () => this.#member(start, end, meaning));
    return Reads.nothing;
  }

  protected readTools(json: JsonReader): void {
    this.#at(json, () => this.#offered(true));
  }

  protected readTool(json: JsonReader): void {
    this.#at(json, () => this.#readTool(false));
  }

  /** Reads the next value of `json` with another reader, so that `json` stays before it. */
  #at(json: JsonReader, read: () => void): void {
    const outer = this.#reader;
    this.#reader = json.from(json.offset);
    read();
    json.noteEnd(this.#reader);
    this.#reader = outer;
  }

  #member(start: number, end: number, meaning: number): void {
    if ((meaning & (Meaning.tools | Meaning.toolServers)) !== 0) this.#offered((meaning & Meaning.tools) !== 0);
    else if ((meaning & Meaning.prediction) !== 0) this.#predictedTokens += estimateTokens(this.#skippedBytes());
    else if (meaning === Meaning.unknown || !this.#asksFor(start, end, meaning)) this.#control(meaning, 1);
  }

  /** Reads a top-level member that asks for a service term or audio. Returns `false` if the caller must still read the value. */
  #asksFor(start: number, end: number, meaning: number): boolean {
    const reader = this.#reader;
    const { bytes, kind } = reader;
    if (kind === 'string') {
      if ((meaning & Meaning.term) === 0) return false;
      const term = termOf(bytes, start, end);
      const value = reader.text(TERM_BYTES_MAX) ?? TOO_LONG;
      const before = this.#terms[term];
      if (before === undefined || isPlainTerm(term, before)) this.#terms[term] = value;
      return true;
    }
    if (kind === 'array' && (meaning & Meaning.modalities) !== 0) {
      for (reader.enter(); reader.nextItem(); ) {
        if (reader.text(TYPE_BYTES_MAX)?.toLowerCase() === 'audio') this.#audioOutput = this.#keyText(start, end);
      }
      return true;
    }
    if (kind === 'object' && (meaning & Meaning.audio) !== 0) this.#audioOutput ??= this.#keyText(start, end);
    return false;
  }

  #control(meaning: number, depth: number): void {
    const reader = this.#reader;
    const { kind } = reader;
    if (meaning === Meaning.unknown) {
      if (kind === 'object' || kind === 'array') this.#controls(depth);
      return;
    }
    if (this.#edit !== null && this.#readEdit(this.#edit, meaning, depth)) return;
    if ((kind === 'number' || kind === 'string') && (meaning & NUMBERS) !== 0) {
      const isCounted = this.#tool === null && ((meaning & Meaning.nearTop) === 0 || depth <= NEAR_TOP_DEPTH_MAX);
      if (isCounted) this.#number(meaning);
      return;
    }
    if (kind === 'number' && (meaning & Meaning.toolCalls) !== 0) {
      this.#toolCallsLimit = Math.max(this.#toolCallsLimit, this.#toolUses() ?? 0);
      return;
    }
    if (kind === 'null' || kind === 'number' || (meaning & Meaning.schema) !== 0) return;
    if (!this.#isForModelsOnly) this.#flags(meaning, depth);
    if (kind === 'true' || kind === 'false') return;
    if ((meaning & Meaning.models) !== 0) this.#named((meaning & Meaning.modelMap) !== 0, depth);
    else if (kind === 'string') return;
    else if ((meaning & Meaning.contextManagement) !== 0) this.#contextManagement(depth);
    else if ((meaning & Meaning.tools) !== 0) this.#offered(true);
    else if ((meaning & Meaning.toolChoice) !== 0) this.#modelsOnly(depth);
    else if ((meaning & Meaning.parameters) !== 0 && depth > 1) this.#parameters(depth);
    else this.#controls(depth);
  }

  #flags(meaning: number, depth: number): void {
    const { kind } = this.#reader;
    if ((meaning & Meaning.caches) !== 0) this.writesCache = true;
    if ((meaning & Meaning.thinks) !== 0 && kind === 'true') this.#isThinkingOpen = true;
    const isAtTop = this.#tool === null && depth <= NEAR_TOP_DEPTH_MAX;
    const searches = (meaning & Meaning.search) !== 0 || (isAtTop && (meaning & Meaning.searchAtTop) !== 0);
    if (searches && kind !== 'false') this.#serverToolUses += TOOL_USES;
  }

  #controls(depth: number): void {
    const reader = this.#reader;
    if (reader.kind === 'object') this.#object((meaning) => this.#control(meaning, depth + 1));
    else if (reader.kind === 'array') for (reader.enter(); reader.nextItem(); ) this.#controls(depth);
  }

  /** Reads the members of the next object. In context management, the object can be an edit. */
  #object(visit: (meaning: number, start: number, end: number) => void): void {
    const reader = this.#reader;
    const outer = this.#edit;
    const edit = outer === null ? null : { isCompaction: false, aboveTokens: null };
    this.#edit = edit;
    for (reader.enter(); reader.nextMember(); ) {
      const { bytes, keyStart, keyEnd } = reader;
      visit(meaningOf(bytes, keyStart, keyEnd), keyStart, keyEnd);
    }
    this.#edit = outer;
    if (edit !== null) this.#compact(edit);
  }

  #compact({ isCompaction, aboveTokens }: OpenEdit): void {
    if (!isCompaction) return;
    this.#compactsAboveTokens = Math.min(this.#compactsAboveTokens ?? Number.MAX_SAFE_INTEGER, aboveTokens ?? 0);
  }

  /** Reads context edits, by which the provider may summarize a long input. Each object in the value can be one. */
  #contextManagement(depth: number): void {
    const outer = this.#edit;
    this.#edit = { isCompaction: false, aboveTokens: null };
    this.#controls(depth);
    this.#edit = outer;
  }

  /** Reads the type of a context edit, or the input length from which on it applies. Returns `false` for other members. */
  #readEdit(edit: OpenEdit, meaning: number, depth: number): boolean {
    const reader = this.#reader;
    if ((meaning & Meaning.type) !== 0 && reader.kind === 'string') {
      edit.isCompaction ||= reader.text(TYPE_BYTES_MAX)?.startsWith('compact') === true;
      return true;
    }
    if ((meaning & Meaning.threshold) !== 0) {
      const aboveTokens = reader.kind === 'number' ? Math.max(0, this.#wholeNumber() ?? 0) : 0;
      edit.aboveTokens = Math.min(edit.aboveTokens ?? aboveTokens, aboveTokens);
      return reader.kind === 'number';
    }
    if ((meaning & Meaning.trigger) === 0 || reader.kind !== 'object') return false;
    for (reader.enter(); reader.nextMember(); ) {
      const inner = meaningOf(reader.bytes, reader.keyStart, reader.keyEnd);
      if ((inner & Meaning.type) === 0) this.#control(inner, depth + 1);
    }
    return true;
  }

  #named(isMap: boolean, depth: number): void {
    const reader = this.#reader;
    switch (reader.kind) {
      case 'string': {
        const { offset } = reader;
        reader.skip();
        this.#models.add(reader.bytes, offset + 1, reader.offset - 1, offset);
        break;
      }
      case 'array':
        for (reader.enter(); reader.nextItem(); ) this.#named(isMap, depth);
        break;
      case 'object':
        this.#namedInObject(isMap, depth);
        break;
      default:
    }
  }

  /** Reads an object that either describes one model, by its name, or maps models to others, such as `{"gpt":["other"]}`. */
  #namedInObject(isMap: boolean, depth: number): void {
    const reader = this.#reader;
    const keys = new NamedModels();
    let isOneModel = false;
    this.#object((meaning, start, end) => {
      const { kind, offset } = reader;
      if ((meaning & (Meaning.models | Meaning.modelId)) !== 0) {
        isOneModel = true;
        this.#named((meaning & Meaning.modelMap) !== 0, depth + 1);
      } else if ((meaning & Meaning.content) !== 0) {
        this.content = this.#keyText(start, end);
        readContent(reader, this);
      } else if (meaning !== Meaning.unknown || !isMap) {
        this.#control(meaning, depth + 1);
      } else if (kind === 'string' || kind === 'array') {
        this.#models.add(reader.bytes, start, end, offset);
        this.#named(true, depth + 1);
      } else {
        keys.add(reader.bytes, start, end, offset);
        this.#control(meaning, depth + 1);
      }
    });
    if (!isOneModel) this.#models.addAll(keys);
  }

  #number(meaning: number): void {
    const value = this.#wholeNumber();
    if (value === null) return;
    if ((meaning & Meaning.choices) !== 0) this.#choices = Math.max(this.#choices, value);
    else if ((meaning & Meaning.limit) !== 0) this.#limit = value > 0 ? Math.max(this.#limit ?? 0, value) : this.#limit;
    else if (value < 0) this.#isThinkingOpen = true;
    else this.#thinkingTokens = Math.max(this.#thinkingTokens, value);
  }

  /** Reads a number, rounded up; `null` if the value is none. Some servers accept numbers in quotes. */
  #wholeNumber(): number | null {
    const reader = this.#reader;
    const { offset, kind } = reader;
    let text: string | null;
    if (kind === 'string') {
      text = reader.text(NUMBER_BYTES_MAX);
    } else {
      reader.skip();
      text = reader.bytes.toString('utf8', offset, reader.offset);
    }
    const value = text === null || text.trim() === '' ? Number.NaN : Number(text);
    return Number.isNaN(value) ? null : Math.min(Math.ceil(value), Number.MAX_SAFE_INTEGER);
  }

  /** Reads tools or tool servers. All tools of a tool server run at the provider. */
  #offered(areTools: boolean): void {
    const reader = this.#reader;
    const { kind } = reader;
    if (kind === 'array') {
      for (reader.enter(); reader.nextItem(); ) {
        if (reader.kind === 'object') this.#readTool(!areTools);
        else if (reader.kind === 'array') this.#offered(areTools);
      }
    } else if (kind === 'object') {
      const outer = this.#tool;
      const tool: OpenTool = { isRunByProvider: true, uses: null, models: null };
      this.#tool = tool;
      this.#controls(1);
      this.#tool = outer;
      if (tool.models !== null) this.#models.addAll(tool.models);
    }
  }

  #readTool(isRunByProvider: boolean): void {
    const reader = this.#reader;
    const tool: OpenTool = { isRunByProvider, uses: null, models: null };
    const outer = this.#tool;
    this.#tool = tool;
    this.#object((meaning) => {
      if ((meaning & Meaning.maxUses) !== 0) tool.uses = this.#toolUses() ?? tool.uses;
      else if ((meaning & Meaning.type) !== 0 && reader.kind === 'string')
        tool.isRunByProvider = isServerTool(reader.text(TYPE_BYTES_MAX) ?? TOO_LONG) || tool.isRunByProvider;
      else this.#control(meaning, 2);
    });
    this.#tool = outer;
    if (!tool.isRunByProvider) return;
    if (!this.#isForModelsOnly) this.#serverToolUses += tool.uses ?? TOOL_USES;
    if (tool.models !== null) this.#models.addAll(tool.models);
  }

  /** Collects the models that are named by settings of a provider tool, or by the schema of a function. */
  #parameters(depth: number): void {
    const tool = this.#tool;
    if (tool === null) return;
    const outer = this.#models;
    tool.models ??= new NamedModels();
    this.#models = tool.models;
    this.#modelsOnly(depth);
    this.#models = outer;
  }

  #modelsOnly(depth: number): void {
    const outer = this.#isForModelsOnly;
    this.#isForModelsOnly = true;
    this.#controls(depth);
    this.#isForModelsOnly = outer;
  }

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
    return decodeString(this.#reader.bytes, start, end);
  }
}

/** Assumed uses of each provider tool if the request states no limit. */
const TOOL_USES = 2;

const TOO_LONG = '…';

/** Assumed thinking tokens if the request asks for thinking without a limit: the default limit of Qwen models. */
export const OPEN_THINKING_TOKENS = 38_912;

/** Whether the provider runs the tool. Functions run at the client, and so do other tools whose results the next request contains. */
function isServerTool(type: string): boolean {
  return type !== '' && toolRule(type)?.runs !== 'client';
}
