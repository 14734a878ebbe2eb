import { BytePatterns } from '../../lib/byte-patterns.ts';
import { DataRuns } from './data-runs.ts';

/**
 * Sizes instead of counts, if no count exists: for output that a provider did not report, and for the prompt of an
 * image edit. By size and not by tokenizer, because the text of every stream is measured.
 */

/** English runs at 4 to 5 bytes a token, code and JSON at 3 to 5, Chinese at 4 (UTF-8). */
const BYTES_PER_TOKEN = 4;
/** Encrypted reasoning is base64 of about as many bytes as its text has. */
const OPAQUE_SHARE = 3 / 4;

export function estimateTokens(sizeBytes: number): number {
  return Math.ceil(sizeBytes / BYTES_PER_TOKEN);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_U = 0x75;
const LETTER_A = 0x61;
const LETTER_D = 0x64;
const LETTER_F = 0x66;
const LOWER_CASE = 0x20;
const ZERO = 0x30;
const EIGHT = 0x38;
const NINE = 0x39;
const LF = 0x0a;
const CR = 0x0d;
/** How a further line of an event's data begins. */
const DATA = Buffer.from('data:');

/** The patterns under which a protocol streams text, such as `"content":`, as bytes. */
export function textKeys(...names: readonly string[]): readonly Buffer[] {
  return names.map((name) => Buffer.from(`"${name}"`));
}

/**
 * Finds the string values that stand under any of the keys, by byte search, without parsing, and calls `take` with the index of the key
 * and the offsets of the text. A key inside a string has its quotes escaped, so it does not match.
 */
function eachText(bytes: Buffer, keys: BytePatterns, take: (key: number, start: number, end: number) => void): void {
  /** Behind each key, or behind its text: it is not looked for within them. */
  const ends: number[] = [];
  keys.each(bytes, (key, keyEnd) => {
    if (keyEnd - keys.sizeOf(key) < (ends[key] ?? 0)) return;
    ends[key] = keyEnd;
    const value = valueStart(bytes, keyEnd);
    if (bytes[value] !== QUOTE) return;
    const end = stringEnd(bytes, value + 1);
    ends[key] = end;
    take(key, value + 1, end);
  });
}

/**
 * The offset of the value of a key that ends at `keyEnd`; -1 if no colon follows, so that it is no key. In a stream
 * the data of an event may go on in another line between any two tokens; the prefix of such a line is no token.
 */
export function valueStart(bytes: Buffer, keyEnd: number): number {
  const colon = skipSpace(bytes, keyEnd);
  return bytes[colon] === COLON ? skipSpace(bytes, colon + 1) : -1;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  for (;;) {
    while (at < bytes.length && bytes[at]! <= SPACE) at++;
    if (at === from || !isFurtherData(bytes, at)) return at;
    at += DATA.length;
  }
}

function isFurtherData(bytes: Buffer, at: number): boolean {
  if (bytes[at - 1] !== LF && bytes[at - 1] !== CR) return false;
  return bytes.length - at >= DATA.length && DATA.compare(bytes, at, at + DATA.length) === 0;
}

/**
 * The offset of what ends the string: its quote, the end of the bytes, or the end of a line, which no string of JSON holds. Events come
 * side by side, and what is broken in one of them may not take the next one for its text.
 */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && !endsString(bytes[at]!)) at += bytes[at] === BACKSLASH ? 2 : 1;
  return Math.min(at, bytes.length);
}

const endsString = (byte: number): boolean => byte === QUOTE || byte === LF || byte === CR;

/**
 * The bytes of UTF-8 that a text within a string stands for: some vendors escape everything that is not ASCII, which would double the
 * estimate of Chinese. Half an escape at the end is not counted.
 */
function decodedSize(bytes: Buffer, start: number, end: number): number {
  let at = bytes.indexOf(BACKSLASH, start);
  if (at === -1 || at >= end) return end - start;
  let size = at - start;
  while (at < end) {
    const length = bytes[at] === BACKSLASH ? escapeLength(bytes, at) : 1;
    if (at + length <= end) size += length === UNICODE_ESCAPE ? utf8Size(bytes, at + 2) : 1;
    at += length;
  }
  return size;
}

