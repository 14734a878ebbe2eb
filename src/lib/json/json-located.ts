/** A part of a string value in one chunk of a text, with its quotes. */
export interface LocatedPart {
  readonly start: number;
  readonly end: number;
  /** Whether the value begins here, rather than in an earlier chunk. */
  readonly isFirst: boolean;
}

const NONE = -1;

/** Collects where string values of one member are. Their offsets are those of the current chunk. */
export class LocatedStrings {
  #parts: LocatedPart[] = [];
  #start = NONE;
  #isFirst = true;

  begin(at: number): void {
    this.#start = at;
    this.#isFirst = true;
  }

  end(at: number): void {
    if (this.#start === NONE) return;
    this.#parts.push({ start: this.#start, end: at, isFirst: this.#isFirst });
    this.#start = NONE;
  }

  /** Called at the end of a chunk, in which a value may be incomplete. */
  carry(chunkBytes: number): void {
    if (this.#start === NONE) return;
    this.end(chunkBytes);
    this.#start = 0;
    this.#isFirst = false;
  }

  /** Returns the parts since the last call. Call this after each chunk. */
  take(): readonly LocatedPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }
}
