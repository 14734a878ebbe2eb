import { parseJson } from './json.ts';
import { CapturedMembers, type MarkedMember } from './json-captured-members.ts';
import { HOLDINGS_DEPTH_MAX, type HoldingRules, JsonHoldings } from './json-holdings.ts';
import type { LocatedPart } from './json-located.ts';
import { NumberReader, wholeNumberEnd } from './json-number.ts';
import { type JsonKind, JsonSyntaxError, KINDS } from './json-scan.ts';
import { isEscapeLetter, isHexDigit, PlainTexts, wholeEscapeEnd } from './json-string.ts';
import type { MemberNames } from './member-names.ts';

/**
 * Parses a JSON text in chunks, which may be split anywhere: validates it (RFC 8259) and keeps a few small members of its outermost object.
 * It is for responses of hundreds of megabytes that are relayed as they arrive. It reports the same errors at the same offsets as
 * `scanJson`, which needs the complete text.
 *
 * Memory: at most twice the kept bytes, and a number per open container. UTF-8 is not checked. `bench/json-scan.ts` compares the two.
 */
export interface JsonCaptureOptions {
  /** Names of members of the outermost object whose values are kept as bytes. */
  readonly keep: readonly string[];
  /** A member whose value is kept if it is marked and has at most `MARKED_BYTES_MAX` bytes. */
  readonly keepMarked?: MarkedMember | undefined;
  /** Names of members of the outermost object whose items are counted if their values are arrays. */
  readonly count?: readonly string[];
  /** Name of a member of the outermost object. `takeLocated` tells where its string values are. */
  readonly locate?: string | undefined;
  /** Names that are counted in the outermost object and in items of its members. Their values can have any size. */
  readonly holding?: HoldingRules | undefined;
  /** Maximum size of all values of `keep` together. A value that would exceed it is dropped. */
  readonly keptBytesMax: number;
  /** Maximum depth; deeper nesting is an error. */
  readonly depthMax?: number;
}

// Each JSON parser declares its own constants: comparisons with a constant of another file took up to a quarter longer.
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const NONE = -1;
/** Depth of an item in a member of the outermost object. */
const ITEM_DEPTH = 2;
/** Default of the maximum depth: twice the limit for requests, because a response may contain the request. */
const DEPTH_MAX = 512;
/** Positions relative to a mark (see `MarkedMember`): the next token is not the value of a mark, is this value, or is within it. */
const UNMARKED = 0;
const MARK_VALUE = 1;
const IN_MARK = 2;
const NO_BYTES = Buffer.alloc(0);

/** States between two tokens, named by what must follow. */
const EXPECT_VALUE = 0;
const EXPECT_ITEM_OR_END = 1;
const EXPECT_KEY = 2;
const EXPECT_KEY_OR_END = 3;
const EXPECT_COLON = 4;
const EXPECT_COMMA_OR_END = 5;
/** States within a token. */
const IN_STRING = 6;
const IN_NUMBER = 7;
const IN_LITERAL = 8;

/** What is missing of an escape: nothing, its letter, or a number of hexadecimal digits (1 to 4). */
const NO_ESCAPE = 0;
const ESCAPE_LETTER = 5;

export class JsonCapture {
  readonly #depthMax: number;
  readonly #members: CapturedMembers;
  readonly #holdings: JsonHoldings | null;
  /** Greatest depth at which keys and ends of values are reported. */
  readonly #outerDepth: number;

  #rootKind: JsonKind | null = null;
  #state = EXPECT_VALUE;
  #offset = 0;
  #failure: JsonSyntaxError | null = null;

  /** Closing byte of the innermost open container; 0 if none is open. The stack has those of the containers around it. */
  #closing = 0;
  readonly #outerClosings: number[] = [];
  #depth = 0;

  #marks: MemberNames | null = null;
  #mark = UNMARKED;

  #isKey = false;
  #stringStart = 0;
  #escape = NO_ESCAPE;
  readonly #number = new NumberReader();
  #word = '';
  #wordRead = 0;

  readonly #plainTexts = new PlainTexts();

  constructor(options: JsonCaptureOptions) {
    const { holding, depthMax = DEPTH_MAX } = options;
    this.#members = new CapturedMembers(options);
    this.#holdings = holding === undefined ? null : new JsonHoldings(holding);
    this.#outerDepth = holding === undefined ? 1 : HOLDINGS_DEPTH_MAX;
    this.#depthMax = depthMax;
  }

