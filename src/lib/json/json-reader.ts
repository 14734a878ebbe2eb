import { type JsonKind, KINDS } from './json-scan.ts';
import { decodeString } from './json-string.ts';

/** Reads selected members and items of a valid JSON text, and skips all others without recursion. Takes linear time and no memory. */
export class JsonReader {
  readonly bytes: Buffer;
  #at: number;
  /** Offset of the current value. If the reader is still there, the value was not read. */
  #valueStart = -1;
  #notedStart = -1;
  #notedEnd = -1;
  #notedLongIndex = 0;
  /** Offsets of the current member's key, without its quotes. */
  keyStart = 0;
  keyEnd = 0;
  readonly #longValues: readonly number[];
  /** Lower bound for the index of the first long value that begins at the current offset or later. */
  #longIndex: number;

  /**
   * @param start offset of the value, or of white space before it
   * @param longValues the result of `scanJson`, to skip these values in one step
   */
  constructor(bytes: Buffer, start = 0, longValues: readonly number[] = NONE_LONG, longIndex = 0) {
    this.bytes = bytes;
    this.#at = start;
    this.#longValues = longValues;
    this.#longIndex = longIndex;
    this.#skipSpace();
  }

  get kind(): JsonKind {
    return KINDS[this.bytes[this.#at]!]!;
  }

  /** Offset of the next value, or the end of the value that was just read. */
  get offset(): number {
    return this.#at;
  }

  /** Whether the next value is an empty string, array or object. */
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

  /** Takes the end of the next value from another reader that has read it. The value is then skipped in one step. */
  noteEnd(other: JsonReader): void {
    this.#notedStart = this.#at;
    this.#notedEnd = other.#at;
    this.#notedLongIndex = other.#longIndex;
  }

  /** Creates a reader that begins at the offset of another value. */
  from(offset: number): JsonReader {
    if (offset < this.#at) return new JsonReader(this.bytes, offset);
    return new JsonReader(this.bytes, offset, this.#longValues, this.#longIndex);
  }

  /** Enters the next object or array. Then call `nextMember` or `nextItem` until it returns false. */
  enter(): void {
    this.#at++;
  }

  /** Moves to the value of the next member. At the end of the object, leaves the object and returns false. */
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

  /** Like `nextMember`, for an array. */
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

  /** Reads the next value if it is a string of at most this size; otherwise skips it and returns `null`. */
  text(sizeBytesMax: number): string | null {
    const start = this.#at;
    const { kind } = this;
    this.skip();
    if (kind !== 'string' || this.#at - start - 2 > sizeBytesMax) return null;
    return decodeString(this.bytes, start + 1, this.#at - 1);
  }

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

  /** Returns the end of the next value if it is known; otherwise `NONE`. */
  #knownEnd(): number {
    if (this.#at === this.#notedStart && this.#notedEnd > this.#at) {
      // Skips the long values within this value, so that readers which begin after it need not step over them.
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
    // The string may be an image, so a search is faster than a loop over its bytes.
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
/** Up to this many bytes of a string are read one by one; for longer strings, a search is faster. */
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

/** For each byte value: 1 if it ends a number or a literal. */
const ENDS_WORD = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0,
);
