import { NamedError } from '../named-error.ts';
import { wholeNumberEnd } from './json-number.ts';
import { decodeString, isEscapeLetter, isHexDigit, SPECIAL_BYTES, skipPlain } from './json-string.ts';

/**
 * Reads a JSON text as bytes: checks it against RFC 8259 from the first byte to the last, and reports where the members
 * of its outermost object stand, without building a single value. A gateway that passes bodies through byte for byte
 * needs to know that the body is JSON and where two or three fields are, nothing more.
 *
 * One pass, no recursion, memory for the member list only. On 4 MiB of chat messages it takes less time than
 * `JSON.parse` and leaves nothing to collect: `bench/json-scan.ts`.
 */
export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'true' | 'false' | 'null';

/** One member of the outermost object. Offsets are in bytes: `bytes.subarray(valueStart, valueEnd)` is the value. */
export interface JsonMember {
  /** The key with its escapes resolved: two spellings of one key are one key. */
  readonly key: string;
  readonly kind: JsonKind;
  readonly valueStart: number;
  readonly valueEnd: number;
}

export interface JsonOutline {
  readonly kind: JsonKind;
  /** Where the outermost value begins and ends; around it stands white space only. */
  readonly start: number;
  readonly end: number;
  /** In the order of the text, duplicates included; empty unless the outermost value is an object. */
  readonly members: readonly JsonMember[];
  /** Where values of more than `LONG_BYTES` begin and end, by their beginnings; readers pass them in a step (`JsonReader`). */
  readonly longValues: readonly number[];
}

/** The text is not JSON, or beyond a limit. `offset` is the byte at which that became clear. */
export class JsonSyntaxError extends NamedError {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** The text may be JSON, and is beyond one of the limits that `JsonScanLimits` explains. */
export class JsonLimitError extends JsonSyntaxError {}

/** The scan took more steps than `JsonScanLimits.stepsMax`. That says nothing against the text. */
export class JsonStepsError extends NamedError {
  constructor(stepsMax: number) {
    super(`the scan of the text takes more than ${stepsMax} steps`);
  }
}

export interface JsonScanLimits {
  /** Deeper nesting is refused: no client needs it, and recursive readers further on would overflow. */
  readonly depthMax: number;
  /**
   * More values in the whole text are refused: objects, arrays, strings, numbers and words, at any depth. A parser
   * needs up to 400 bytes for each, and an engine whose heap overflows while it parses ends the process.
   */
  readonly valuesMax: number;
  /** More members in the outermost object than this are refused, which bounds the memory of the outline. */
  readonly membersMax: number;
  /**
   * An escape is a step, a value is four of them, a long key one for each 8 bytes; absent: as many as there are. They are what makes a text
   * slow to read, what stands between them is gone over by words. So this bounds the time of whoever tries to read a text of bounded
   * size.
   */
  readonly stepsMax?: number;
}

/**
 * Beyond what honest clients send. The most values come with embeddings of token ids: vendors take 300,000 tokens a
 * request. The longest conversations of agents have some ten thousand, and schemas of tools are some twenty levels
 * deep.
 */
export const defaultJsonScanLimits: JsonScanLimits = { depthMax: 256, valuesMax: 2 ** 20, membersMax: 10_000 };

/** What is then read of a value takes so much longer than to go over an escape. */
const VALUE_STEPS = 4;
/** 8 bytes of a key, which readers compare byte by byte, take as long as an escape; those of a short key belong to its value. */
const KEY_STEP_BYTES = 8;
const SHORT_KEY_BYTES = 64;

/** The bytes of a string that are read one by one before reading by words pays. */
const SHORT_BYTES = 32;

/** The bytes of a value that a reader goes over in about the time that it takes to look up its end. */
const LONG_BYTES = 32;
/** The ends of further ones are not noted, which bounds the memory for them. */
const LONG_PLACES_MAX = 2 ** 17;

/** Under a name of this file: a loop that reads one of another file takes longer. */
const SPECIAL = SPECIAL_BYTES;

const FIRSTS: Readonly<Record<string, JsonKind>> = {
  '{': 'object',
  '[': 'array',
  '"': 'string',
  t: 'true',
  f: 'false',
  n: 'null',
};

const NONE = -1;
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/**
 * Scans `bytes[start, end)`, which must be exactly one JSON value.
 *
 * @throws JsonSyntaxError if it does not, JsonStepsError if that takes longer than it may. UTF-8 is not checked here: `buffer.isUtf8` does that faster.
 */
export function scanJson(
  bytes: Buffer,
  start = 0,
  end = bytes.length,
  limits: JsonScanLimits = defaultJsonScanLimits,
): JsonOutline {
  return new JsonScanner(bytes, end, limits).outline(start);
}

class JsonScanner {
  /** Up to the end of the text. */
  readonly #bytes: Buffer;
  readonly #end: number;
  /** The same in words, for reading long strings; they begin at `#firstWord`. */
  #words: Int32Array | null = null;
  #firstWord = 0;
  readonly #limits: JsonScanLimits;
  /** Values that have begun so far. */
  #values = 0;
  /** Those that values do not take. */
  #steps = 0;
  readonly #stepsMax: number;
  readonly #longValues: number[] = [];
  /** Where the ends of the containers that are open go in the long values, innermost last. */
  readonly #places: number[] = [];