  /** Kind of the outermost value; `null` before its first byte. */
  get rootKind(): JsonKind | null {
    return this.#rootKind;
  }

  /** Drops the value that is only kept because of its mark, and keeps no such value any more. */
  giveUpMarked(): void {
    this.#members.giveUpMarked();
  }

  /** Whether a mark was found so far. `key` must be the name in `keepMarked`. */
  isMarked(key: string): boolean {
    return this.#members.isMarked(key);
  }

  get memoryBytes(): number {
    return this.#members.memoryBytes;
  }

  /** Returns the bytes of the last complete member with this name; `undefined` if it is absent or not kept. */
  value(key: string): Buffer | undefined {
    return this.#members.value(key);
  }

  member(key: string): unknown {
    const value = this.value(key);
    return value === undefined ? undefined : parseJson(value.toString('utf8'));
  }

  /** Returns where string values of the member `locate` are in the last chunk. Call this after each chunk. */
  takeLocated(): readonly LocatedPart[] {
    return this.#members.located?.take() ?? [];
  }

  /** Returns the number of items so far in the last member with this name; `null` if it is absent, no array, or not counted. */
  count(key: string): number | null {
    return this.#members.count(key);
  }

  /** Returns the number of items so far that have a name of the group. The option `holding` defines groups. */
  holding(group: string): number {
    return this.#holdings?.count(group) ?? 0;
  }

