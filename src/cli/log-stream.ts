import { pino } from 'pino';
import { escapeJson } from '../lib/plain-text.ts';
import { prettyLine } from './pretty-line.ts';

export type LogFormat = 'json' | 'pretty';

/** Lines are written together once they are so long, or have waited so long. */
const WRITTEN_BYTES_MIN = 4096;
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
 * Where the log goes. Lines are written together and in the background, so that the line of a request costs no system call of
 * its own; warnings and errors take with them at once what waits. When the process ends, what waits is written first.
 */
export class LogStream {
  /** The level of the line that comes next; pino sets it. */
  lastLevel = 0;
  format: LogFormat;
  readonly #destination: ReturnType<typeof pino.destination>;
  readonly #isSync: boolean;
  #timer: NodeJS.Timeout | null = null;
  #droppedLines = 0;
  #isFlushWanted = false;
  #isOpen = true;
  #isReaderGone = false;

  constructor({ destination, format, isSync = false, waitingBytesMax = WAITING_BYTES_MAX }: LogStreamOptions) {
    // Tells pino to say the level of each line.
    Object.defineProperty(this, Symbol.for('pino.metadata'), { value: true });
    this.format = format;
    this.#isSync = isSync;
    this.#destination = pino.destination({
      dest: destination,
      sync: isSync,
      ...(isSync ? {} : { minLength: WRITTEN_BYTES_MIN, maxLength: waitingBytesMax }),
    });
    this.#destination.once('close', () => {
      this.#isOpen = false;
    });
    // Without a listener an error would end the process. What could not be written is tried again with the next line.
    this.#destination.on('error', (error: NodeJS.ErrnoException) => {
      this.#isReaderGone ||= error.code === 'EPIPE';
    });
    this.#destination.on('drop', () => this.#droppedLines++);
    this.#destination.once('ready', () => this.#flushRest());
    this.#destination.on('drain', () => {
      this.#sayWhatWasDropped();
      this.#flushRest();
    });
  }

  /** How many lines were dropped that the log does not say yet. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  write(line: string): void {
    if (!this.#isOpen) return;
    this.#destination.write(this.#shown(line));
    if (this.#isSync) return;
    if (this.lastLevel >= WARNING) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), WRITTEN_AFTER_MS).unref();
  }

  /**
   * Writes what waits, and nothing after that. Resolves with false where that takes longer: then a write is under way that may
   * never end, and keeps the process.
   */
  close(withinMs: number): Promise<boolean> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (!this.#isOpen || this.#isReaderGone) return Promise.resolve(true);
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

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isFlushWanted = true;
    if (this.#isOpen) this.#destination.flush();
  }

  /** While a write is under way, the destination does not hear that it is to flush. */
  #flushRest(): void {
    if (!this.#isFlushWanted || !this.#isOpen) return;
    this.#isFlushWanted = false;
    this.#destination.flush();
  }

  #shown(line: string): string {
    return this.format === 'pretty' ? prettyLine(line) : escapeJson(line);
  }

  #sayWhatWasDropped(): void {
    if (this.#droppedLines === 0) return;
    const lines = this.#droppedLines;
    this.#droppedLines = 0;
    const line = { level: WARNING, time: new Date().toISOString(), lines, msg: DROPPED };
    this.#destination.write(this.#shown(`${JSON.stringify(line)}\n`));
    this.#isFlushWanted = true;
  }
}

const DROPPED = 'standard error took too little, so lines of the log were dropped';