const UNICODE_ESCAPE = 6;

/** The length of an escape, which may reach beyond the end of the text that has come. What stands behind a text decides too. */
function escapeLength(bytes: Buffer, at: number): number {
  if (bytes[at + 1] !== LETTER_U) return 2;
  for (let i = at + 2; i < Math.min(at + UNICODE_ESCAPE, bytes.length); i++) if (!isHexDigit(bytes[i]!)) return 2;
  return UNICODE_ESCAPE;
}

function isHexDigit(byte: number): boolean {
  return (byte >= ZERO && byte <= NINE) || ((byte | LOWER_CASE) >= LETTER_A && (byte | LOWER_CASE) <= LETTER_F);
}

/** By the code of a character in four hexadecimal digits; each half of a pair counts half of its four bytes. */
function utf8Size(bytes: Buffer, at: number): number {
  const isTwoBytes = bytes[at] === ZERO && bytes[at + 1]! < EIGHT;
  if (isTwoBytes) return bytes[at + 1] === ZERO && bytes[at + 2]! < EIGHT ? 1 : 2;
  const isHalf = (bytes[at]! | LOWER_CASE) === LETTER_D && bytes[at + 1]! >= EIGHT;
  return isHalf ? 2 : 3;
}

/** A key under which a protocol streams the model's reasoning; `isOpaque`: encrypted, in base64. */
export interface ReasoningKey {
  readonly key: Buffer;
  readonly isOpaque: boolean;
}

/**
 * The size of the text of one stream. Providers send the same reasoning under several keys, or encrypted beside a summary,
 * so of those the greatest counts.
 */
export class StreamedText {
  readonly #keys: readonly Buffer[];
  readonly #reasoningKeys: readonly ReasoningKey[];
  /** The keys of the text, and those of reasoning behind them. */
  readonly #patterns: BytePatterns;
  readonly #reasoningBytes: number[];
  #textBytes = 0;
  /** For each key of text. */
  readonly #runs: readonly DataRuns[];
  /** Count an event that comes in parts: one for the text, and one for each key of reasoning. */
  #parted: readonly PartedText[] | null = null;

  constructor(keys: readonly Buffer[], reasoningKeys: readonly ReasoningKey[]) {
    this.#keys = keys;
    this.#runs = keys.map(() => new DataRuns());
    this.#reasoningKeys = reasoningKeys;
    this.#reasoningBytes = reasoningKeys.map(() => 0);
    this.#patterns = patternsOf(keys, reasoningKeys);
  }

  /** The pictures that stand in the text as base64. */
  get pictures(): number {
    return this.#runs.reduce((sum, { pictures }) => sum + pictures, 0);
  }

  get sizeBytes(): number {
    return this.#textBytes + Math.max(this.#reasoning(false), Math.floor(this.#reasoning(true) * OPAQUE_SHARE));
  }

  /** Without what is encrypted. */
  get visibleBytes(): number {
    return this.#textBytes + this.#reasoning(false);
  }

  #reasoning(isOpaque: boolean): number {
    return Math.max(0, ...this.#reasoningBytes.filter((_, i) => this.#reasoningKeys[i]!.isOpaque === isOpaque));
  }

  /** Counts whole events. */
  add(events: Buffer): void {
    eachText(events, this.#patterns, (key, start, end) => {
      const sizeBytes = decodedSize(events, start, end);
      if (key < this.#keys.length) this.#textBytes += sizeBytes - this.#runs[key]!.dataIn(events, start, end);
      else this.#reasoningBytes[key - this.#keys.length]! += sizeBytes;
    });
  }

  /** Counts the next part of an event that is too large to be kept. */
  addPart(part: Buffer, isLast: boolean): void {
    this.#parted ??= [
      new PartedText(this.#keys, this.#runs),
      ...this.#reasoningKeys.map(({ key }) => new PartedText([key])),
    ];
    const [text, ...reasoning] = this.#parted;
    this.#textBytes += text!.count(part);
    for (const [i, counter] of reasoning.entries()) this.#reasoningBytes[i]! += counter.count(part);
    if (isLast) this.#parted = null;
  }
}