  /**
   * Reads a chunk. @throws JsonSyntaxError at the first byte that cannot be JSON, and again in later calls. Its offset is the beginning of
   * an invalid string, literal or escape, otherwise that byte.
   */
  push(chunk: Buffer): void {
    if (this.#failure !== null) throw this.#failure;
    this.#read(chunk);
    this.#plainTexts.letGo();
    this.#members.carry(chunk);
    this.#holdings?.carry(chunk);
    this.#offset += chunk.length;
  }

  /** Ends the text. @throws JsonSyntaxError if it is incomplete, or if `push` has thrown */
  end(): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#state === IN_NUMBER && this.#number.isWhole) this.#valueEnds(NO_BYTES, 0);
    switch (this.#state) {
      case EXPECT_COMMA_OR_END:
        if (this.#depth === 0) return;
        throw this.#fail('the text ends too early', 0);
      case EXPECT_KEY:
      case EXPECT_KEY_OR_END:
        throw this.#fail('a string is expected here', 0);
      case EXPECT_COLON:
        throw this.#fail('a colon is expected here', 0);
      case IN_STRING:
        if (this.#escape !== NO_ESCAPE) throw this.#failEscape(0);
        throw this.#fail('a string does not end', this.#stringStart - this.#offset);
      case IN_NUMBER:
        throw this.#fail('a digit is expected here', 0);
      case IN_LITERAL:
        throw this.#fail('a value is expected here', -this.#wordRead);
      default:
        throw this.#fail(this.#rootKind === null ? 'the text is empty' : 'the text ends too early', 0);
    }
  }

  /** One loop with one switch: with a function call for each byte between values, small objects took half as long again. */
  #read(chunk: Buffer): void {
    const end = chunk.length;
    let at = 0;
    while (at < end) {
      const byte = chunk[at]!;
      if (byte <= 0x20 && this.#state < IN_STRING && isSpace(byte)) {
        at++;
        continue;
      }
      switch (this.#state) {
        case EXPECT_COMMA_OR_END:
          if (this.#depth === 0) throw this.#fail('there is more text after the end of the value', at);
          if (byte === this.#closing) {
            at = this.#close(chunk, at);
          } else {
            if (byte !== COMMA) throw this.#fail('a comma is expected here', at);
            this.#state = this.#closing === CLOSE_BRACE ? EXPECT_KEY : EXPECT_VALUE;
            at++;
          }
          break;
        case EXPECT_KEY_OR_END:
          at = byte === CLOSE_BRACE ? this.#close(chunk, at) : this.#key(chunk, at);
          break;
        case EXPECT_KEY:
          at = this.#key(chunk, at);
          break;
        case EXPECT_COLON:
          if (byte !== COLON) throw this.#fail('a colon is expected here', at);
          this.#state = EXPECT_VALUE;
          at++;
          break;
        case EXPECT_ITEM_OR_END:
          at = byte === CLOSE_BRACKET ? this.#close(chunk, at) : this.#value(chunk, at);
          break;
        case EXPECT_VALUE:
          at = this.#value(chunk, at);
          break;
        case IN_STRING:
          at = this.#string(chunk, at);
          break;
        case IN_NUMBER:
          at = this.#restOfNumber(chunk, at);
          break;
        default:
          at = this.#literal(chunk, at);
      }
    }
  }

  #key(chunk: Buffer, at: number): number {
    if (chunk[at] !== QUOTE) throw this.#fail('a string is expected here', at);
    this.#isKey = true;
    if (this.#mark === IN_MARK) this.#marked();
    if (this.#depth <= this.#outerDepth) this.#outerKeyBegins(at);
    this.#stringStart = this.#offset + at;
    this.#state = IN_STRING;
    return this.#string(chunk, at + 1);
  }

  #value(chunk: Buffer, at: number): number {
    const byte = chunk[at]!;
    if (this.#mark === IN_MARK) this.#marked();
    else if (this.#mark === MARK_VALUE && byte === QUOTE) this.#marked();
    else if (this.#mark === MARK_VALUE) this.#mark = byte === OPEN_BRACE || byte === OPEN_BRACKET ? IN_MARK : UNMARKED;
    if (this.#depth <= ITEM_DEPTH || this.#depth <= this.#outerDepth) this.#outerValueBegins(byte, at);
    switch (byte) {
      case QUOTE:
        this.#isKey = false;
        this.#stringStart = this.#offset + at;
        this.#state = IN_STRING;
        return this.#string(chunk, at + 1);
      case OPEN_BRACE:
        return this.#open(CLOSE_BRACE, EXPECT_KEY_OR_END, at);
      case OPEN_BRACKET:
        return this.#open(CLOSE_BRACKET, EXPECT_ITEM_OR_END, at);
      case 0x74:
        return this.#literalBegins('true', chunk, at);
      case 0x66:
        return this.#literalBegins('false', chunk, at);
      case 0x6e:
        return this.#literalBegins('null', chunk, at);
      default:
        if (KINDS[byte] === null) throw this.#fail('a value is expected here', at);
    }
    const numbersEnd = this.#wholeNumbers(chunk, at);
    if (numbersEnd !== NONE) {
      this.#valueEnds(chunk, numbersEnd);
      return numbersEnd;
    }
    this.#number.begin(byte);
    this.#state = IN_NUMBER;
    return at + 1;
  }

  #open(closing: number, state: number, at: number): number {
    if (this.#depth >= this.#depthMax) throw this.#fail(`the value is nested deeper than ${this.#depthMax} levels`, at);
    this.#outerClosings.push(this.#closing);
    this.#closing = closing;
    this.#depth++;
    this.#state = state;
    return at + 1;
  }

  #close(chunk: Buffer, at: number): number {
    this.#closing = this.#outerClosings.pop()!;
    this.#depth--;
    this.#mark = UNMARKED;
    this.#valueEnds(chunk, at + 1);
    return at + 1;
  }

  #marked(): void {
    this.#mark = UNMARKED;
    this.#members.marked();
  }

  /** Checks a key that began in an earlier chunk against the marks. */
  #markKey(marks: MemberNames, chunk: Buffer, at: number): void {
    const start = this.#stringStart + 1 - this.#offset;
    if (start < 0 || marks.find(chunk, start, at) !== NONE) this.#mark = MARK_VALUE;
  }

  #string(chunk: Buffer, start: number): number {
    const end = chunk.length;
    let at = this.#escape === NO_ESCAPE ? start : this.#restOfEscape(chunk, start);
    while (at < end) {
      at = this.#plainTexts.endFrom(chunk, at);
      if (at === end) break;
      const byte = chunk[at]!;
      if (byte === QUOTE) {
        this.#stringEnds(chunk, at);
        return at + 1;
      }
      if (byte !== BACKSLASH) throw this.#fail('a string contains an unescaped control character', at);
      const escapeEnd = wholeEscapeEnd(chunk, at);
      if (escapeEnd === NONE) {
        this.#escape = ESCAPE_LETTER;
        at = this.#restOfEscape(chunk, at + 1);
      } else {
        at = escapeEnd;
      }
    }
    return at;
  }

  #restOfEscape(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length && this.#escape !== NO_ESCAPE) {
      const byte = chunk[at]!;
      if (this.#escape !== ESCAPE_LETTER) {
        if (!isHexDigit(byte)) throw this.#failEscape(at);
        this.#escape--;
      } else if (byte === 0x75) {
        this.#escape = 4;
      } else {
        if (!isEscapeLetter(byte)) throw this.#failEscape(at);
        this.#escape = NO_ESCAPE;
      }
      at++;
    }
    return at;
  }

