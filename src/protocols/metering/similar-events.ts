import { PIECE_BYTES_MIN } from './data-runs.ts';
import { decodedSize } from './estimate.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** What is kept of an event besides its text. */
const KEPT_BYTES_MAX = 4_096;
/** Streams of which so many events in a row were like none before have something else in each, such as a number. */
const MISSES_MAX = 8;

const NO_BYTES = Buffer.alloc(0);
const IN_TEXT = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < SPACE ? 0 : 1,
);

/**
 * Finds events that differ from the one before in their text alone: most vendors send nothing else while a model writes. Whatever else was
 * found out about the one before holds of such an event, too, so that it does not have to be read.
 */
export class SimilarEvents {
  #before = NO_BYTES;
  #after = NO_BYTES;
  #misses = 0;

  /** The size of the text of a similar event; -1 if these bytes are something else. */
  textBytesIn(bytes: Buffer): number {
    const start = this.#before.length;
    const end = bytes.length - this.#after.length;
    // A longer text may have a picture as base64.
    if (start === 0 || end < start || end - start >= PIECE_BYTES_MIN) return -1;
    let hasEscapes = false;
    for (let at = start; at < end; at++) {
      if (IN_TEXT[bytes[at]!] === 1) continue;
      // Behind a backslash comes a byte of the text, so the quote behind the text is its end.
      if (bytes[at] !== BACKSLASH || ++at === end || bytes[at]! < SPACE) return -1;
      hasEscapes = true;
    }
    if (this.#before.compare(bytes, 0, start) !== 0 || this.#after.compare(bytes, end) !== 0) return -1;
    this.#misses = 0;
    return hasEscapes ? decodedSize(bytes, start, end) : end - start;
  }

  /** Later events may be like this one, whose text stands between two offsets. */
  note(bytes: Buffer, start: number, end: number): void {
    const keptBytes = bytes.length - (end - start);
    if (keptBytes > KEPT_BYTES_MAX || this.#misses === MISSES_MAX) {
      this.forget();
      return;
    }
    this.#misses++;
    // A copy: the chunk may be a part of something large.
    const kept = Buffer.allocUnsafe(keptBytes);
    bytes.copy(kept, 0, 0, start);
    bytes.copy(kept, start, end);
    this.#before = kept.subarray(0, start);
    this.#after = kept.subarray(start);
  }

  forget(): void {
    this.#before = NO_BYTES;
    this.#after = NO_BYTES;
  }
}
