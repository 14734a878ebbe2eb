import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { GatewayError } from '../errors/gateway-error.ts';
import { createYoungGarbageCollector } from '../lib/young-garbage.ts';
import { type BodyLimits, type OpenBody, openBody, receiveBody } from './body.ts';

/**
 * Bodies too large for memory go to disk as they arrive (design 9). A spooled body holds some 300 KiB while it arrives
 * and one read buffer while it is read, whatever its size.
 */
export interface SpooledBody {
  /** Of the decoded body. */
  readonly sizeBytes: number;
  /**
   * The bytes from `start` up to `end`, by default all, read as they are asked for. It may be called again, for another
   * attempt. Each buffer is the caller's to keep.
   *
   * @throws GatewayError `internal` where the disk fails; RangeError; Error after `remove`.
   */
  read(start?: number, end?: number): AsyncIterable<Buffer>;
  /** Frees the disk space. May be called again, and never rejects. */
  remove(): Promise<void>;
}

export interface SpoolLimits extends BodyLimits {
  /** Made where it is missing. */
  readonly directory: string;
}

/** A file in the spool directory, open for writing and reading. */
export interface SpoolFile {
  readonly handle: FileHandle;
  /** Where the file still has a name; `null` where it vanishes with its handle. */
  readonly path: string | null;
}

/**
 * Writes a body to disk, decoded. `consume` is given every chunk in order, before it counts as stored: what it throws
 * refuses the body. The chunk is only valid during the call. Whoever gets a spooled body calls `remove` in the end.
 *
 * @throws GatewayError as `readBody` does, `internal` where the disk fails, and whatever `consume` throws. Nothing is
 * left on disk then.
 */
export async function spoolBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: SpoolLimits,
  consume: (chunk: Buffer) => void,
): Promise<SpooledBody> {
  const body = openBody(request, limits);
  return spoolInto(await openSpoolFile(limits.directory), body, response, consume);
}

/** `spoolBody` with a file that is open already. */
export async function spoolInto(
  file: SpoolFile,
  body: OpenBody,
  response: ServerResponse,
  consume: (chunk: Buffer) => void,
): Promise<SpooledBody> {
  const writer = new BlockWriter(file.handle);
  const collectGarbage = createYoungGarbageCollector();
  try {
    await receiveBody(body, response, (chunk) => {
      collectGarbage(chunk.length);
      consume(chunk);
      return writer.write(chunk);
    });
    return new SpooledFile(file, await writer.end());
  } catch (error) {
    await freeSpoolFile(file);
    throw error;
  }
}

/** The process that made a file stands in its name; the rest cannot be guessed. */
const SPOOL_FILE = /^upload-(\d+)-[0-9a-f]{32}\.part$/;

/** @throws GatewayError `internal` where the disk fails. */
export async function openSpoolFile(directory: string): Promise<SpoolFile> {
  const path = join(directory, `upload-${process.pid}-${randomBytes(16).toString('hex')}.part`);
  const create = () => open(path, 'wx+', 0o600);
  try {
    const handle = await create().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      await mkdir(directory, { recursive: true, mode: 0o700 });
      return create();
    });
    return { handle, path: await unlinkOpen(path) };
  } catch (error) {
    throw diskFailure(error);
  }
}

/**
 * Takes the name from an open file, so that the system frees its space with the last descriptor, also where the process
 * is killed. Answers the path where the platform refuses that, as some do while a file is open.
 */
async function unlinkOpen(path: string): Promise<string | null> {
  try {
    await unlink(path);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : path;
  }
}

/** Closing waits for what is being written or read. A failure leaves nothing to be done but what the sweep does. */
async function freeSpoolFile({ handle, path }: SpoolFile): Promise<void> {
  await handle.close().catch(() => undefined);
  if (path !== null) await unlink(path).catch(() => undefined);
}

/**
 * Removes the files of processes that are gone, and answers how many; to be called at start, before the first upload.
 * Those of this very process number are removed too: in a container every process in turn has the same one.
 *
 * A number says little where several machines share the directory, but no harm comes of a wrong guess: where an open
 * file can lose its name, it has lost it already and its owner keeps the contents; where not, removal fails.
 */
