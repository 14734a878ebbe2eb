/**
 * Pictures that stand in the text of a response as base64, as relays of image models write them
 * (`![](data:image/png;base64,...)`): by its size such a text would count as hundreds of thousands of tokens.
 *
 * A run of base64 is no text if it is longer than anything that models write without a space or a punctuation mark, and
 * has as many characters as only compressed data have.
 */
const RUN_BYTES_MAX = 16_384;
const CHARACTERS_MIN = 48;
/** Shorter pieces of a text are not looked at, unless a run goes on: nearly all pieces of a stream are a few words. */
export const PIECE_BYTES_MIN = 1_024;

const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const IN_RUN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/=_-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Looks for such runs in one text, which comes in pieces that are cut anywhere. */
export class DataRuns {
  #runBytes = 0;
  /** Which characters the run has, and how many different ones. */
  readonly #seen = new Uint8Array(256);
  #characters = 0;
  /** The backslashes of the piece that is looked at, which stand for nothing themselves. */
  #escapes = 0;
  /** Whether the run has proved to be a picture. */
  #isPicture = false;
  #pictures = 0;

  /** Whether the next piece may go on with a run. */
  get isOpen(): boolean {
    return this.#runBytes > 0;
  }

  /** The pictures that have come. */
  get pictures(): number {
    return this.#pictures;
  }

  /** How many bytes are no text: of `bytes[start, end)`, and of the pieces before if a run has just proved to be one. */
  dataIn(bytes: Buffer, start: number, end: number): number {
    if (this.#runBytes === 0 && end - start < PIECE_BYTES_MIN) return 0;
    let data = 0;
    for (let at = start; at < end; at++) {
      if (this.#runBytes === 0) at = nextRun(bytes, at, end);
      this.#escapes = 0;
      const runEnd = this.#endOfRun(bytes, at, end);
      data += this.#extend(runEnd - at - this.#escapes);
      if (runEnd === end) return data;
      this.#begin();
      at = runEnd;
    }
    return data;
  }

  #begin(): void {
    if (this.#runBytes > 0) this.#seen.fill(0);
    this.#runBytes = 0;
    this.#characters = 0;
    this.#isPicture = false;
  }

  #extend(bytes: number): number {
    this.#runBytes += bytes;
    if (this.#isPicture) return bytes;
    if (this.#runBytes <= RUN_BYTES_MAX || this.#characters < CHARACTERS_MIN) return 0;
    this.#isPicture = true;
    this.#pictures++;
    return this.#runBytes;
  }

  #endOfRun(bytes: Buffer, start: number, end: number): number {
    const seen = this.#seen;
    let at = start;
    for (; at < end; at++) {
      const byte = bytes[at]!;
      if (!isInRun(bytes, at)) break;
      if (byte === BACKSLASH) this.#escapes++;
      if (seen[byte] === 1) continue;
      seen[byte] = 1;
      this.#characters++;
    }
    return at;
  }
}

/** Some servers escape the slash, which is a character of base64. */
function isInRun(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]!;
  return IN_RUN[byte] === 1 || (byte === BACKSLASH && bytes[at + 1] === SLASH);
}

/**
 * Where the first run begins that is longer than `RUN_BYTES_MAX`, or reaches `end`. The last byte that such a run must have is read first:
 * if it is in none, neither are the bytes before it, so most bytes of a text of words are never read.
 */
function nextRun(bytes: Buffer, start: number, end: number): number {
  let runStart = start;
  let at = Math.min(start + RUN_BYTES_MAX, end - 1);
  while (at >= runStart) {
    if (isInRun(bytes, at)) {
      at--;
    } else {
      runStart = at + 1;
      at = Math.min(runStart + RUN_BYTES_MAX, end - 1);
    }
  }
  return runStart;
}
