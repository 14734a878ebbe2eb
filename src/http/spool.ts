import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { GatewayError } from '../errors/gateway-error.ts';
import { createYoungGarbageCollector } from '../lib/young-garbage.ts';
import { type BodyLimits, type BodyOwner, type OpenBody, openBody, receiveBody } from './body.ts';
import { type BodyMemory, type BodySpace, LARGE_BODY_BYTES } from './body-budgets.ts';
import { decoderBytes } from './body-decoder.ts';

/** A body on disk. It takes some 300 KiB of memory while it arrives, and one buffer while it is read. */
export interface SpooledBody {
  readonly sizeBytes: number;
  /**
   * Reads the bytes from `start` up to `end`. May be called several times, for example for another attempt. The caller may keep the
   * buffers.
   * @throws GatewayError `internal` if the disk fails; RangeError; Error after `remove`
   */
  read(start?: number, end?: number): AsyncIterable<Buffer>;
  /** Frees the disk space. May be called repeatedly; never rejects. */
  remove(): Promise<void>;
}

export interface SpoolLimits extends BodyLimits {
  /** Directory for the files; it is created if it is missing. */
  readonly directory: string;
}

interface SpoolFile {
  readonly handle: FileHandle;
  /** Path of the file; `null` if it is unlinked, so that it disappears when its handle is closed. */
  readonly path: string | null;
}

/**
 * Decodes a body and writes it to disk. `consume` gets each chunk before it is stored; the chunk is valid only during the call. The caller
 * must call `remove`.
 *
 * @throws GatewayError as `readBody` does, `internal` if the disk fails, and errors of `consume`. The file is then removed.
 */
export async function spoolBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: SpoolLimits,
  consume: (chunk: Buffer) => void,
  owner: BodyOwner | null = null,
): Promise<SpooledBody> {
  const body = openBody(request, limits);
  const space = new SpoolSpace(body, owner);
  try {
    if (space.isLarge) await owner?.look?.();
    space.needAtOnce();
    return await spoolInto(await openSpoolFile(limits.directory), body, response, consume, space);
  } catch (error) {
    space.release();
    throw error;
  }
}

/** Does the same as `spoolBody`, with an open file. */
export async function spoolInto(
  file: SpoolFile,
  body: OpenBody,
  response: ServerResponse,
  consume: (chunk: Buffer) => void,
  space = new SpoolSpace(body, null),
): Promise<SpooledBody> {
  const writer = new BlockWriter(file.handle);
  try {
    await receiveBody(body, response, space.owner, (chunk) => {
      consume(chunk);
      const precheck = space.grow(chunk.length);
      return precheck === null ? writer.write(chunk) : precheck.then(() => writer.write(chunk) ?? undefined);
    });
    const sizeBytes = await writer.end();
    space.stored(sizeBytes);
    return new SpooledFile(file, sizeBytes, space);
  } catch (error) {
    await freeSpoolFile(file);
    throw error;
  }
}

/** Memory for a body while it arrives: two blocks, and one or two chunks on their way. */
const ARRIVING_BYTES = 384 * 1024;
/** Disk space for a body of unknown size is taken in steps of this size. */
const SPACE_STEP_BYTES = 1024 * 1024;

/** Space of one body: on disk, and in memory while it arrives. */
class SpoolSpace {
  readonly owner: BodyOwner | null;
  readonly isLarge: boolean;
  readonly #body: OpenBody;
  readonly #disk: BodySpace | null;
  readonly #memory: BodyMemory | null;
  #sizeBytes = 0;
  #diskBytes = 0;
  #isChecked: boolean;

  constructor(body: OpenBody, owner: BodyOwner | null) {
    this.#body = body;
    this.owner = owner;
    this.#disk = owner === null ? null : owner.budgets.diskOf(owner.tenant);
    this.#memory = owner === null ? null : owner.budgets.memoryOf(owner.tenant);
    this.isLarge = body.encoding !== null || (body.announcedBytes !== null && body.announcedBytes > LARGE_BODY_BYTES);
    this.#isChecked = this.isLarge;
  }

  /** Takes the space that the request head shows to be necessary. @throws GatewayError `overloaded`, as `grow` does */
  needAtOnce(): void {
    const { announcedBytes, encoding } = this.#body;
    this.#memory?.need(ARRIVING_BYTES + (encoding === null ? 0 : decoderBytes(encoding, 0)), true);
    if (announcedBytes === null || encoding !== null) return;
    this.#diskBytes = announcedBytes;
    this.#disk?.need(announcedBytes);
  }

