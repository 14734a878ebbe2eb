import { close, write, writeSync } from 'node:fs';

/**
 * Maximum number of bytes in one write. A write has a fixed cost of about 27 µs on two threads, measured with a file on one core. Of the
 * cost of a line, this is more than half if 32 KiB are written at a time, and a fifth with 128 KiB.
 */
const CHUNK_BYTES = 128 * 1024;
/** Maximum UTF-8 bytes of a UTF-16 code unit. */
const UTF8_BYTES_MAX = 3;
/** Time after which a busy destination is tried again. */
const RETRY_MS = 100;
/** Time after which a process that exits tries a busy destination again. */
const RETRY_NOW_MS = 10;

/** A block of text. Its bytes from `start` to `end` are pending. */
interface Chunk {
  readonly buffer: Buffer;
  start: number;
  end: number;
}

export interface WriterEvents {
  /** Called when no bytes are left that must be written now. */
  onIdle(): void;
  /** Called when a write has failed. Its bytes are tried again with the next ones. */
  onError(): void;
}

/**
 * Writes text to a file descriptor in order, in a thread of the runtime. Text is encoded only once, when it is appended: the cost of a log
 * is mostly that of passes over the text.
 */
export class BackgroundWriter {
  readonly #fd: number;
  readonly #events: WriterEvents;
  readonly #chunkBytes: number;
  #filling: Chunk;
  /** Complete chunks, in the order in which they are written. */
  readonly #full: Chunk[] = [];
  /** A chunk that can be used again. Two chunks suffice as long as the destination keeps up. */
  #spare: Chunk | null = null;
  #waitingBytes = 0;
  /** Whether `#filling` must be written although it is not full. */
  #isDue = false;
  /** Whether a thread is writing the first complete chunk. */
  #isWriting = false;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  constructor(fd: number, events: WriterEvents, chunkBytes = CHUNK_BYTES) {
    this.#fd = fd;
    this.#events = events;
    this.#chunkBytes = chunkBytes;
    this.#filling = newChunk(chunkBytes);
  }

  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Appends a text if it is ASCII and fits into a chunk. Returns whether it did. */
  appendAscii(text: string): boolean {
    const bytesMax = text.length * UTF8_BYTES_MAX;
    if (bytesMax > this.#chunkBytes) return false;
    const chunk = this.#chunkFor(bytesMax);
    // Characters outside of ASCII take more bytes than code units.
    if (chunk.buffer.write(text, chunk.end) !== text.length) return false;
    this.#appended(chunk, text.length);
    return true;
  }

  append(text: string): void {
    const bytes = Buffer.byteLength(text);
    if (bytes > this.#chunkBytes) {
      this.#endChunk();
      this.#full.push({ buffer: Buffer.from(text), start: 0, end: bytes });
      this.#waitingBytes += bytes;
      this.#writeNext();
    } else {
      const chunk = this.#chunkFor(bytes);
      chunk.buffer.write(text, chunk.end);
      this.#appended(chunk, bytes);
    }
  }

  flush(): void {
    this.#isDue = true;
    this.#writeNext();
  }

  /**
   * Writes pending bytes synchronously, except the chunk that a thread is writing. For `withinMs` milliseconds, tries a busy destination
   * again.
   *
   * @throws if a write fails, or the destination stays busy; the remaining bytes stay pending
   */
  writeNow(withinMs: number): void {
    this.#endChunk();
    const endsAtMs = performance.now() + withinMs;
    const first = this.#isWriting ? 1 : 0;
    for (let chunk = this.#full[first]; chunk !== undefined; chunk = this.#full[first]) {
      while (chunk.start < chunk.end) {
        try {
          this.#written(chunk, writeSync(this.#fd, chunk.buffer, chunk.start, chunk.end - chunk.start));
        } catch (error) {
          if (!isBusy(error) || performance.now() >= endsAtMs) throw error;
          sleep(RETRY_NOW_MS);
        }
      }
      this.#full.splice(first, 1);
      this.#reuse(chunk);
    }
  }

  /** Stops writing. Closes the descriptor unless it is a standard stream. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#retry !== null) clearTimeout(this.#retry);
    if (!this.#isWriting) this.#closeFile();
  }

  #appended(chunk: Chunk, bytes: number): void {
    chunk.end += bytes;
    this.#waitingBytes += bytes;
  }

  #chunkFor(bytes: number): Chunk {
    if (this.#filling.end + bytes > this.#chunkBytes) {
      this.#endChunk();
      this.#writeNext();
    }
    return this.#filling;
  }

  #endChunk(): void {
    if (this.#filling.end === 0) return;
    this.#full.push(this.#filling);
    this.#filling = this.#spare ?? newChunk(this.#chunkBytes);
    this.#spare = null;
  }

  #writeNext(): void {
    if (this.#isWriting || this.#retry !== null || this.#isClosed) return;
    if (this.#full.length === 0 && this.#isDue) {
      this.#isDue = false;
      this.#endChunk();
    }
    const [chunk] = this.#full;
    if (chunk === undefined) return;
    this.#isWriting = true;
    write(this.#fd, chunk.buffer, chunk.start, chunk.end - chunk.start, null, this.#onWritten);
  }

  readonly #onWritten = (error: NodeJS.ErrnoException | null, bytes: number): void => {
    this.#isWriting = false;
    if (this.#isClosed) {
      this.#closeFile();
    } else if (error === null) {
      const chunk = this.#full[0]!;
      this.#written(chunk, bytes);
      if (chunk.start === chunk.end) {
        this.#full.shift();
        this.#reuse(chunk);
      }
      this.#writeNext();
      if (!this.#isWriting) this.#events.onIdle();
    } else if (isBusy(error)) {
      this.#retry = setTimeout(() => {
        this.#retry = null;
        this.#writeNext();
      }, RETRY_MS).unref();
    } else {
      this.#events.onError();
    }
  };

  #written(chunk: Chunk, bytes: number): void {
    chunk.start += bytes;
    this.#waitingBytes -= bytes;
  }

  #reuse({ buffer }: Chunk): void {
    if (buffer.length === this.#chunkBytes) this.#spare = { buffer, start: 0, end: 0 };
  }

  #closeFile(): void {
    // Standard output and standard error stay open for the last messages of the process.
    if (this.#fd > 2) close(this.#fd, () => undefined);
  }
}

function newChunk(bytes: number): Chunk {
  return { buffer: Buffer.allocUnsafeSlow(bytes), start: 0, end: 0 };
}

function isBusy(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EAGAIN' || code === 'EBUSY';
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
