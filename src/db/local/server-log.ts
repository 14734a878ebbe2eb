import { appendFileSync, existsSync, renameSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';

const BYTES_MAX = 2 ** 20;
const LINES_KEPT = 20;

/** The begin of a line (`log_line_prefix` of `settings.ts`). */
const LINE = /^\S+ \S+ \S+ \[\d+\] \(([^)]*)\) ([A-Z0-9]+): {2}/;

/** What is only a client's affair, which gets it as an error and logs it itself. It may quote a value. */
const OF_CLIENTS = new Set(['ERROR', 'WARNING']);

/**
 * The log of the server: a file that is replaced when it is large, with the one before it. Errors of statements are left
 * out. A line that does not begin as lines do belongs to the line before it.
 */
export class ServerLog {
  readonly #file: string;
  /** The last lines that were written, for messages. */
  #last: string[] = [];
  #isLeftOut = false;
  #bytes: number;

  constructor(file: string) {
    this.#file = file;
    this.#bytes = existsSync(file) ? statSync(file).size : 0;
  }

  /** Reads to the end. `onLine` gets each line that is written. */
  read(stream: Readable, onLine: (line: string) => void): void {
    this.#last = [];
    let rest = '';
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop()!;
      const written = lines.filter((line) => this.#isWritten(line));
      this.#last = [...this.#last, ...written].slice(-LINES_KEPT);
      if (written.length > 0) this.#append(written.map((line) => `${line}\n`).join(''));
      for (const line of written) onLine(line);
    });
  }

  /** Without the time and the number of the process. */
  lastLines(): string {
    return this.#last.map((line) => line.replace(LINE, '$2: ')).join('\n');
  }

  #isWritten(line: string): boolean {
    const [, process, level] = LINE.exec(line) ?? [];
    if (level !== undefined) this.#isLeftOut = process === 'client backend' && OF_CLIENTS.has(level);
    return !this.#isLeftOut;
  }

  #append(text: string): void {
    try {
      if (this.#bytes > BYTES_MAX) {
        renameSync(this.#file, `${this.#file}.1`);
        this.#bytes = 0;
      }
      appendFileSync(this.#file, text, { mode: 0o600 });
      this.#bytes += Buffer.byteLength(text);
    } catch {
      // The disk is full, or the directory is gone: the server serves without its log.
    }
  }
}
