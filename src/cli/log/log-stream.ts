import { openSync } from 'node:fs';
import { escapeJson } from '../../lib/plain-text.ts';
import { BackgroundWriter, type WriterEvents } from './background-writer.ts';
import { prettyLine } from './pretty-line.ts';

type LogFormat = 'json' | 'pretty';

/** Maximum delay of a line. Lines are written together, because each write has a fixed cost. */
const WRITTEN_AFTER_MS = 200;
/** Maximum number of pending bytes. Further lines are dropped and counted. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** How long a process that exits waits for a busy destination. */
const LAST_WRITE_MS = 1_000;
/** Largest write to a pipe that is atomic: 4 KiB on Linux; POSIX guarantees 512 bytes. */
const PIPE_BUF = 4_096;
const WARNING = 40;

interface LogStreamOptions {
  readonly destination: number | string;
  readonly format: LogFormat;
  /** Whether each line is written synchronously, for commands that end soon. */
  readonly isSync?: boolean;
  /**
   * Whether other processes write to the same destination. A pipe mixes writes of more than `PIPE_BUF`, so each write has complete lines of
   * at most that size. A longer line is written alone.
   */
  readonly isShared?: boolean;
  /** For tests. */
  readonly waitingBytesMax?: number;
}

/**
 * Destination of the log. Lines are collected and written in the background, so that a request's line needs no system call of its own. A
 * warning or an error causes a write at once, and so does the exit of the process.
 */
export class LogStream {
  /** Level of the next line; pino sets it. */
  lastLevel = 0;
  format: LogFormat;
  #isHeld = false;
  readonly #writer: BackgroundWriter;
  readonly #isSync: boolean;
  readonly #waitingBytesMax: number;
  #timer: NodeJS.Timeout | null = null;
  #droppedLines = 0;
  #isOpen = true;
  #onSettled: (() => void) | null = null;

  constructor(options: LogStreamOptions) {
    const { destination, format, isSync = false, isShared = false, waitingBytesMax = WAITING_BYTES_MAX } = options;
    // Tells pino to set `lastLevel`.
    Object.defineProperty(this, Symbol.for('pino.metadata'), { value: true });
    this.format = format;
    this.#isSync = isSync;
    this.#waitingBytesMax = waitingBytesMax;
    const events: WriterEvents = {
      onIdle: () => {
        this.#reportDropped();
        if (this.#writer.waitingBytes === 0) this.#onSettled?.();
      },
      // A failure of the log cannot be reported anywhere. Its bytes are tried again with the next ones.
      onError: () => this.#onSettled?.(),
    };
    const fd = typeof destination === 'string' ? openSync(destination, 'a') : destination;
    this.#writer = isShared ? new BackgroundWriter(fd, events, PIPE_BUF) : new BackgroundWriter(fd, events);
    if (!isSync) process.on('exit', this.#writeRest);
  }

  /** Number of dropped lines that the log has not reported yet. */
  get droppedLines(): number {
    return this.#droppedLines;
  }

  write(line: string): void {
    if (!this.#isOpen) return;
    if (!this.#append(line)) this.#droppedLines++;
    if (this.#isSync) this.#writeNow(Number.POSITIVE_INFINITY);
    else if (this.lastLevel >= WARNING) this.#flush();
    else if (!this.#isHeld) this.#timer ??= setTimeout(() => this.#flush(), WRITTEN_AFTER_MS).unref();
  }

  /** Holds lines back until `release`, a warning, or the end of the stream. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#flush();
  }

  /**
   * Writes pending lines and closes the stream. Resolves with false if this takes longer than `withinMs` milliseconds. A pending write,
   * which may never complete, then keeps the process alive.
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

  #append(line: string): boolean {
    if (this.format === 'json') {
      if (!this.#fits(line.length)) return false;
      // DEL is the only ASCII character that must be escaped although JSON does not escape it.
      if (!line.includes('\u007f') && this.#writer.appendAscii(line)) return true;
    }
    const text = this.#format(line);
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
      // A failure of the log cannot be reported anywhere.
    }
  }

  #format(line: string): string {
    return this.format === 'pretty' ? prettyLine(line) : escapeJson(line);
  }

  #reportDropped(): void {
    if (this.#droppedLines === 0) return;
    const line = { level: WARNING, time: new Date().toISOString(), lines: this.#droppedLines, msg: DROPPED };
    this.#droppedLines = 0;
    this.#writer.append(this.#format(`${JSON.stringify(line)}\n`));
    this.#flush();
  }

  /** Called if the process exits without `close`, for example after an uncaught error. */
  readonly #writeRest = (): void => this.#writeNow(LAST_WRITE_MS);
}

const DROPPED = 'standard error is too slow; log lines were dropped';