  constructor(bytes: Buffer, end: number, limits: JsonScanLimits) {
    this.#bytes = end === bytes.length ? bytes : bytes.subarray(0, end);
    this.#end = end;
    this.#limits = limits;
    this.#stepsMax = limits.stepsMax ?? Number.MAX_SAFE_INTEGER;
  }

  outline(from: number): JsonOutline {
    const start = this.#skipSpace(from);
    if (start >= this.#end) throw new JsonSyntaxError('the text is empty', start);
    const members: JsonMember[] = [];
    const isObject = this.#bytes[start] === OPEN_BRACE;
    const end = isObject ? this.#members(start, members) : this.#value(start, 0);
    const kind = KINDS[this.#bytes[start]!]!;
    const after = this.#skipSpace(end);
    if (after < this.#end) throw new JsonSyntaxError('there is more text after the end of the value', after);
    return { kind, start, end, members, longValues: this.#longValues };
  }

  /** Reads the outermost object, noting its members. */
  #members(start: number, members: JsonMember[]): number {
    const bytes = this.#bytes;
    this.#values++;
    let at = this.#skipSpace(start + 1);
    if (bytes[at] === CLOSE_BRACE && at < this.#end) return at + 1;
    for (;;) {
      if (members.length >= this.#limits.membersMax) {
        throw new JsonLimitError(`the object has more than ${this.#limits.membersMax} members`, at);
      }
      const keyStart = at;
      const keyEnd = this.#key(at);
      const valueStart = this.#afterColon(keyEnd);
      const valueEnd = this.#value(valueStart, 1);
      const kind = KINDS[bytes[valueStart]!]!;
      members.push({ key: decodeString(bytes, keyStart + 1, keyEnd - 1), kind, valueStart, valueEnd });
      at = bytes[valueEnd]! <= SPACE ? this.#skipSpace(valueEnd) : valueEnd;
      if (at < this.#end && bytes[at] === CLOSE_BRACE) return at + 1;
      at = this.#afterComma(at);
    }
  }

  /**
   * Reads one value of any kind and depth inside `outerDepth` containers, and returns if it ends. Iterative: depth
   * costs a byte, not a frame.
   */
  #value(start: number, outerDepth: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    /** Closing bytes of the containers that are open, innermost last. */
    const open: number[] = [];
    const places = this.#places;
    const long = this.#longValues;
    const { depthMax, valuesMax } = this.#limits;
    const most = Math.min(valuesMax, this.#stepsMax / VALUE_STEPS);
    let values = this.#values;
    let at = start;
    for (;;) {
      if (++values > valuesMax) throw new JsonLimitError(`the text has more than ${valuesMax} values`, at);
      if (VALUE_STEPS * values + this.#steps > this.#stepsMax) throw new JsonStepsError(this.#stepsMax);
      const byte = at < end ? bytes[at] : -1;
      if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (outerDepth + open.length >= depthMax) {
          throw new JsonLimitError(`the value is nested deeper than ${depthMax} levels`, at);
        }
        const closing = byte === OPEN_BRACE ? CLOSE_BRACE : CLOSE_BRACKET;
        const begin = at;
        at++;
        if (bytes[at]! <= SPACE) at = this.#skipSpace(at);
        if (at < end && bytes[at] === closing) {
          at++;
        } else {
          open.push(closing);
          places.push(long.length < LONG_PLACES_MAX ? long.push(begin, NONE) - 1 : NONE);
          if (closing === CLOSE_BRACE) at = this.#afterColon(this.#key(at));
          continue;
        }
      } else {
        const begin = at;
        at = this.#scalar(at);
        if (at - begin > LONG_BYTES && long.length < LONG_PLACES_MAX) long.push(begin, at);
      }
      // A value has ended: close what closes here, or go on to the next value of the innermost container.
      for (;;) {
        const closing = open[open.length - 1];
        if (closing === undefined) {
          this.#values = values;
          return at;
        }
        if (bytes[at]! <= SPACE) at = this.#skipSpace(at);
        if (at < end && bytes[at] === closing) {
          open.pop();
          at++;
          const place = places.pop()!;
          if (place !== NONE) {
            long[place] = at;
            // No long value stands in a short one.
            if (at - long[place - 1]! <= LONG_BYTES) long.length -= 2;
          }
          continue;
        }
        at = this.#afterComma(at);
        if (closing === CLOSE_BRACE) {
          at = this.#afterColon(this.#key(at));
        } else {
          // Vectors and token ids: a number that another one follows. The last one is read like any other value.
          let next = wholeNumberEnd(bytes, at);
          while (next !== NONE && bytes[next] === COMMA && values < most) {
            values++;
            at = bytes[next + 1]! <= SPACE ? this.#skipSpace(next + 1) : next + 1;
            next = wholeNumberEnd(bytes, at);
          }
        }
        break;
      }
    }
  }

  #key(start: number): number {
    const end = this.#string(start);
    if (end - start > SHORT_KEY_BYTES) this.#steps += Math.ceil((end - start) / KEY_STEP_BYTES);
    return end;
  }

  #scalar(at: number): number {
    switch (at < this.#end ? KINDS[this.#bytes[at]!] : null) {
      case 'string':
        return this.#string(at);
      case 'number': {
        const end = wholeNumberEnd(this.#bytes, at);
        return end === NONE ? this.#number(at) : end;
      }
      case 'true':
        return this.#literal(at, 'true');
      case 'false':
        return this.#literal(at, 'false');
      case 'null':
        return this.#literal(at, 'null');
      default:
        throw new JsonSyntaxError(at < this.#end ? 'a value is expected here' : 'the text ends too early', at);
    }
  }

  #string(start: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    if (start >= end || bytes[start] !== QUOTE) throw new JsonSyntaxError('a string is expected here', start);
    let at = start + 1;
    while (at < end) {
      const near = Math.min(end, at + SHORT_BYTES);
      while (at < near && SPECIAL[bytes[at]!] === 0) at++;
      if (at === near && at < end) at = this.#skipPlain(at);
      if (at === end) break;
      const byte = bytes[at]!;
      if (byte === QUOTE) return at + 1;
      if (byte !== BACKSLASH) throw new JsonSyntaxError('a control character stands unescaped in a string', at);
      at = this.#escape(at);
    }
    throw new JsonSyntaxError('a string does not end', start);
  }

  /** Where from `start` on the first byte stands that is not plain text of a string, or the end. */
  #skipPlain(start: number): number {
    const bytes = this.#bytes;
    if (this.#words === null) {
      this.#firstWord = -bytes.byteOffset & 3;
      const words = Math.max(0, (bytes.length - this.#firstWord) >> 2);
      this.#words = new Int32Array(bytes.buffer, words === 0 ? 0 : bytes.byteOffset + this.#firstWord, words);
    }
    return skipPlain(bytes, this.#words, this.#firstWord, start);
  }

  #escape(start: number): number {
    if (++this.#steps > this.#stepsMax) throw new JsonStepsError(this.#stepsMax);
    const byte = start + 1 < this.#end ? this.#bytes[start + 1]! : -1;
    if (isEscapeLetter(byte)) return start + 2;
    if (byte !== 0x75) throw new JsonSyntaxError('an escape sequence is unknown', start);
    for (let at = start + 2; at < start + 6; at++) {
      if (at >= this.#end || !isHexDigit(this.#bytes[at]!)) {
        throw new JsonSyntaxError('\\u is not followed by four hexadecimal digits', start);
      }
    }
    return start + 6;
  }

  #number(start: number): number {
    const bytes = this.#bytes;
    let at = start;
    if (bytes[at] === 0x2d) at++;
    if (at < this.#end && bytes[at] === 0x30) {
      at++;
    } else {
      at = this.#digits(at);
    }
    if (at < this.#end && bytes[at] === 0x2e) at = this.#digits(at + 1);
    if (at < this.#end && (bytes[at] === 0x65 || bytes[at] === 0x45)) {
      at++;
      if (at < this.#end && (bytes[at] === 0x2b || bytes[at] === 0x2d)) at++;
      at = this.#digits(at);
    }
    return at;
  }

  #digits(start: number): number {
    let at = start;
    while (at < this.#end && this.#bytes[at]! >= 0x30 && this.#bytes[at]! <= 0x39) at++;
    if (at === start) throw new JsonSyntaxError('a digit is expected here', at);
    return at;
  }

  #literal(start: number, word: string): number {
    for (let i = 0; i < word.length; i++) {
      if (start + i >= this.#end || this.#bytes[start + i] !== word.charCodeAt(i)) {
        throw new JsonSyntaxError('a value is expected here', start);
      }
    }
    return start + word.length;
  }

  #afterColon(from: number): number {
    const bytes = this.#bytes;
    const at = bytes[from]! <= SPACE ? this.#skipSpace(from) : from;
    if (bytes[at] !== COLON) throw new JsonSyntaxError('a colon is expected here', at);
    return bytes[at + 1]! <= SPACE ? this.#skipSpace(at + 1) : at + 1;
  }

  #afterComma(at: number): number {
    const bytes = this.#bytes;
    if (at >= this.#end) throw new JsonSyntaxError('the text ends too early', at);
    if (bytes[at] !== COMMA) throw new JsonSyntaxError('a comma is expected here', at);
    return bytes[at + 1]! <= SPACE ? this.#skipSpace(at + 1) : at + 1;
  }

  #skipSpace(from: number): number {
    const bytes = this.#bytes;
    let at = from;
    while (at < this.#end) {
      const byte = bytes[at]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at++;
    }
    return at;
  }
}

/** The kind of the value that begins with a byte; `null` if none does. */
export const KINDS: readonly (JsonKind | null)[] = Array.from({ length: 256 }, (_, byte) => {
  const first = String.fromCharCode(byte);
  if (/[-\d]/.test(first)) return 'number';
  return FIRSTS[first] ?? null;
});
