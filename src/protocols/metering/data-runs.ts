/**
 * Finds base64 images within text, as relays of image models send them (`![](data:image/png;base64,...)`). As text, an image would count as
 * hundreds of thousands of tokens. A run without spaces or punctuation is an image if it is longer than any such text and has as many
 * different characters as compressed data.
 */
const RUN_BYTES_MAX = 16_384;
const CHARACTERS_MIN = 48;
/** Minimum size of a chunk in which a run is searched; most chunks are a few words. A run that has begun continues in any chunk. */
export const CHUNK_BYTES_MIN = 1_024;

const BACKSLASH = 0x5c;
const SLASH = 0x2f;
const IN_RUN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/=_-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

export class DataRuns {
  #runBytes = 0;
  readonly #seen = new Uint8Array(256);
  #characters = 0;
  #escapes = 0;
  #isPicture = false;
  #pictures = 0;

  get isOpen(): boolean {
    return this.#runBytes > 0;
  }

  get pictures(): number {
    return this.#pictures;
  }

  /**
   * Returns how many of the bytes `[start, end)` are image data. A run that is recognized only now includes its bytes in earlier chunks.
   */
  dataIn(bytes: Buffer, start: number, end: number): number {
    if (this.#runBytes === 0 && end - start < CHUNK_BYTES_MIN) return 0;
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

/** Whether a byte can be in base64. Some servers escape its character `/`. */
function isInRun(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]!;
  return IN_RUN[byte] === 1 || (byte === BACKSLASH && bytes[at + 1] === SLASH);
}

/** Returns the start of the first long run, or of a run that reaches `end`. Skips most bytes of ordinary text. */
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
