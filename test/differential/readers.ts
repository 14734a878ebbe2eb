import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The fields of a body according to one parser, or the fact that it rejects the body. */
export interface Reading {
  readonly reader: string;
  readonly error?: string;
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** A program that reads bodies like a server in its language. */
export interface BodyReader {
  readonly version: string;
  /** Python requires Werkzeug for this. */
  readonly readsForms: boolean;
  readJson(body: Buffer): Promise<Reading[]>;
  /** The field `value` is the whole body, with each number replaced by 0. */
  readValue(body: Buffer): Promise<Reading[]>;
  readForm(contentType: string, body: Buffer): Promise<Reading[]>;
  close(): Promise<void>;
}

const run = promisify(execFile);

/** Compiles and starts the Go parser; `null` without Go. */
export async function startGoReader(): Promise<BodyReader | null> {
  const directory = await mkdtemp(join(tmpdir(), 'faregate-go-'));
  try {
    const program = join(directory, 'reader');
    const source = join(import.meta.dirname, 'reader.go');
    const env = { ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '', GO111MODULE: 'off', CGO_ENABLED: '0' };
    if (!(await succeeds('go', ['version']))) return null;
    // Compiles the library of Go too, the first time. Without optimisation and a C compiler that takes two thirds of the time.
    await run('go', ['build', '-gcflags=all=-N -l', '-o', program, source], { env });
    return await ChildReader.start(program, []);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Starts the Python parser, with `FAREGATE_TEST_PYTHON` if set; `null` without Python. */
export async function startPythonReader(): Promise<BodyReader | null> {
  const python = process.env.FAREGATE_TEST_PYTHON ?? 'python3';
  if (!(await succeeds(python, ['--version']))) return null;
  return ChildReader.start(python, [join(import.meta.dirname, 'reader.py')]);
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(command, args);
    return true;
  } catch {
    return false;
  }
}

/** A child process that responds to requests in order. */
class ChildReader implements BodyReader {
  version = '';
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: { resolve(text: string): void; reject(error: Error): void }[] = [];
  readonly #exited: Promise<unknown>;
  #chunks: Buffer = Buffer.alloc(0);

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child;
    let complaint = '';
    child.stderr.on('data', (chunk: Buffer) => {
      complaint = `${complaint}${chunk}`.slice(-2000);
    });
    child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    child.stdin.on('error', () => undefined);
    this.#exited = new Promise((resolve) => child.on('close', resolve));
    child.on('error', () => undefined);
    void this.#exited.then(() => {
      for (const { reject } of this.#waiting.splice(0)) reject(new Error(`the reader has ended: ${complaint}`));
    });
  }

  static async start(command: string, args: readonly string[]): Promise<ChildReader> {
    const reader = new ChildReader(spawn(command, args));
    reader.version = JSON.parse(await reader.#next()) as string;
    return reader;
  }

  get readsForms(): boolean {
    return !this.version.includes('no Werkzeug');
  }

  readJson(body: Buffer): Promise<Reading[]> {
    return this.#ask('J', '', body);
  }

  readValue(body: Buffer): Promise<Reading[]> {
    return this.#ask('V', '', body);
  }

  readForm(contentType: string, body: Buffer): Promise<Reading[]> {
    return this.#ask('F', contentType, body);
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await this.#exited;
  }

  async #ask(kind: string, contentType: string, body: Buffer): Promise<Reading[]> {
    this.#child.stdin.write(Buffer.concat([Buffer.from(kind), block(Buffer.from(contentType, 'latin1')), block(body)]));
    return JSON.parse(await this.#next()) as Reading[];
  }

  #next(): Promise<string> {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }

  #take(chunk: Buffer): void {
    this.#chunks = Buffer.concat([this.#chunks, chunk]);
    while (this.#chunks.length >= 4) {
      const end = 4 + this.#chunks.readUInt32BE(0);
      if (this.#chunks.length < end) return;
      const text = this.#chunks.toString('utf8', 4, end);
      this.#chunks = this.#chunks.subarray(end);
      this.#waiting.shift()?.resolve(text);
    }
  }
}

function block(data: Buffer): Buffer {
  const size = Buffer.alloc(4);
  size.writeUInt32BE(data.length);
  return Buffer.concat([size, data]);
}
