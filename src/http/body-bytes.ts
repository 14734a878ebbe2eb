const BLOCK_BYTES_MIN = 64 * 1024;
const BLOCK_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Collects the bytes of a body in few blocks, so that many tiny chunks need no additional memory. Before it allocates memory, it calls
 * `need` with the new total in bytes, which throws if there is not enough.
 */
export class BodyBytes {
  readonly #sizeBytesKnown: number | null;
  readonly #need: (sizeBytes: number) => void;
  /** The first chunk, as long as it is the only one. */
  #only: Buffer | null = null;
  #blocks: Buffer[] = [];
  #blocksBytes = 0;
  /** Number of used bytes in the last block. */
  #filledBytes = 0;
  #sizeBytes = 0;

  /** @param sizeBytesKnown the size of the body if its memory was already taken from the budget; otherwise `null` */
  constructor(sizeBytesKnown: number | null, need: (sizeBytes: number) => void) {
    this.#sizeBytesKnown = sizeBytesKnown;
    this.#need = need;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Adds a chunk: keeps the chunk itself or copies it. */
  add(chunk: Buffer): void {
    this.#sizeBytes += chunk.length;
    if (this.#only === null && this.#blocks.length === 0) {
      if (this.#sizeBytesKnown === null) this.#need(chunk.length);
      this.#only = chunk;
      return;
    }
    const first = this.#only;
    if (first !== null) {
      this.#only = null;
      this.#copy(first);
    }
    this.#copy(chunk);
  }

  finish(): Buffer {
    if (this.#only !== null) return this.#only;
    const bytes = this.#join();
    if (this.#sizeBytesKnown === null) this.#need(bytes.length);
    return bytes;
  }

  /** Frees the memory of a body that nobody will read. */
  discard(): void {
    this.#only = null;
    for (const block of this.#blocks) free(block);
    this.#blocks = [];
  }

  #join(): Buffer {
    if (this.#blocks.length === 0) return Buffer.alloc(0);
    if (this.#blocks.length === 1) {
      const [block] = this.#blocks as [Buffer];
      if (this.#filledBytes === block.length) return block;
    }
    const whole = Buffer.allocUnsafeSlow(this.#sizeBytes);
    let at = 0;
    for (const block of this.#blocks) {
      at += block.copy(whole, at, 0, Math.min(block.length, this.#sizeBytes - at));
      free(block);
    }
    this.#blocks = [];
    return whole;
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      const last = this.#blocks.at(-1);
      if (last === undefined || this.#filledBytes === last.length) {
        this.#addBlock(chunk.length - at);
        continue;
      }
      const copied = chunk.copy(last, this.#filledBytes, at);
      this.#filledBytes += copied;
      at += copied;
    }
  }

  #addBlock(wantedBytes: number): void {
    const doubled = Math.min(Math.max(this.#blocksBytes, BLOCK_BYTES_MIN, wantedBytes), BLOCK_BYTES_MAX);
    const blockBytes = this.#sizeBytesKnown ?? doubled;
    this.#blocksBytes += blockBytes;
    // At the end, several blocks are joined. During this, the body is in memory twice.
    const factor = this.#blocks.length === 0 ? 1 : 2;
    if (this.#sizeBytesKnown === null) this.#need(factor * this.#blocksBytes);
    this.#blocks.push(Buffer.allocUnsafeSlow(blockBytes));
    this.#filledBytes = 0;
  }
}

/** Frees the memory at once rather than at a garbage collection. */
function free(block: Buffer): void {
  (block.buffer as ArrayBuffer).transfer(0);
}