  /** Takes space for received bytes. If a precheck is necessary, returns a promise, for which the caller must wait. */
  grow(sizeBytes: number): Promise<void> | null {
    const { encoding } = this.#body;
    this.#sizeBytes += sizeBytes;
    if (this.#sizeBytes > this.#diskBytes) {
      this.#diskBytes = this.#sizeBytes + SPACE_STEP_BYTES;
      this.#disk?.need(this.#diskBytes);
      if (encoding !== null) this.#memory?.need(ARRIVING_BYTES + decoderBytes(encoding, this.#diskBytes), true);
    }
    if (this.#isChecked || this.#sizeBytes <= LARGE_BODY_BYTES) return null;
    this.#isChecked = true;
    return this.owner?.look?.() ?? null;
  }

  stored(sizeBytes: number): void {
    this.#memory?.release();
    this.#disk?.need(sizeBytes);
  }

  release(): void {
    this.#memory?.release();
    this.#disk?.release();
  }
}

/** Name of a file: the process id of its creator, and a part that nobody can guess. */
const SPOOL_FILE = /^upload-(\d+)-[0-9a-f]{32}\.part$/;

/** Creates a file. @throws GatewayError `internal` if the disk fails */
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

/** Unlinks an open file, so that its space is freed even if the process is killed. Returns its path if the platform cannot do this. */
async function unlinkOpen(path: string): Promise<string | null> {
  try {
    await unlink(path);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : path;
  }
}

/** If this fails, the next sweep removes the file. */
async function freeSpoolFile({ handle, path }: SpoolFile): Promise<void> {
  await handle.close().catch(() => undefined);
  if (path !== null) await unlink(path).catch(() => undefined);
}

/**
 * Removes files of processes that have ended, and returns their number. Call this before the first upload: files with the id of this
 * process are removed too, because in a container each process has the same id.
 *
 * A file may belong to a process of another machine that shares the directory. Where open files can be unlinked, such a file has no name
 * any more; elsewhere its removal fails.
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
    // EPERM means that the process exists and belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Size of a block. While one is filled, another one is written. */
export const BLOCK_BYTES = 128 * 1024;

/** Collects chunks in blocks, so that a client that sends tiny chunks needs no more memory or writes than others. */
class BlockWriter {
  readonly #handle: FileHandle;
  #filling = Buffer.allocUnsafe(BLOCK_BYTES);
  #filledBytes = 0;
  #spare = Buffer.allocUnsafe(BLOCK_BYTES);
  /** Resolves when the block that is being written is complete. */
  #writing: Promise<void> = Promise.resolve();
  #sizeBytes = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Copies a chunk. If a promise is returned, the caller must wait for it before the next chunk; it rejects if the disk has failed. */
  write(chunk: Buffer): Promise<void> | null {
    const taken = this.#fill(chunk);
    return taken === chunk.length && this.#filledBytes < BLOCK_BYTES ? null : this.#writeOn(chunk.subarray(taken));
  }

  /** Writes the remaining bytes. Returns the number of all bytes. */
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

  /** Writes the full block once the previous one was written. */
  async #writeBlock(): Promise<void> {
    await this.#writing;
    const block = this.#filling.subarray(0, this.#filledBytes);
    [this.#filling, this.#spare] = [this.#spare, this.#filling];
    this.#filledBytes = 0;
    this.#sizeBytes += block.length;
    this.#writing = writeWhole(this.#handle, block);
    // The next call awaits this promise and gets its error. Until then, the rejection must not count as unhandled.
    this.#writing.catch(() => undefined);
  }
}

/** Writes until all bytes are written: a nearly full disk may accept only some of them at a time. */
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
  readonly #space: SpoolSpace;
  #removal: Promise<void> | null = null;

  constructor(file: SpoolFile, sizeBytes: number, space: SpoolSpace) {
    this.#file = file;
    this.sizeBytes = sizeBytes;
    this.#space = space;
  }

  read(start = 0, end = this.sizeBytes): AsyncIterable<Buffer> {
    if (!(Number.isInteger(start) && Number.isInteger(end) && start >= 0 && start <= end && end <= this.sizeBytes)) {
      throw new RangeError(`cannot read bytes ${start} to ${end} of a body of ${this.sizeBytes} bytes`);
    }
    this.#requireNotRemoved();
    return this.#read(start, end);
  }

  async *#read(start: number, end: number): AsyncGenerator<Buffer> {
    const collectGarbage = createYoungGarbageCollector();
    let at = start;
    while (at < end) {
      this.#requireNotRemoved();
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
    this.#removal ??= freeSpoolFile(this.#file).then(() => this.#space.release());
    return this.#removal;
  }

  #requireNotRemoved(): void {
    if (this.#removal !== null) throw new Error('the spooled body has been removed');
  }
}
