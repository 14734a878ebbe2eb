import { CHUNK_BYTES_MIN } from './data-runs.ts';
import { decodedSize } from './estimate.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

const KEPT_BYTES_MAX = 4_096;
/** Maximum number of different events in a row. After them, no further events are compared. */
const MISSES_MAX = 8;

/** Kinds of parts that vary: the text, and members that OpenAI adds to every event and that nobody reads. */
const TEXT = 0;
const NUMBER = 1;
const FILLING = 2;
const MEMBERS: readonly (readonly [name: Buffer, kind: number])[] = [
  [Buffer.from('"sequence_number":'), NUMBER],
  [Buffer.from('"obfuscation":"'), FILLING],
];

interface Varying {
  readonly kind: number;
  readonly start: number;
  readonly end: number;
}

/** Recognizes events that differ from the one before only in their text. Most do, and need not be parsed. */
export class SimilarEvents {
  /** Parts that do not vary. A variable part follows each of them except the last. */
  #constantParts: readonly Buffer[] = [];
  #kinds: readonly number[] = [];
  #misses = 0;

  /** Returns the size of the text in a similar event; -1 if the event is not similar. */
  textBytesIn(bytes: Buffer): number {
    const parts = this.#constantParts;
    let size = -1;
    let at = 0;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i]!;
      const start = at + part.length;
      if (start > bytes.length || part.compare(bytes, at, start) !== 0) return -1;
      if (i === parts.length - 1) {
        at = start;
        break;
      }
      const kind = this.#kinds[i]!;
      at = endOf(kind, bytes, start);
      if (kind !== TEXT) continue;
      // A text this long may contain a base64 image.
      if (at - start >= CHUNK_BYTES_MIN) return -1;
      size = decodedSize(bytes, start, at);
    }
    if (size === -1 || at !== bytes.length) return -1;
    this.#misses = 0;
    return size;
  }

  note(bytes: Buffer, start: number, end: number): void {
    if (this.#misses === MISSES_MAX) return;
    this.#misses++;
    const varying: Varying[] = [{ kind: TEXT, start, end }];
    for (const [name, kind] of MEMBERS) {
      const from = bytes.indexOf(name) + name.length;
      const isMember = from >= name.length && (from < start || from > end);
      if (isMember) varying.push({ kind, start: from, end: endOf(kind, bytes, from) });
    }
    varying.sort((left, right) => left.start - right.start);
    const keptBytes = varying.reduce((left, each) => left - (each.end - each.start), bytes.length);
    if (keptBytes > KEPT_BYTES_MAX) {
      this.forget();
      return;
    }
    // Copies the bytes, because the chunk may belong to a large buffer.
    const ends = [0, ...varying.map((each) => each.end)];
    this.#constantParts = ends.map((from, i) => Buffer.from(bytes.subarray(from, varying[i]?.start)));
    this.#kinds = varying.map(({ kind }) => kind);
  }

  forget(): void {
    this.#constantParts = [];
  }
}

/** Returns the end of a variable part: the quote after a text, or a byte that a text cannot contain. */
function endOf(kind: number, bytes: Buffer, start: number): number {
  let at = start;
  if (kind === NUMBER) {
    while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
    return at;
  }
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at]! >= SPACE) {
    if (bytes[at] === BACKSLASH) {
      if (kind === FILLING || at + 1 >= bytes.length || bytes[at + 1]! < SPACE) return at;
      at++;
    }
    at++;
  }
  return at;
}
