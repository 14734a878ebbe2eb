import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * The o200k vocabulary: byte strings with ranks, which determine the order of merges. All entries are in one array, and a hash table with
 * open addressing finds them. This takes 5 MB that the garbage collector does not scan; the tables of `gpt-tokenizer` take 30 MB, and its
 * encoder takes quadratic time per piece.
 */
export class Vocabulary {
  readonly size: number;
  readonly entryBytesMax: number;
  /** Number of bytes hashed and compared. Tests use it to show that the work is linear. */
  steps = 0;
  readonly #bytes: Uint8Array;
  /** Start offset of each entry, and the end of the last one. */
  readonly #starts: Uint32Array;
  /** Rank + 1 in each slot of the hash table; 0: the slot is empty. */
  readonly #slots: Int32Array;
  /** Ranks of all pairs of bytes, with which every merge begins; NO_RANK: the vocabulary does not have the pair. */
  readonly #pairs: Int32Array;

  constructor(entries: Iterable<Uint8Array>) {
    const starts = [0];
    let bytes = new Uint8Array(2 ** 21);
    let sizeBytes = 0;
    let entryBytesMax = 0;
    for (const entry of entries) {
      if (sizeBytes + entry.length > bytes.length) bytes = grow(bytes);
      bytes.set(entry, sizeBytes);
      sizeBytes += entry.length;
      starts.push(sizeBytes);
      entryBytesMax = Math.max(entryBytesMax, entry.length);
    }
    this.size = starts.length - 1;
    this.entryBytesMax = entryBytesMax;
    this.#bytes = bytes;
    this.#starts = Uint32Array.from(starts);
    this.#slots = new Int32Array(2 ** Math.ceil(Math.log2(this.size * 2 + 1)));
    this.#pairs = new Int32Array(0x10000).fill(NO_RANK);
    for (let rank = 0; rank < this.size; rank++) this.#insert(rank);
  }

  rank(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > this.entryBytesMax) return NO_RANK;
    if (length === 2) {
      this.steps++;
      return this.#pairs[(bytes[start]! << 8) | bytes[start + 1]!]!;
    }
    this.steps += length;
    const mask = this.#slots.length - 1;
    let slot = hash(bytes, start, end) & mask;
    for (;;) {
      const rank = this.#slots[slot]! - 1;
      if (rank === -1) return NO_RANK;
      if (this.#isEntry(rank, bytes, start, length)) return rank;
      slot = (slot + 1) & mask;
    }
  }

  #insert(rank: number): void {
    const start = this.#starts[rank]!;
    const end = this.#starts[rank + 1]!;
    if (end - start === 2) this.#pairs[(this.#bytes[start]! << 8) | this.#bytes[start + 1]!] = rank;
    const mask = this.#slots.length - 1;
    let slot = hash(this.#bytes, start, end) & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = rank + 1;
  }

  #isEntry(rank: number, bytes: Uint8Array, start: number, length: number): boolean {
    const entryStart = this.#starts[rank]!;
    if (this.#starts[rank + 1]! - entryStart !== length) return false;
    for (let i = 0; i < length; i++) {
      if (this.#bytes[entryStart + i] !== bytes[start + i]) return false;
    }
    return true;
  }
}

export const NO_RANK = 0x7fff_ffff;

const SPACE = 0x20;
const NEWLINE = 0x0a;
const DIGIT_ZERO = 0x30;
/** Value of bytes that are not base64 digits, such as padding. */
const NO_DIGIT = 0xff;
const BASE64_DIGITS = new Uint8Array(256).fill(NO_DIGIT);
for (const [value, digit] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries()) {
  BASE64_DIGITS[digit.charCodeAt(0)] = value;
}

/** Reads the vocabulary. It blocks for about 100 ms, so only worker threads may call it. */
export function readVocabulary(): Vocabulary {
  return new Vocabulary(
    readEntries(readFileSync(fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken')))),
  );
}

/**
 * Parses lines that have an entry in base64, a space, and its rank, counted from 0. An entry is valid until the next one is requested. With
 * strings per line, this would take three times as long.
 */
function* readEntries(file: Uint8Array): Generator<Uint8Array> {
  const entry = new Uint8Array(file.length);
  let rank = 0;
  let at = 0;
  while (at < file.length) {
    let sizeBytes = 0;
    let bits = 0;
    let bitCount = 0;
    for (; file[at] !== SPACE && at < file.length; at++) {
      const digit = BASE64_DIGITS[file[at]!]!;
      if (digit === NO_DIGIT) continue;
      bits = ((bits << 6) | digit) & 0xffff;
      bitCount += 6;
      if (bitCount < 8) continue;
      bitCount -= 8;
      entry[sizeBytes++] = bits >>> bitCount;
    }
    let written = 0;
    for (at++; file[at] !== NEWLINE && at < file.length; at++) written = written * 10 + file[at]! - DIGIT_ZERO;
    if (written !== rank) throw new Error(`the vocabulary has rank ${written} where ${rank} is expected`);
    yield entry.subarray(0, sizeBytes);
    at++;
    rank++;
  }
}

function grow(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(bytes.length * 2);
  larger.set(bytes);
  return larger;
}

/** FNV-1a hash. Its high bits are mixed into the low bits, which select the slot. */
function hash(bytes: Uint8Array, start: number, end: number): number {
  let value = 0x811c9dc5;
  for (let at = start; at < end; at++) value = Math.imul(value ^ bytes[at]!, 0x01000193);
  return value ^ (value >>> 15);
}
