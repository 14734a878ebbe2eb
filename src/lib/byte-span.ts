const NOWHERE = -1;
const NO_BYTES = Buffer.alloc(0);

/** A run of bytes that is copied out of the chunks that it lies in, unless it is too long. */
export class ByteSpan {
  /** Where it begins in this chunk; `NOWHERE` if nothing is being kept. */
  #start = NOWHERE;
  #bytesMax = 0;
  /**
   * The bytes of it from earlier chunks. One buffer that grows, so that a byte a chunk does not cost an object each.
   */
  #held = NO_BYTES;
  #heldBytes = 0;

  /** The bytes that are kept until the span is complete, without unused capacity. */
  get memoryBytes(): number {
    return this.#heldBytes;
  }

  begin(at: number, bytesMax: number): void {
    this.#start = at;
    this.#bytesMax = bytesMax;
  }

  /** The chunk ends; the span may go on in the next one. */
  carry(chunk: Buffer): void {
    if (this.#start === NOWHERE || !this.#hold(chunk, chunk.length, 2)) return;
    this.#start = 0;
  }

  /** A copy of the span, which ends before `end`; `null` if it was too long. */
  end(chunk: Buffer, end: number): Buffer | null {
    const isWhole = this.#start !== NOWHERE && this.#hold(chunk, end, 1);
    const bytes = isWhole ? this.#held.subarray(0, this.#heldBytes) : null;
    this.letGo();
    return bytes;
  }

  /** Room is made for the bytes, times `growth`, so that many small parts are not copied again and again. */
  #hold(chunk: Buffer, end: number, growth: number): boolean {
    const size = this.#heldBytes + end - this.#start;
    if (size > this.#bytesMax) {
      this.letGo();
      return false;
    }
    if (size > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.min(growth * size, this.#bytesMax));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#heldBytes, this.#start, end);
    this.#heldBytes = size;
    return true;
  }

  /** Stops keeping, and drops what was kept. */
  letGo(): void {
    this.#start = NOWHERE;
    this.#held = NO_BYTES;
    this.#heldBytes = 0;
  }
}
