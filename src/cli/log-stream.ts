import { openSync, writeSync } from 'node:fs';
import { pino } from 'pino';
import { escapeJson } from '../lib/plain-text.ts';
import { prettyLine } from './pretty-line.ts';

export type LogFormat = 'json' | 'pretty';

/** Lines are written together once they have so many characters, or have waited so long: each write is work for another thread. */
const WRITTEN_LENGTH_MIN = 32 * 1024;
const WRITTEN_AFTER_MS = 200;
/** The most that waits for standard error. Beyond it lines are dropped, and counted. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
const WARNING = 40;

export interface LogStreamOptions {
  /** A file descriptor or a path. */
  readonly destination: number | string;
  readonly format: LogFormat;
  /** Whether each line is written before the next one is made: for commands that end soon. */
  readonly isSync?: boolean;
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
  readonly #fd: number;
  readonly #destination: ReturnType<typeof pino.destination>;
  readonly #isSync: boolean;
  readonly #waitingBytesMax: number;
  /** Lines that the destination was not given yet: with each piece of text it measures again what waits there. */
  #gathered = '';
  /** What is gathered, and what the destination has not written. */
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | null = null;
  #droppedLines = 0;
  #isOpen = true;
  #isReaderGone = false;

  constructor({ destination, format, isSync = false, waitingBytesMax = WAITING_BYTES_MAX }: LogStreamOptions) {
    // Tells pino to say the level of each line.
    Object.defineProperty(this, Symbol.for('pino.metadata'), { value: true });
    this.format = format;
    this.#isSync = isSync;
    this.#waitingBytesMax = waitingBytesMax;
    this.#fd = typeof destination === 'string' ? openSync(destination, 'a') : destination;
    this.#destination = pino.destination({ dest: this.#fd, sync: isSync });
    this.#destination.once('close', () => {
      this.#isOpen = false;
      process.off('exit', this.#writeRest);
    });
    // Without a listener an error would end the process. What could not be written is tried again with what comes next.
    this.#destination.on('error', (error: NodeJS.ErrnoException) => {
      this.#isReaderGone ||= error.code === 'EPIPE';
    });
    if (isSync) return;
    this.#destination.on('write', (bytes: number) => {
      this.#waitingBytes -= bytes;
    });
    this.#destination.on('drain', () => this.#sayWhatWasDropped());
    process.on('exit', this.#writeRest);
  }

  /** How many lines were dropped that the log does not say yet. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  write(line: string): void {
    if (!this.#isOpen) return;
    const text = this.#shown(line);
    if (this.#isSync) {
      this.#destination.write(text);
      return;
    }
    const bytes = Buffer.byteLength(text);
    if (this.#waitingBytes + bytes > this.#waitingBytesMax) this.#droppedLines++;
    else this.#gather(text, bytes);
    if (this.lastLevel >= WARNING || this.#gathered.length >= WRITTEN_LENGTH_MIN) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WRITTEN_AFTER_MS).unref();
  }

  /**
   * Writes what waits, and nothing after that. Resolves with false where that takes longer: then a write is under way that may
   * never end, and keeps the process.
   */
  close(withinMs: number): Promise<boolean> {
    if (!this.#isOpen || this.#isReaderGone) return Promise.resolve(true);
    this.#flush();
    return new Promise((resolve) => {
      const end = (isDone: boolean): void => {
        clearTimeout(timer);
        resolve(isDone);
        this.#isOpen = false;
        this.#destination.destroy();
      };
      const timer = setTimeout(() => end(false), withinMs);
      this.#destination.once('close', () => end(true)).once('error', () => end(true));
      this.#destination.end();
    });
  }

  #gather(text: string, bytes = Buffer.byteLength(text)): void {
    this.#gathered += text;
    this.#waitingBytes += bytes;
  }

  /** Gives the destination what is gathered; without any, it tries again to write what failed. */
  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (!this.#isOpen || this.#waitingBytes === 0) return;
    const text = this.#gathered;
    this.#gathered = '';
    this.#destination.write(text);
  }

  #shown(line: string): string {
    return this.format === 'pretty' ? prettyLine(line) : escapeJson(line);
  }

  #sayWhatWasDropped(): void {
    if (this.#droppedLines === 0) return;
    const line = { level: WARNING, time: new Date().toISOString(), lines: this.#droppedLines, msg: DROPPED };
    this.#droppedLines = 0;
    this.#gather(this.#shown(`${JSON.stringify(line)}\n`));
    this.#flush();
  }

  /** The process ends without `close`, as by a fault that nobody caught. */
  readonly #writeRest = (): void => {
    try {
      this.#destination.flushSync();
      writeSync(this.#fd, this.#gathered);
    } catch {
      // Nobody is left who could be told.
    }
  };
}

const DROPPED = 'standard error took too little, so lines of the log were dropped';
