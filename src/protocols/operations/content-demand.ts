import { type JsonReader, MemberNames } from '../../lib/json/json-reader.ts';
import { BUDGETS } from '../token-estimate/budgets.ts';

/** Members of content. */
const PARTS = new MemberNames(
  ...[
    'type',
    'source',
    'file_id',
    'file_url',
    'image_url',
    'video_url',
    'audio_url',
    'input_audio',
    'file',
    'image',
    'video',
    'detail',
  ],
  ...['input', 'arguments', '*tools', 'cache_control', 'prompt_cache_breakpoint', 'id', 'definition'],
);
const ADDRESSES = new MemberNames('url', 'file_id', 'file_url', 'detail');
/** The types of parts and the names of details are shorter, also if each character is an escape of six bytes. */
const TEXT_BYTES_MAX = 6 * 64;

/** Types of parts that are audio. */
const AUDIO_TYPES: readonly string[] = ['input_audio', 'audio', 'audio_url'];

/** An item that stands for an earlier one: a response of the usual length. */
const ITEM_REFERENCE_TOKENS = 4_096;

/** Reads what models are given to read: text, pictures, files, and what stands for them. See `docs/reservations.md`. */
export class ContentReader {
  readonly #reader: JsonReader;
  readonly #imageTokens: number;
  readonly #onTools: () => void;
  readonly #onTool: () => void;
  /** The member of the request that is read. */
  #member = '';
  /** Tokens of content that stands outside of the request, at an address. */
  addressedTokens = 0;
  /** The first member that has audio. */
  audioInput: string | null = null;
  writesCache = false;

  /** `onTools` reads tools that are offered in the middle of the content, which come next in `reader`; `onTool` one of them. */
  constructor(reader: JsonReader, imageTokens: number, onTools: () => void, onTool: () => void) {
    this.#reader = reader;
    this.#imageTokens = imageTokens;
    this.#onTools = onTools;
    this.#onTool = onTool;
  }

  /** Reads the value that comes next, which the request has as `member`. */
  read(member: string): void {
    this.#member = member;
    this.#content();
  }

  #content(): void {
    const reader = this.#reader;
    if (reader.kind === 'array') reader.items(() => this.#content());
    else if (reader.kind === 'object') this.#part();
  }

  #part(): void {
    const reader = this.#reader;
    let type: string | null = null;
    let addressed = 0;
    let members = 0;
    let hasId = false;
    reader.eachMember((start, end) => {
      members++;
      switch (PARTS.names[PARTS.find(reader.bytes, start, end)]) {
        case 'type':
          type = reader.text(TEXT_BYTES_MAX);
          break;
        case 'id':
          hasId = reader.kind === 'string';
          break;
        case 'detail':
          this.#detail();
          break;
        case 'source':
        case 'file':
        case 'file_id':
        case 'file_url':
          addressed += this.#addresses();
          break;
        case 'image':
        case 'image_url':
          this.#address(this.#addresses(), this.#imageTokens);
          break;
        case 'input_audio':
          this.audioInput ??= this.#member;
          this.#content();
          break;
        case 'audio_url':
          this.audioInput ??= this.#member;
          this.#address(this.#addresses(), BUDGETS.fileUnknown.tokens);
          break;
        case 'video':
        case 'video_url':
          this.#address(this.#addresses(), BUDGETS.fileUnknown.tokens);
          break;
        case '*tools':
          this.#onTools();
          break;
        case 'definition':
          if (reader.kind === 'object') this.#onTool();
          else this.#content();
          break;
        case 'cache_control':
        case 'prompt_cache_breakpoint':
          this.writesCache ||= reader.kind !== 'null';
          break;
        case 'input':
        case 'arguments':
          // The input that a model gave to a tool.
          break;
        default:
          this.#content();
      }
    });
    if (type !== null && AUDIO_TYPES.includes(type)) this.audioInput ??= this.#member;
    const isImage = type !== null && (type as string).includes('image');
    this.#address(addressed, isImage ? this.#imageTokens : BUDGETS.fileUnknown.tokens);
    if (type === 'item_reference' || (members === 1 && hasId)) this.#address(1, ITEM_REFERENCE_TOKENS);
  }

  #address(count: number, tokensEach: number): void {
    this.addressedTokens += count * tokensEach;
  }

  /** How many addresses of content outside of the request the value that comes next has. */
  #addresses(): number {
    const reader = this.#reader;
    let count = 0;
    if (reader.kind === 'string') {
      const start = reader.offset + 1;
      reader.skip();
      if (reader.offset - 1 > start && !isData(reader.bytes, start)) count++;
    } else if (reader.kind === 'array') {
      reader.items(() => {
        count += this.#addresses();
      });
    } else if (reader.kind === 'object') {
      reader.eachMember((start, end) => {
        const name = ADDRESSES.names[ADDRESSES.find(reader.bytes, start, end)];
        if (name === 'detail') this.#detail();
        else if (name !== undefined) count += this.#addresses();
        // A document may consist of blocks with pictures of their own.
        else this.#content();
      });
    }
    return count;
  }

  #detail(): void {
    if (this.#reader.text(TEXT_BYTES_MAX) !== 'original') return;
    this.#address(1, BUDGETS.imageOriginal.tokens - BUDGETS.image.tokens);
  }
}

const DATA = 'data:';

function isData(bytes: Buffer, start: number): boolean {
  return bytes.toString('latin1', start, start + DATA.length).toLowerCase() === DATA;
}