/** Protocols have the same keys for each stream. */
const patternsOfKeys = new WeakMap<readonly Buffer[], BytePatterns>();

function patternsOf(keys: readonly Buffer[], reasoningKeys: readonly ReasoningKey[]): BytePatterns {
  let patterns = patternsOfKeys.get(keys);
  if (patterns === undefined) {
    patterns = new BytePatterns([...keys, ...reasoningKeys.map(({ key }) => key)]);
    patternsOfKeys.set(keys, patterns);
  }
  return patterns;
}

/** Bytes between a key and its value; one that has more of them if a part ends is not counted. */
const KEY_GAP_BYTES_MAX = 1024;
const NO_BYTES = Buffer.alloc(0);

/** The size of the text of one event that is too large to be kept and comes in parts, cut anywhere. */
export class PartedText {
  readonly #keys: readonly PartedKey[];

  constructor(keys: readonly Buffer[], runs: readonly DataRuns[] = []) {
    this.#keys = keys.map((key, i) => new PartedKey(key, runs[i]));
  }

  /** Returns how much of the text has come with this part. Keeps back no more than may still become a key. */
  count(part: Buffer): number {
    let total = 0;
    for (const key of this.#keys) total += key.count(part);
    return total;
  }
}

class PartedKey {
  readonly #key: Buffer;
  readonly #runs: DataRuns | undefined;
  /** The last bytes of the part before, if a key may have begun in them or its value may follow. */
  #rest = NO_BYTES;
  #isInText = false;

  constructor(key: Buffer, runs: DataRuns | undefined) {
    this.#key = key;
    this.#runs = runs;
  }

  count(part: Buffer): number {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    this.#rest = NO_BYTES;
    let total = 0;
    let at = 0;
    while (at < bytes.length) {
      if (this.#isInText) {
        const end = this.#textEnd(bytes, at);
        total += decodedSize(bytes, at, end) - (this.#runs?.dataIn(bytes, at, end) ?? 0);
        at = this.#isInText ? bytes.length : end;
      } else {
        at = this.#textStart(bytes, at);
      }
    }
    return total;
  }

  /** The offset where a text begins, or of the end of the bytes; what is left undecided is kept for the next part. */
  #textStart(bytes: Buffer, from: number): number {
    for (let at = from; ; ) {
      const found = bytes.indexOf(this.#key, at);
      if (found === -1) {
        const quote = bytes.indexOf(QUOTE, Math.max(at, bytes.length - this.#key.length + 1));
        if (quote !== -1) this.#rest = Buffer.from(bytes.subarray(quote));
        return bytes.length;
      }
      at = found + this.#key.length;
      const value = valueStart(bytes, at);
      if (bytes[value] === QUOTE) {
        this.#isInText = true;
        return value + 1;
      }
      const next = value === -1 ? skipSpace(bytes, at) : value;
      const isDecided = next + DATA.length <= bytes.length || bytes.length - found > KEY_GAP_BYTES_MAX;
      if (!isDecided) {
        this.#rest = Buffer.from(bytes.subarray(found));
        return bytes.length;
      }
    }
  }

  /** As `stringEnd`; half an escape at the end of the bytes is kept for the next part. */
  #textEnd(bytes: Buffer, from: number): number {
    let at = from;
    let escapeStart = -1;
    while (at < bytes.length && !endsString(bytes[at]!)) {
      if (bytes[at] === BACKSLASH) escapeStart = at++;
      at++;
    }
    this.#isInText = at >= bytes.length;
    if (!this.#isInText || escapeStart === -1) return at;
    const isHalf = escapeStart + escapeLength(bytes, escapeStart) > bytes.length;
    if (!isHalf) return bytes.length;
    this.#rest = Buffer.from(bytes.subarray(escapeStart));
    return escapeStart;
  }
}