export async function sweepSpool(directory: string): Promise<number> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  let removed = 0;
  for (const name of names) {
    const pid = SPOOL_FILE.exec(name)?.[1];
    if (pid === undefined || (Number(pid) !== process.pid && isRunning(Number(pid)))) continue;
    removed += await unlink(join(directory, name)).then(
      () => 1,
      () => 0,
    );
  }
  return removed;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it runs, as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Of these, one is filled while the other is written. */
export const BLOCK_BYTES = 128 * 1024;

/**
 * Gathers chunks into blocks, so that neither the number nor the size of a client's chunks decides how much memory is
 * held or how often the disk is called.
 */
class BlockWriter {
  readonly #handle: FileHandle;
  #filling = Buffer.allocUnsafe(BLOCK_BYTES);
  #filledBytes = 0;
  #spare = Buffer.allocUnsafe(BLOCK_BYTES);
  /** The block that is being written. */
  #writing: Promise<void> = Promise.resolve();
  #sizeBytes = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Takes a copy. A promise asks to wait for it before the next chunk; it rejects where the disk has failed. */
  write(chunk: Buffer): Promise<void> | null {
    const taken = this.#fill(chunk);
    return taken === chunk.length && this.#filledBytes < BLOCK_BYTES ? null : this.#writeOn(chunk.subarray(taken));
  }

  /** Waits until everything is written, and answers how much that was. */
  async end(): Promise<number> {
    await this.#writeBlock();
    await this.#writing;
    return this.#sizeBytes;
  }

  async #writeOn(chunk: Buffer): Promise<void> {
    await this.#writeBlock();
    for (let at = this.#fill(chunk); at < chunk.length; at += this.#fill(chunk.subarray(at))) await this.#writeBlock();
  }

  #fill(chunk: Buffer): number {
    const taken = chunk.copy(this.#filling, this.#filledBytes);
    this.#filledBytes += taken;
    return taken;
  }

  /** Begins to write what is filled as soon as the block before is written. */
  async #writeBlock(): Promise<void> {
    await this.#writing;
    const block = this.#filling.subarray(0, this.#filledBytes);
    [this.#filling, this.#spare] = [this.#spare, this.#filling];
    this.#filledBytes = 0;
    this.#sizeBytes += block.length;
    this.#writing = writeWhole(this.#handle, block);
    // Thrown to whoever waits for the next block; until then nobody does.
    this.#writing.catch(() => undefined);
  }
}

/** A disk that is nearly full takes a part of what it is given before it fails. */
async function writeWhole(handle: FileHandle, bytes: Buffer): Promise<void> {
  try {
    for (let at = 0; at < bytes.length; ) at += (await handle.write(bytes, at)).bytesWritten;
  } catch (error) {
    throw diskFailure(error);
  }
}

function diskFailure(cause: unknown): GatewayError {
  return new GatewayError('internal', { cause });
}

const READ_BYTES = 64 * 1024;

class SpooledFile implements SpooledBody {
  readonly sizeBytes: number;
  readonly #file: SpoolFile;
  #removal: Promise<void> | null = null;

  constructor(file: SpoolFile, sizeBytes: number) {
    this.#file = file;
    this.sizeBytes = sizeBytes;
  }

  read(start = 0, end = this.sizeBytes): AsyncIterable<Buffer> {
    if (!(Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= this.sizeBytes)) {
      throw new RangeError(`bytes ${start} to ${end} of a body of ${this.sizeBytes}`);
    }
    this.#requireThere();
    return this.#read(start, end);
  }

  async *#read(start: number, end: number): AsyncGenerator<Buffer> {
    const collectGarbage = createYoungGarbageCollector();
    let at = start;
    while (at < end) {
      this.#requireThere();
      collectGarbage(READ_BYTES);
      const bytes = await this.#readAt(at, Math.min(READ_BYTES, end - at));
      at += bytes.length;
      yield bytes;
    }
  }

  async #readAt(position: number, sizeBytes: number): Promise<Buffer> {
    try {
      const { buffer, bytesRead } = await this.#file.handle.read(Buffer.allocUnsafe(sizeBytes), 0, sizeBytes, position);
      if (bytesRead === 0) throw new Error(`the spool file ends before byte ${position}`);
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      throw diskFailure(error);
    }
  }

  remove(): Promise<void> {
    this.#removal ??= freeSpoolFile(this.#file);
    return this.#removal;
  }

  #requireThere(): void {
    if (this.#removal !== null) throw new Error('the spooled body has been removed');
  }
}
