import type { JsonReader } from '../lib/json/json-reader.ts';
import type { Part } from './content-names.ts';
import { BUDGETS } from './token-estimate/budgets.ts';

export const Reads = {
  nothing: 0,
  request: 1,
  more: 2,
  content: 3,
  /** Strings in the value are addresses of content. `addresses`: their media type is that of the content part around them. */
  addresses: 4,
  imageAddresses: 5,
  fileAddresses: 6,
} as const;
export type Reads = (typeof Reads)[keyof typeof Reads];

/** Maximum bytes of types and of `detail` that are compared: 64 characters, each as an escape of six bytes. */
const TEXT_BYTES_MAX = 6 * 64;

const AUDIO_TYPES: readonly string[] = ['input_audio', 'audio', 'audio_url'];

/** Assumed tokens of an item that is given by its id: those of a typical response. */
const ITEM_REFERENCE_TOKENS = 4_096;

interface OpenPart {
  readonly outer: OpenPart | null;
  typeAt: number;
  addresses: number;
  members: number;
  hasId: boolean;
}

/** Reads content that affects the cost of a request: media, references, cache breakpoints (`docs/reservations.md`). */
export abstract class ContentDemand {
  readonly #imageTokens: number;
  #part: OpenPart | null = null;
  /** Estimated tokens of content that is given by URL or id. */
  protected addressedTokens = 0;
  /** The first top-level member that contains audio. */
  protected audioInput: string | null = null;
  protected writesCache = false;
  protected content = '';

  constructor(imageTokens: number) {
    this.#imageTokens = imageTokens;
  }

  /** Reads the next member of a request. Returns how the caller must read what is left of it. */
  abstract readMember(json: JsonReader, isRequest: boolean): Reads;
  protected abstract readTools(json: JsonReader): void;
  protected abstract readTool(json: JsonReader): void;

  begin(): void {
    this.#part = { outer: this.#part, typeAt: -1, addresses: 0, members: 0, hasId: false };
  }

  end(json: JsonReader): void {
    const { typeAt, addresses, members, hasId, outer } = this.#part!;
    this.#part = outer;
    // Types that do not affect the cost, such as text, tool calls and tool results, are not decoded. Most types are such.
    const type = addresses > 0 || mayMatter(json.bytes[typeAt + 1]!) ? textAt(json, typeAt) : null;
    if (type !== null && AUDIO_TYPES.includes(type)) this.#noteAudio();
    const isImage = type?.includes('image') === true;
    this.addressedTokens += addresses * (isImage ? this.#imageTokens : BUDGETS.fileUnknown.tokens);
    if (type === 'item_reference' || (members === 1 && hasId)) this.addressedTokens += ITEM_REFERENCE_TOKENS;
  }

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
        // Arguments of a tool call do not affect the cost.
        return Reads.nothing;
      default:
        return Reads.content;
    }
  }

  #partOfAddress(reads: Reads, part: Part, json: JsonReader): Reads {
    if (part === 'url' || part === 'file_id' || part === 'file_url') return reads;
    // A document can have blocks with images.
    if (part !== 'detail') return Reads.content;
    this.#readDetail(json);
    return Reads.nothing;
  }

  /** Adds an estimate if the next string is an address rather than the content itself. */
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

/** Whether a type that begins with this byte can affect the cost of the call. */
function mayMatter(first: number): boolean {
  return first === LETTER_A || first === LETTER_I || first === BACKSLASH;
}

function textAt(json: JsonReader, offset: number): string | null {
  return offset === -1 ? null : json.from(offset).text(TEXT_BYTES_MAX);
}

function isData(bytes: Buffer, start: number): boolean {
  return bytes.toString('latin1', start, start + DATA.length).toLowerCase() === DATA;
}
