import type { JsonReader } from '../lib/json/json-reader.ts';
import type { Part } from './content-names.ts';
import { BUDGETS } from './token-estimate/budgets.ts';

/** How a value is read for what its request asks for, beside what it refers to. */
export const Reads = {
  nothing: 0,
  /** The request itself. */
  request: 1,
  /** An object that a relay merges into the request. */
  more: 2,
  content: 3,
  /** Addresses of content, by what each of them stands for. */
  addresses: 4,
  imageAddresses: 5,
  fileAddresses: 6,
} as const;
export type Reads = (typeof Reads)[keyof typeof Reads];

/** The types of parts and the names of details are shorter, also if each character is an escape of six bytes. */
const TEXT_BYTES_MAX = 6 * 64;

/** Types of parts that are audio. */
const AUDIO_TYPES: readonly string[] = ['input_audio', 'audio', 'audio_url'];

/** An item that stands for an earlier one: a response of the usual length. */
const ITEM_REFERENCE_TOKENS = 4_096;

/** An object of content that is being read. */
interface OpenPart {
  readonly outer: OpenPart | null;
  /** Where its type stands; -1 without one. */
  typeAt: number;
  addresses: number;
  members: number;
  hasId: boolean;
}

/**
 * What a request asks for with what models are given to read: text, pictures, files, and what stands for them. `RequestReader` calls it
 * for each value that it goes over. See `docs/reservations.md`.
 */
export abstract class ContentDemand {
  readonly #imageTokens: number;
  #part: OpenPart | null = null;
  /** Tokens of content that stands outside of the request, at an address. */
  protected addressedTokens = 0;
  /** The first member of the request that has audio. */
  protected audioInput: string | null = null;
  protected writesCache = false;
  /** The member of the request that is read. */
  protected content = '';

  constructor(imageTokens: number) {
    this.#imageTokens = imageTokens;
  }

  /** Reads the member of a request whose value comes next, or says how it is read. */
  abstract readMember(json: JsonReader, isRequest: boolean): Reads;
  /** Reads tools that are offered in the middle of the content, which come next. */
  protected abstract readTools(json: JsonReader): void;
  protected abstract readTool(json: JsonReader): void;

  /** An object of content begins. */
  begin(): void {
    this.#part = { outer: this.#part, typeAt: -1, addresses: 0, members: 0, hasId: false };
  }

  /** The object has ended. */
  end(json: JsonReader): void {
    const { typeAt, addresses, members, hasId, outer } = this.#part!;
    this.#part = outer;
    // Most parts are texts, and calls and results of tools, whose types say nothing here.
    const type = addresses > 0 || mayMatter(json.bytes[typeAt + 1]!) ? textAt(json, typeAt) : null;
    if (type !== null && AUDIO_TYPES.includes(type)) this.#noteAudio();
    const isImage = type?.includes('image') === true;
    this.addressedTokens += addresses * (isImage ? this.#imageTokens : BUDGETS.fileUnknown.tokens);
    if (type === 'item_reference' || (members === 1 && hasId)) this.addressedTokens += ITEM_REFERENCE_TOKENS;
  }

  /** How a member is read whose value comes next, in a value that is read so. */
  part(reads: Reads, part: Part, json: JsonReader): Reads {
    if (reads !== Reads.content) return this.#partOfAddress(reads, part, json);
    const open = this.#part!;
    open.members++;
    switch (part) {
      case 'type':
        open.typeAt = json.kind === 'string' ? json.offset : -1;
        return Reads.nothing;
      case 'id':
        open.hasId = json.kind === 'string';
        return Reads.nothing;
      case 'detail':
        this.#readDetail(json);
        return Reads.nothing;
      case 'source':
      case 'file':
      case 'file_id':
      case 'file_url':
        return Reads.addresses;
      case 'image':
      case 'image_url':
        return Reads.imageAddresses;
      case 'audio_url':
        this.#noteAudio();
        return Reads.fileAddresses;
      case 'video':
      case 'video_url':
        return Reads.fileAddresses;
      case 'input_audio':
        this.#noteAudio();
        return Reads.content;
      case '*tools':
        this.readTools(json);
        return Reads.nothing;
      case 'definition':
        if (json.kind !== 'object') return Reads.content;
        this.readTool(json);
        return Reads.nothing;
      case 'cache_control':
      case 'prompt_cache_breakpoint':
        this.writesCache ||= json.kind !== 'null';
        return Reads.nothing;
      case 'input':
      case 'arguments':
        // What a model gave to a tool.
        return Reads.nothing;
      default:
        return Reads.content;
    }
  }

  #partOfAddress(reads: Reads, part: Part, json: JsonReader): Reads {
    if (part === 'url' || part === 'file_id' || part === 'file_url') return reads;
    // A document may consist of blocks with pictures of their own.
    if (part !== 'detail') return Reads.content;
    this.#readDetail(json);
    return Reads.nothing;
  }

  /** The string that comes next is an address, unless it is the content itself. */
  address(reads: Reads, { bytes, offset }: JsonReader): void {
    if (bytes[offset + 1] === QUOTE || isData(bytes, offset + 1)) return;
    if (reads === Reads.addresses) this.#part!.addresses++;
    else this.addressedTokens += reads === Reads.imageAddresses ? this.#imageTokens : BUDGETS.fileUnknown.tokens;
  }

  #noteAudio(): void {
    this.audioInput ??= this.content;
  }

  #readDetail(json: JsonReader): void {
    if (textAt(json, json.offset) !== 'original') return;
    this.addressedTokens += BUDGETS.imageOriginal.tokens - BUDGETS.image.tokens;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LETTER_A = 0x61;
const LETTER_I = 0x69;
const DATA = 'data:';

/** Whether a type that begins so may be one that is looked for. */
function mayMatter(first: number): boolean {
  return first === LETTER_A || first === LETTER_I || first === BACKSLASH;
}

function textAt(json: JsonReader, offset: number): string | null {
  return offset === -1 ? null : json.from(offset).text(TEXT_BYTES_MAX);
}

function isData(bytes: Buffer, start: number): boolean {
  return bytes.toString('latin1', start, start + DATA.length).toLowerCase() === DATA;
}
