import { close, write, writeSync } from 'node:fs';

/**
 * The most that is written at once. A write takes some 27 µs of two threads beside what its bytes take, as measured with a file on one
 * core: with 32 KiB that was more than half of a line, and is a fifth now.
 */
const CHUNK_BYTES = 128 * 1024;
/** What a UTF-16 unit takes in UTF-8, at most. */
const UTF8_BYTES_MAX = 3;
/** When a destination that takes nothing is asked again: by a timer, and by a process that ends. */
const RETRY_MS = 100;
const RETRY_NOW_MS = 10;

/** Bytes that are written together; those before `start` have been written. */
interface Chunk {
  readonly buffer: Buffer;
  start: number;
  end: number;
}

export interface WriterEvents {
  /** Nothing waits that is due. */
  onIdle(): void;
  /** What could not be written waits, and is tried again with what comes next. */
  onError(): void;
}

/**
 * Writes text to a file descriptor, in its order, by a thread of the runtime. Text becomes bytes once, if it is appended, because
 * most of what a log costs is how often its text is looked through.
 */
export class BackgroundWriter {
  readonly #fd: number;
  readonly #events: WriterEvents;
  readonly #chunkBytes: number;
  /** What is appended goes here. */
  #filling: Chunk;
  /** What waits to be written, the next one first. */
  readonly #full: Chunk[] = [];
  /** A chunk to fill next, so that two take turns as long as the destination keeps up. */
  #spare: Chunk | null = null;
  #waitingBytes = 0;
  /** Whether what is being filled is to be written before it is full. */
  #isDue = false;
  /** Whether another thread has the first full chunk. */
  #isWriting = false;
  #retry: NodeJS.Timeout | null = null;
  #isClosed = false;

  /** Chunks of another size are for tests. */
  constructor(fd: number, events: WriterEvents, chunkBytes = CHUNK_BYTES) {
    this.#fd = fd;
    this.#events = events;
    this.#chunkBytes = chunkBytes;
    this.#filling = newChunk(chunkBytes);
  }

  /** What was appended and is not written yet. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Appends a text that is ASCII and fits into a chunk; with false nothing was appended. */
  appendAscii(text: string): boolean {
    const bytesMax = text.length * UTF8_BYTES_MAX;
    if (bytesMax > this.#chunkBytes) return false;
    const chunk = this.#roomFor(bytesMax);
    // All that is not ASCII takes more bytes than units.
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
      const chunk = this.#roomFor(bytes);
      chunk.buffer.write(text, chunk.end);
      this.#appended(chunk, bytes);
    }
  }

  /** Has all that was appended written, in the background. */
  flush(): void {
    this.#isDue = true;
    this.#writeNext();
  }

  /**
   * Writes what waits before it returns, but for what another thread is writing. A destination that takes nothing is asked again
   * within a time.
   *
   * @throws if the destination cannot be written, or took nothing for so long; the rest waits on
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

  /** Writes nothing more, and closes what is not a standard stream. */
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

  #roomFor(bytes: number): Chunk {
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
    // Standard output and standard error stay open for what the process says when it ends.
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
