import { PIECE_BYTES_MIN } from './data-runs.ts';
import { decodedSize } from './estimate.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

/** What is kept of an event besides what varies. */
const KEPT_BYTES_MAX = 4_096;
/** Streams of which so many events in a row were like none before have something else in each. */
const MISSES_MAX = 8;

/** What varies in an event: its text, and members that OpenAI adds to each event, of which nothing is read. */
const TEXT = 0;
const NUMBER = 1;
const FILLING = 2;
const MEMBERS: readonly (readonly [name: Buffer, kind: number])[] = [
  [Buffer.from('"sequence_number":'), NUMBER],
  [Buffer.from('"obfuscation":"'), FILLING],
];

/** What stands between two bytes of an event, and varies. */
interface Varying {
  readonly kind: number;
  readonly start: number;
  readonly end: number;
}

/**
 * Finds events that differ from the one before in their text alone: most vendors send nothing else while a model writes. Whatever else was
 * found out about the one before holds of such an event, too, so that it does not have to be read.
 */
export class SimilarEvents {
  /** What all have, and what varies behind each of these pieces but the last one. */
  #pieces: readonly Buffer[] = [];
  #kinds: readonly number[] = [];
  #misses = 0;

  /** The size of the text of a similar event; -1 if these bytes are something else. */
  textBytesIn(bytes: Buffer): number {
    const pieces = this.#pieces;
    let size = -1;
    let at = 0;
    for (let i = 0; i < pieces.length; i++) {
      const piece = pieces[i]!;
      const start = at + piece.length;
      if (start > bytes.length || piece.compare(bytes, at, start) !== 0) return -1;
      if (i === pieces.length - 1) {
        at = start;
        break;
      }
      const kind = this.#kinds[i]!;
      at = endOf(kind, bytes, start);
      if (kind !== TEXT) continue;
      // A longer text may have a picture as base64.
      if (at - start >= PIECE_BYTES_MIN) return -1;
      size = decodedSize(bytes, start, at);
    }
    if (size === -1 || at !== bytes.length) return -1;
    this.#misses = 0;
    return size;
  }

  /** Later events may be like this one, whose text stands between two offsets. */
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
    // Copies: the chunk may be a part of something large.
    const ends = [0, ...varying.map((each) => each.end)];
    this.#pieces = ends.map((from, i) => Buffer.from(bytes.subarray(from, varying[i]?.start)));
    this.#kinds = varying.map(({ kind }) => kind);
  }

  forget(): void {
    this.#pieces = [];
  }
}

/** Where something that varies ends: a text at its quote, or at what no text has. */
function endOf(kind: number, bytes: Buffer, start: number): number {
  let at = start;
  if (kind === NUMBER) {
    while (bytes[at]! >= ZERO && bytes[at]! <= NINE) at++;
    return at;
  }
  while (at < bytes.length && bytes[at] !== QUOTE && bytes[at]! >= SPACE) {
    if (bytes[at] === BACKSLASH) {
      // Behind it comes a byte of the text.
      if (kind === FILLING || at + 1 >= bytes.length || bytes[at + 1]! < SPACE) return at;
      at++;
    }
    at++;
  }
  return at;
}
