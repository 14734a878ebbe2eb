const NOWHERE = -1;
const NO_BYTES = Buffer.alloc(0);

/** Copies a span of bytes from chunks that contain it, unless the span is too long. */
export class ByteSpan {
  /** Offset of the span in the current chunk; `NOWHERE` if there is no span. */
  #start = NOWHERE;
  #bytesMax = 0;
  /** Bytes of the span from earlier chunks, in one growing buffer: with chunks of single bytes, an object for each would cost more. */
  #held = NO_BYTES;
  #heldBytes = 0;

  /** Number of copied bytes of an incomplete span, without unused capacity. */
  get memoryBytes(): number {
    return this.#heldBytes;
  }

  begin(at: number, bytesMax: number): void {
    this.#start = at;
    this.#bytesMax = bytesMax;
  }

  /** Call this at the end of a chunk, because the span may continue in the next one. */
  carry(chunk: Buffer): void {
    if (this.#start === NOWHERE || !this.#hold(chunk, chunk.length, 2)) return;
    this.#start = 0;
  }

  /** Ends the span before `end`. Returns a copy of its bytes; `null` if it was too long. */
  end(chunk: Buffer, end: number): Buffer | null {
    const isWhole = this.#start !== NOWHERE && this.#hold(chunk, end, 1);
    const bytes = isWhole ? this.#held.subarray(0, this.#heldBytes) : null;
    this.letGo();
    return bytes;
  }

  /** Copies bytes of the chunk. The buffer grows by the factor `growth`, so that few copies are made for many small chunks. */
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

  letGo(): void {
    this.#start = NOWHERE;
    this.#held = NO_BYTES;
    this.#heldBytes = 0;
  }
}
