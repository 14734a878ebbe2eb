import { appendFileSync, existsSync, renameSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';

const BYTES_MAX = 2 ** 20;
const LINES_KEPT = 20;

/** The beginning of a line, as set by `log_line_prefix` in `settings.ts`. */
const LINE = /^\S+ \S+ \S+ \[\d+\] \(([^)]*)\) ([A-Z0-9]+): {2}/;

/** Levels of errors that a client caused. The client logs them itself, and they may quote values. */
const OF_CLIENTS = new Set(['ERROR', 'WARNING']);

/** The log file of the server, rotated by size, without errors of statements. A line without a prefix continues the message before it. */
export class ServerLog {
  readonly #file: string;
  #last: string[] = [];
  #isLeftOut = false;
  #bytes: number;

  constructor(file: string) {
    this.#file = file;
    this.#bytes = existsSync(file) ? statSync(file).size : 0;
  }

  /** Reads the stream to its end. `onLine` receives each line that is written. */
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
      // The disk is full, or the directory is gone. The server goes on without a log.
    }
  }
}
