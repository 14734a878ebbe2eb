import { isRecord } from '../../lib/json/json.ts';
import {
  audioBudget,
  BUDGETS,
  type Count,
  fileBudget,
  opaqueBudget,
  type ProtocolBudgets,
  TRANSLATED_BUDGETS,
} from './budgets.ts';
import { type DataUrl, dataUrlText, decodedSizeBytes, decodeText, isPlainText, readDataUrl } from './media.ts';
import { writeStructure } from './structure.ts';
import type { Tokenizer } from './tokenizer.ts';

type Fields = Record<string, unknown>;

/** Members of items and blocks whose text counts without the member name. All others count as compact JSON. */
const TEXT_FIELDS = new Set([
  ...['text', 'refusal', 'thinking', 'name', 'namespace', 'arguments', 'input'],
  ...['title', 'context', 'source', 'filename', 'url'],
]);
const NESTED_FIELDS = new Set(['content', 'summary', 'output']);

/** Members of items and blocks that the model does not see: ids, states, cache markers. */
export const UNSEEN_FIELDS: ReadonlySet<string> = new Set([
  ...['type', 'role', 'id', 'status', 'call_id', 'tool_use_id', 'is_error'],
  ...['cache_control', 'prompt_cache_breakpoint', 'logprobs', 'signature'],
]);

export const UNSEEN_TOOL_FIELDS: ReadonlySet<string> = new Set([
  ...['type', 'strict', 'cache_control', 'defer_loading', 'eager_input_streaming'],
]);

/** Prefix of members that only the provider can decrypt. They count by size. */
const OPAQUE_PREFIX = 'encrypted_';

/** Maximum UTF-16 code units that are tokenized: about a million tokens of English, which take up to half a second. */
export const COUNTED_UNITS_MAX = 4 * 2 ** 20;

/** Maximum depth of nested blocks. Real bodies have three levels; deeper blocks count as plain structure. */
const NESTED_LEVELS_MAX = 32;

/** Counts the tokens of any JSON body and never throws. A value of an unexpected type counts by its visible structure. */
export class BodyCounter implements Count {
  textTokens = 0;
  budgetTokens = 0;
  readonly translatedBudgetTokens = { chat: 0, messages: 0 };
  readonly #tokenizer: Tokenizer;
  readonly #imageTokens: number;
  /** UTF-16 code units that were tokenized so far. The next field is their number of tokens. */
  #countedUnits = 0;
  #countedTokens = 0;
  #nestedLevels = 0;

  /** @param imageTokens estimate for an image of unknown format, such as a data URL in an unknown field */
  constructor(tokenizer: Tokenizer, imageTokens: number) {
    this.#tokenizer = tokenizer;
    this.#imageTokens = imageTokens;
  }