  #stringEnds(chunk: Buffer, at: number): void {
    if (!this.#isKey) {
      this.#valueEnds(chunk, at + 1);
      return;
    }
    this.#state = EXPECT_COLON;
    if (this.#marks !== null) this.#markKey(this.#marks, chunk, at);
    if (this.#depth <= this.#outerDepth) this.#outerKeyEnds(chunk, at);
  }

  /** Reads a number and, in an array, further numbers after it. Returns `NONE` if a number may continue in the next chunk. */
  #wholeNumbers(chunk: Buffer, start: number): number {
    let end = wholeNumberEnd(chunk, start);
    if (end === NONE || this.#closing !== CLOSE_BRACKET) return end;
    while (chunk[end] === COMMA) {
      const next = wholeNumberEnd(chunk, skipSpace(chunk, end + 1));
      if (next === NONE) break;
      if (this.#depth === 2) this.#members.itemBegins();
      end = next;
    }
    return end;
  }

  #restOfNumber(chunk: Buffer, start: number): number {
    const at = this.#number.read(chunk, start);
    if (at === chunk.length) return at;
    if (!this.#number.isWhole) throw this.#fail('a digit is expected here', at);
    this.#valueEnds(chunk, at);
    return at;
  }

  #literalBegins(word: string, chunk: Buffer, at: number): number {
    this.#word = word;
    this.#wordRead = 1;
    this.#state = IN_LITERAL;
    return this.#literal(chunk, at + 1);
  }

  #literal(chunk: Buffer, start: number): number {
    const word = this.#word;
    let at = start;
    while (at < chunk.length && this.#wordRead < word.length) {
      if (chunk[at] !== word.charCodeAt(this.#wordRead)) {
        throw this.#fail('a value is expected here', at - this.#wordRead);
      }
      this.#wordRead++;
      at++;
    }
    if (this.#wordRead === word.length) this.#valueEnds(chunk, at);
    return at;
  }

  #outerKeyBegins(at: number): void {
    if (this.#depth === 1) this.#members.keyBegins(at);
    this.#holdings?.keyBegins(at);
  }

  #outerKeyEnds(chunk: Buffer, at: number): void {
    const start = this.#stringStart + 1 - this.#offset;
    if (this.#depth === 1) this.#members.keyEnds(chunk, start, at);
    this.#holdings?.keyEnds(this.#depth, chunk, start, at);
  }

  /** Called at the beginning of the outermost value, of a member, of an item of a member, or of a value in an item. */
  #outerValueBegins(byte: number, at: number): void {
    if (this.#depth === 0) this.#rootKind = KINDS[byte]!;
    else if (this.#depth === 1) {
      this.#members.valueBegins(byte, at);
      this.#marks = this.#members.marks;
    } else if (this.#depth === ITEM_DEPTH) this.#members.itemBegins();
    this.#holdings?.valueBegins(this.#depth, byte, this.#offset + at);
  }

  #valueEnds(chunk: Buffer, at: number): void {
    this.#state = EXPECT_COMMA_OR_END;
    if (this.#depth <= this.#outerDepth) this.#outerValueEnds(chunk, at);
  }

  #outerValueEnds(chunk: Buffer, at: number): void {
    if (this.#depth === 1) {
      this.#members.valueEnds(chunk, at);
      this.#marks = null;
    }
    this.#holdings?.valueEnds(this.#depth, this.#offset + at);
  }

  /** @param at offset in this chunk; negative if it is in an earlier chunk */
  #fail(message: string, at: number): JsonSyntaxError {
    this.#plainTexts.letGo();
    this.#members.letGo();
    this.#holdings?.letGo();
    this.#failure = new JsonSyntaxError(message, this.#offset + at);
    return this.#failure;
  }

  #failEscape(at: number): JsonSyntaxError {
    if (this.#escape === ESCAPE_LETTER) return this.#fail('an escape sequence is unknown', at - 1);
    return this.#fail('\\u is not followed by four hexadecimal digits', at - 6 + this.#escape);
  }
}

function skipSpace(chunk: Buffer, start: number): number {
  let at = start;
  while (at < chunk.length && isSpace(chunk[at]!)) at++;
  return at;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
