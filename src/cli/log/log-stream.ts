import { openSync } from 'node:fs';
import { escapeJson } from '../../lib/plain-text.ts';
import { BackgroundWriter, type WriterEvents } from './background-writer.ts';
import { prettyLine } from './pretty-line.ts';

type LogFormat = 'json' | 'pretty';

/** Lines are written together once they fill a chunk, or have waited so long: each write is work for another thread. */
const WRITTEN_AFTER_MS = 200;
/** The most that waits for standard error. Beyond it lines are dropped, and counted. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** How long a process that ends waits for a destination that takes nothing. */
const LAST_WRITE_MS = 1_000;
/** What a pipe takes from one process without bytes of others between: 4 KiB on Linux; POSIX promises 512. */
const PIPE_BUF = 4_096;
const WARNING = 40;

interface LogStreamOptions {
  /** A file descriptor or a path. */
  readonly destination: number | string;
  readonly format: LogFormat;
  /** Whether each line is written before the next one is made: for commands that end soon. */
  readonly isSync?: boolean;
  /**
   * Whether other processes write there, too. A pipe takes some bytes of each in between if one writes more than a page at once, so each
   * write is whole lines of no more than that. A longer line is written alone.
   */
  readonly isShared?: boolean;
  /** The most that waits for the destination; for tests. */
  readonly waitingBytesMax?: number;
}

/**
 * Where the log goes. Lines are gathered, and written in the background, so that the line of a request costs no system call of
 * its own; warnings and errors take with them at once what waits. When the process ends, what waits is written first.
 */
export class LogStream {
  /** The level of the line that comes next; pino sets it. */
  lastLevel = 0;
  format: LogFormat;
  readonly #writer: BackgroundWriter;
  readonly #isSync: boolean;
  readonly #waitingBytesMax: number;
  #timer: NodeJS.Timeout | null = null;
  #droppedLines = 0;
  #isOpen = true;
  #onSettled: (() => void) | null = null;

  constructor(options: LogStreamOptions) {
    const { destination, format, isSync = false, isShared = false, waitingBytesMax = WAITING_BYTES_MAX } = options;
    // Tells pino to say the level of each line.
    Object.defineProperty(this, Symbol.for('pino.metadata'), { value: true });
    this.format = format;
    this.#isSync = isSync;
    this.#waitingBytesMax = waitingBytesMax;
    const events: WriterEvents = {
      onIdle: () => {
        this.#sayWhatWasDropped();
        if (this.#writer.waitingBytes === 0) this.#onSettled?.();
      },
      // Nobody is left who could be told. What could not be written is tried again with what comes next.
      onError: () => this.#onSettled?.(),
    };
    const fd = typeof destination === 'string' ? openSync(destination, 'a') : destination;
    this.#writer = isShared ? new BackgroundWriter(fd, events, PIPE_BUF) : new BackgroundWriter(fd, events);
    if (!isSync) process.on('exit', this.#writeRest);
  }

  /** How many lines were dropped that the log does not say yet. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  write(line: string): void {
    if (!this.#isOpen) return;
    if (!this.#append(line)) this.#droppedLines++;
    if (this.#isSync) this.#writeNow(Number.POSITIVE_INFINITY);
    else if (this.lastLevel >= WARNING) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WRITTEN_AFTER_MS).unref();
  }

  /**
   * Writes what waits, and nothing after that. Resolves with false where that takes longer: then a write is under way that may
   * never end, and keeps the process.
   */
  close(withinMs: number): Promise<boolean> {
    if (!this.#isOpen) return Promise.resolve(true);
    this.#isOpen = false;
    return new Promise((resolve) => {
      const end = (isDone: boolean): void => {
        clearTimeout(timer);
        process.off('exit', this.#writeRest);
        this.#onSettled = null;
        this.#writer.close();
        resolve(isDone);
      };
      const timer = setTimeout(() => end(false), withinMs);
      this.#onSettled = () => end(true);
      this.#flush();
      if (this.#writer.waitingBytes === 0) end(true);
    });
  }

  /** With false the line is dropped. */
  #append(line: string): boolean {
    if (this.format === 'json') {
      if (!this.#fits(line.length)) return false;
      // Of ASCII, JSON leaves nothing but DEL to escape.
      if (!line.includes('\u007f') && this.#writer.appendAscii(line)) return true;
    }
    const text = this.#shown(line);
    if (!this.#fits(Buffer.byteLength(text))) return false;
    this.#writer.append(text);
    return true;
  }

  #fits(bytes: number): boolean {
    return this.#writer.waitingBytes + bytes <= this.#waitingBytesMax;
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#writer.flush();
  }

  #writeNow(withinMs: number): void {
    try {
      this.#writer.writeNow(withinMs);
    } catch {
      // Nobody is left who could be told.
    }
  }

  #shown(line: string): string {
    return this.format === 'pretty' ? prettyLine(line) : escapeJson(line);
  }

  #sayWhatWasDropped(): void {
    if (this.#droppedLines === 0) return;
    const line = { level: WARNING, time: new Date().toISOString(), lines: this.#droppedLines, msg: DROPPED };
    this.#droppedLines = 0;
    this.#writer.append(this.#shown(`${JSON.stringify(line)}\n`));
    this.#flush();
  }

  /** The process ends without `close`, as by a fault that nobody caught. */
  readonly #writeRest = (): void => this.#writeNow(LAST_WRITE_MS);
}

const DROPPED = 'standard error took too little, so lines of the log were dropped';