  text(text: string): void {
    const units = Math.min(text.length, COUNTED_UNITS_MAX - this.#countedUnits);
    const tokens = units === 0 ? 0 : this.#tokenizer.count(text.slice(0, units));
    this.#countedUnits += units;
    this.#countedTokens += tokens;
    this.textTokens += tokens;
    if (units < text.length) this.#textBySize(text.slice(units));
  }

  /** Counts text beyond the limit by its size: with as many tokens per character as before, but at least one per four bytes. */
  #textBySize(text: string): void {
    const asDense = (this.#countedTokens / this.#countedUnits) * text.length;
    this.textTokens += Math.ceil(Math.max(asDense, Buffer.byteLength(text) / 4));
  }

  /** @param translated the budgets at providers of other protocols; absent: the same */
  budget(tokens: number, translated: ProtocolBudgets | null = null): void {
    this.budgetTokens += tokens;
    this.translatedBudgetTokens.chat += translated?.chat ?? tokens;
    this.translatedBudgetTokens.messages += translated?.messages ?? tokens;
  }

  content(value: unknown): void {
    if (typeof value === 'string') {
      this.text(value);
    } else if (this.#nestedLevels >= NESTED_LEVELS_MAX) {
      this.structure(value);
    } else {
      this.#nestedLevels++;
      for (const block of Array.isArray(value) ? value : [value]) {
        if (typeof block === 'string') this.text(block);
        else if (isRecord(block)) this.block(block);
        else this.structure(block);
      }
      this.#nestedLevels--;
    }
  }

  block(block: Fields): void {
    if (this.#media(block)) return;
    // If the thinking is omitted, its signature counts instead: it contains the thinking in encrypted form.
    if (block.type === 'thinking' && isEmpty(block.thinking)) this.#opaque(block.signature);
    if (block.type === 'redacted_thinking') {
      this.#opaque(block.data);
      this.#members(block, ['data']);
    } else {
      this.#members(block, []);
    }
  }

  unknown(key: string, value: unknown): void {
    if (!isEmpty(value) && !this.#takes(value, key)) this.#write(value, key);
  }

  /** Counts structure and text as compact JSON, and media by their budgets. */
  structure(value: unknown): void {
    if (!isEmpty(value)) this.#write(value, null);
  }

  /** Counts tools: the text that the model sees, a budget for the list, and a budget for each tool. */
  tools(value: unknown, onceTokens: number, eachTokens: number): void {
    if (isEmpty(value)) return;
    this.budget(onceTokens, TRANSLATED_BUDGETS.tools);
    for (const tool of Array.isArray(value) ? value : [value]) {
      this.budget(eachTokens, TRANSLATED_BUDGETS.tool);
      if (!isRecord(tool)) this.structure(tool);
      else this.structure(Object.fromEntries(Object.entries(tool).filter(([key]) => !UNSEEN_TOOL_FIELDS.has(key))));
    }
  }

  reasoning(value: unknown, known: ReadonlySet<string>): void {
    if (isEmpty(value)) return;
    this.budget(BUDGETS.reasoning.tokens);
    if (!isRecord(value)) {
      this.structure(value);
      return;
    }
    for (const [key, member] of Object.entries(value)) {
      if (!known.has(key)) this.unknown(key, member);
    }
  }

  #write(value: unknown, key: string | null): void {
    writeStructure(value, key, { write: (json) => this.text(json), takes: (found, at) => this.#takes(found, at) });
  }

  #members(block: Fields, done: readonly string[]): void {
    for (const [key, value] of Object.entries(block)) {
      if (UNSEEN_FIELDS.has(key) || done.includes(key) || isEmpty(value)) continue;
      if (NESTED_FIELDS.has(key)) this.content(value);
      else if (!TEXT_FIELDS.has(key)) this.unknown(key, value);
      else if (typeof value === 'string') this.text(value);
      else this.structure(value);
    }
  }

  #takes(value: unknown, key: string): boolean {
    if (typeof value === 'string') {
      if (key.startsWith(OPAQUE_PREFIX)) {
        this.#opaque(value);
        return true;
      }
      const url = readDataUrl(value);
      if (url === null || !url.isBase64) return false;
      this.#dataUrl(url);
      return true;
    }
    if (!isRecord(value)) return false;
    if (value.type === 'base64' && typeof value.data === 'string') {
      const mediaType = typeof value.media_type === 'string' ? value.media_type.toLowerCase() : '';
      this.#dataUrl({ mediaType, isBase64: true, data: value.data });
      return true;
    }
    return this.#nestedLevels < NESTED_LEVELS_MAX && this.#media(value);
  }

  #media(block: Fields): boolean {
    this.#nestedLevels++;
    const done = this.#mediaMembers(block);
    if (done !== null) this.#members(block, done);
    this.#nestedLevels--;
    return done !== null;
  }

  /** Counts the media in a block. Returns the members that are thereby counted; `null` if there are none. */
  #mediaMembers(block: Fields): readonly string[] | null {
    switch (block.type) {
      case 'input_image':
      case 'computer_screenshot':
        this.#image(block.detail);
        return ['image_url', 'file_id', 'detail'];
      case 'image_url': {
        if (isEmpty(block.image_url)) return null;
        this.#image(isRecord(block.image_url) ? block.image_url.detail : block.detail);
        return ['image_url', 'detail'];
      }
      case 'image_generation_call':
        if (isEmpty(block.result)) return null;
        this.#image(undefined);
        return ['result'];
      case 'image':
        if (!isRecord(block.source) && typeof block.data !== 'string') return null;
        this.budget(BUDGETS.imageMessages.tokens, TRANSLATED_BUDGETS.image);
        return ['source', 'data', 'mimeType'];
      case 'input_file':
        this.#file(block);
        return ['file_data', 'file_url', 'file_id', 'detail'];
      case 'file':
        if (!isRecord(block.file)) return null;
        this.#file(block.file);
        this.#members(block.file, ['file_data', 'file_url', 'file_id']);
        return ['file'];
      case 'container_upload':
        this.budget(BUDGETS.fileUnknown.tokens);
        return ['file_id'];
      case 'document':
        if (!isRecord(block.source)) return null;
        this.#document(block.source);
        return ['source'];
      case 'input_audio': {
        const audio = isRecord(block.input_audio) ? block.input_audio : block;
        if (typeof audio.data !== 'string') return null;
        this.budget(audioBudget(decodedSizeBytes(audio.data)));
        return ['input_audio', 'data', 'format'];
      }
      default:
        return null;
    }
  }

  #image(detail: unknown): void {
    const name = detail === 'low' ? 'imageLow' : detail === 'original' ? 'imageOriginal' : 'image';
    const { tokens } = BUDGETS[name];
    this.budget(tokens, { chat: tokens, messages: BUDGETS.imageMessages.tokens });
  }

  /** Counts a file in the responses format, whose `file_data` is a data URL or base64. */
  #file(file: Fields): void {
    if (typeof file.file_data !== 'string' || file.file_data === '') {
      this.budget(BUDGETS.fileUnknown.tokens);
      return;
    }
    const url = readDataUrl(file.file_data);
    if (url !== null && isPlainText(url.mediaType)) this.text(dataUrlText(url));
    else this.budget(fileBudget(decodedSizeBytes(url === null ? file.file_data : url.data)));
  }

  #document(source: Fields): void {
    if (source.type === 'content') {
      this.content(source.content);
    } else if (typeof source.data !== 'string') {
      this.budget(BUDGETS.fileUnknown.tokens);
    } else if (source.type === 'text') {
      this.text(source.data);
    } else if (isPlainText(source.media_type)) {
      this.text(decodeText(source.data));
    } else {
      this.budget(fileBudget(decodedSizeBytes(source.data)));
    }
  }

  #dataUrl(url: DataUrl): void {
    if (isPlainText(url.mediaType)) this.text(dataUrlText(url));
    else if (url.mediaType.startsWith('image/')) this.budget(this.#imageTokens, TRANSLATED_BUDGETS.image);
    else if (url.mediaType.startsWith('audio/')) this.budget(audioBudget(decodedSizeBytes(url.data)));
    else this.budget(fileBudget(decodedSizeBytes(url.data)));
  }

  #opaque(value: unknown): void {
    if (typeof value === 'string') this.budget(opaqueBudget(decodedSizeBytes(value)));
    else this.structure(value);
  }
}

/** Whether a value has no visible text: null, or an empty string, list or object. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}
