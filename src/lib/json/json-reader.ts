import { type JsonKind, KINDS } from './json-scan.ts';
import { decodeString } from './json-string.ts';

/**
 * Reads a text that is known to be JSON, from its first token to its last: the caller reads the members and items that it wants,
 * everything else is skipped and nothing is built. It costs time in proportion to the text, and memory for what the caller keeps; it does
 * not recurse on its own, so depth only costs a counter.
 */
export class JsonReader {
  readonly bytes: Buffer;
  #at: number;
  /** Where the last member or item begins that was come to: what still stands there was not read. */
  #valueStart = -1;
  #notedStart = -1;
  #notedEnd = -1;
  #notedLongIndex = 0;
  /** Where the key of the member stands whose value comes next, without its quotes. */
  keyStart = 0;
  keyEnd = 0;
  readonly #longValues: readonly number[];
  /** The first of them that does not begin before what is read, or one before that. */
  #longIndex: number;

  /**
   * @param start Where the value begins; white space before it is skipped.
   * @param longValues Those of the text, as `scanJson` found them: none of them is gone over to be skipped.
   */
  constructor(bytes: Buffer, start = 0, longValues: readonly number[] = NONE_LONG, longIndex = 0) {
    this.bytes = bytes;
    this.#at = start;
    this.#longValues = longValues;
    this.#longIndex = longIndex;
    this.#skipSpace();
  }

  /** The kind of the value that comes next. */
  get kind(): JsonKind {
    return KINDS[this.bytes[this.#at]!]!;
  }

  /** The offset of the value that comes next; behind a value, where that ends. */
  get offset(): number {
    return this.#at;
  }

  /** Whether the value that comes next is an empty string, array or object. */
  get isEmptyValue(): boolean {
    const { bytes } = this;
    let at = this.#at + 1;
    switch (bytes[this.#at]) {
      case QUOTE:
        return bytes[at] === QUOTE;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        while (bytes[at]! <= SPACE) at++;
        return bytes[at] === CLOSE_BRACE || bytes[at] === CLOSE_BRACKET;
      default:
        return false;
    }
  }

  /** Where the value that comes next ends, as another reader has found it: it need not be gone over to be skipped. */
  noteEnd(other: JsonReader): void {
    this.#notedStart = this.#at;
    this.#notedEnd = other.#at;
    this.#notedLongIndex = other.#longIndex;
  }

  /** A reader of the same text at the offset of another value. */
  from(offset: number): JsonReader {
    if (offset < this.#at) return new JsonReader(this.bytes, offset);
    return new JsonReader(this.bytes, offset, this.#longValues, this.#longIndex);
  }

  /** Into the object or array that comes next: `nextMember` or `nextItem` reads on until it has ended. */
  enter(): void {
    this.#at++;
  }

  /** On to the value of the next member, behind the one before, read or not; `false`, and behind the object, if there is none. */
  nextMember(): boolean {
    if (!this.nextItem()) return false;
    const { bytes } = this;
    this.keyStart = this.#at + 1;
    this.#skipString();
    this.keyEnd = this.#at - 1;
    if (bytes[this.#at]! <= SPACE) this.#skipSpace();
    this.#at++;
    if (bytes[this.#at]! <= SPACE) this.#skipSpace();
    this.#valueStart = this.#at;
    return true;
  }

  /** As `nextMember`, of an array. */
  nextItem(): boolean {
    const { bytes } = this;
    if (this.#at === this.#valueStart) this.skip();
    if (bytes[this.#at]! <= SPACE) this.#skipSpace();
    if (bytes[this.#at] === COMMA) {
      this.#at++;
      if (bytes[this.#at]! <= SPACE) this.#skipSpace();
    }
    const byte = bytes[this.#at];
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#at++;
      return false;
    }
    this.#valueStart = this.#at;
    return true;
  }

  /** The string that comes next; `null`, and the value skipped, if it is no string or has more bytes than the limit. */
  text(sizeBytesMax: number): string | null {
    const start = this.#at;
    const { kind } = this;
    this.skip();
    if (kind !== 'string' || this.#at - start - 2 > sizeBytesMax) return null;
    return decodeString(this.bytes, start + 1, this.#at - 1);
  }

  /** On to where the value ends. */
  skip(): void {
    const { bytes } = this;
    const end = this.#knownEnd();
    if (end !== NONE) {
      this.#at = end;
      return;
    }
    let depth = 0;
    do {
      switch (bytes[this.#at]) {
        case QUOTE:
          this.#skipString();
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          depth++;
          this.#at++;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          depth--;
          this.#at++;
          break;
        case COMMA:
        case COLON:
          this.#at++;
          break;
        default:
          if (bytes[this.#at]! <= SPACE) this.#at++;
          else this.#skipWord();
      }
    } while (depth > 0);
  }

  /** Where the value that comes next ends, if that is known; else `NONE`. */
  #knownEnd(): number {
    if (this.#at === this.#notedStart && this.#notedEnd > this.#at) {
      // Else every reader that begins behind it would go over the long values in it again.
      this.#longIndex = this.#notedLongIndex;
      return this.#notedEnd;
    }
    const longValues = this.#longValues;
    const { length } = longValues;
    let index = this.#longIndex;
    while (index < length && longValues[index]! < this.#at) index += 2;
    this.#longIndex = index;
    return index < length && longValues[index] === this.#at ? longValues[index + 1]! : NONE;
  }

  /** A number or a literal. */
  #skipWord(): void {
    const { bytes } = this;
    while (this.#at < bytes.length && ENDS_WORD[bytes[this.#at]!] === 0) this.#at++;
  }

  #skipString(): void {
    const { bytes } = this;
    let at = this.#at + 1;
    for (const near = at + SHORT_BYTES; at < near; at++) {
      if (bytes[at] === QUOTE) {
        this.#at = at + 1;
        return;
      }
      if (bytes[at] === BACKSLASH) at++;
    }
    // Found by search, not byte by byte: it may be an image.
    for (let from = at; ; ) {
      const quote = bytes.indexOf(QUOTE, from);
      let escapes = quote;
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
      from = quote + 1;
      if ((quote - escapes) % 2 === 0) {
        this.#at = from;
        return;
      }
    }
  }

  #skipSpace(): void {
    while (this.#at < this.bytes.length && this.bytes[this.#at]! <= SPACE) this.#at++;
  }
}

const NONE = -1;
const NONE_LONG: readonly number[] = [];
/** The bytes of a string that are read one by one before a search pays. */
const SHORT_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

/** What ends a number or a literal. */
const ENDS_WORD = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0,
);
