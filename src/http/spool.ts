import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { GatewayError } from '../errors/gateway-error.ts';
import { createYoungGarbageCollector } from '../lib/young-garbage.ts';
import { type BodyLimits, type BodyOwner, type OpenBody, openBody, receiveBody } from './body.ts';
import { type BodyMemory, type BodySpace, LARGE_BODY_BYTES } from './body-budgets.ts';
import { decoderBytes } from './body-decoder.ts';

/**
 * Bodies too large for memory go to disk as they arrive. A spooled body takes some 300 KiB of memory while it arrives
 * and one read buffer while it is read, whatever its size.
 */
export interface SpooledBody {
  /** The size of the decoded body. */
  readonly sizeBytes: number;
  /**
   * The bytes from `start` up to `end`, by default all, read as they are asked for. It may be called again, for another
   * attempt. The caller may keep each buffer.
   *
   * @throws GatewayError `internal` if the disk fails; RangeError; Error after `remove`.
   */
  read(start?: number, end?: number): AsyncIterable<Buffer>;
  /** Frees the disk space. May be called again, and never rejects. */
  remove(): Promise<void>;
}

export interface SpoolLimits extends BodyLimits {
  /** Created if it is missing. */
  readonly directory: string;
}

/** A file in the spool directory, open for writing and reading. */
interface SpoolFile {
  readonly handle: FileHandle;
  /** Where the file still has a name; `null` where the file disappears with its handle. */
  readonly path: string | null;
}

/**
 * Writes a body to disk, decoded. `consume` gets every chunk in order, before it counts as stored; if it throws, the
 * body is refused with that error. The chunk is only valid during the call. The caller has to call `remove` in the end.
 *
 * @throws GatewayError as `readBody` does, `internal` if the disk fails, and whatever `consume` throws. Nothing is
 * left on disk then.
 */
export async function spoolBody(
  request: IncomingMessage,
  response: ServerResponse,
  limits: SpoolLimits,
  consume: (chunk: Buffer) => void,
  owner: BodyOwner | null = null,
): Promise<SpooledBody> {
  const body = openBody(request, limits);
  const room = new SpoolRoom(body, owner);
  try {
    if (room.isLarge) await owner?.look?.();
    room.needAtOnce();
    return await spoolInto(await openSpoolFile(limits.directory), body, response, consume, room);
  } catch (error) {
    room.release();
    throw error;
  }
}

/** `spoolBody` with a file that is open already. */
export async function spoolInto(
  file: SpoolFile,
  body: OpenBody,
  response: ServerResponse,
  consume: (chunk: Buffer) => void,
  room = new SpoolRoom(body, null),
): Promise<SpooledBody> {
  const writer = new BlockWriter(file.handle);
  try {
    await receiveBody(body, response, room.owner, (chunk) => {
      consume(chunk);
      const looking = room.grow(chunk.length);
      return looking === null ? writer.write(chunk) : looking.then(() => writer.write(chunk) ?? undefined);
    });
    const sizeBytes = await writer.end();
    room.stored(sizeBytes);
    return new SpooledFile(file, sizeBytes, room);
  } catch (error) {
    await freeSpoolFile(file);
    throw error;
  }
}

/** The memory of a spooled body that arrives: two blocks, and a chunk or two in transit. */
const ARRIVING_BYTES = 384 * 1024;
/** Room on the disk is taken in pieces of this size if it is not known how much is needed. */
const ROOM_BYTES = 1024 * 1024;

/** The room that one body takes on the disk, and in memory while it arrives. */
class SpoolRoom {
  readonly owner: BodyOwner | null;
  readonly isLarge: boolean;
  readonly #body: OpenBody;
  readonly #disk: BodySpace | null;
  readonly #memory: BodyMemory | null;
  #sizeBytes = 0;
  #diskBytes = 0;
  #hasLooked: boolean;

  constructor(body: OpenBody, owner: BodyOwner | null) {
    this.#body = body;
    this.owner = owner;
    this.#disk = owner === null ? null : owner.budgets.diskOf(owner.holder);
    this.#memory = owner === null ? null : owner.budgets.memoryOf(owner.holder);
    this.isLarge = body.encoding !== null || (body.announcedBytes !== null && body.announcedBytes > LARGE_BODY_BYTES);
    this.#hasLooked = this.isLarge;
  }

  /** @throws GatewayError `overloaded`, as `grow` does. */
  needAtOnce(): void {
    const { announcedBytes, encoding } = this.#body;
    this.#memory?.need(ARRIVING_BYTES + (encoding === null ? 0 : decoderBytes(encoding, 0)), true);
    if (announcedBytes === null || encoding !== null) return;
    this.#diskBytes = announcedBytes;
    this.#disk?.need(announcedBytes);
  }

  /** More has arrived. A promise asks the caller to wait for the owner's look. */
  grow(sizeBytes: number): Promise<void> | null {
    const { encoding } = this.#body;
    this.#sizeBytes += sizeBytes;
    if (this.#sizeBytes > this.#diskBytes) {
      this.#diskBytes = this.#sizeBytes + ROOM_BYTES;
      this.#disk?.need(this.#diskBytes);
      if (encoding !== null) this.#memory?.need(ARRIVING_BYTES + decoderBytes(encoding, this.#diskBytes), true);
    }
    if (this.#hasLooked || this.#sizeBytes <= LARGE_BODY_BYTES) return null;
    this.#hasLooked = true;
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

/** The process that made a file stands in its name; the rest cannot be guessed. */
const SPOOL_FILE = /^upload-(\d+)-[0-9a-f]{32}\.part$/;

/** @throws GatewayError `internal` if the disk fails. */
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
 * Takes the name from an open file, so that the system frees its space with the last descriptor, also if the process
 * is killed. Returns the path where the platform refuses that, as some do while a file is open.
 */
async function unlinkOpen(path: string): Promise<string | null> {
  try {
    await unlink(path);
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : path;
  }
}

/** Closing waits for reads and writes under way. After a failure the sweep removes the file. */
async function freeSpoolFile({ handle, path }: SpoolFile): Promise<void> {
  await handle.close().catch(() => undefined);
  if (path !== null) await unlink(path).catch(() => undefined);
}

/**
 * Removes the files of processes that have ended, and returns how many; call it at start, before the first upload.
 * Those of this very process number are removed too: in a container every process in turn has the same one.
 *
 * A process number is no proof if several machines share the directory, but a wrong guess does no harm: if an
 * open file can lose its name, it has lost it already and its owner keeps the contents; where not, removal fails.
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

/** The size of a block; one is filled while the other is written. */
export const BLOCK_BYTES = 128 * 1024;

/**
 * Gathers chunks into blocks, so that neither the number nor the size of a client's chunks decides how much memory is
 * used or how often the disk is called.
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

  /**
   * Copies the chunk. A promise asks the caller to wait for it before the next chunk; it rejects if the disk has
   * failed.
   */
  write(chunk: Buffer): Promise<void> | null {
    const taken = this.#fill(chunk);
    return taken === chunk.length && this.#filledBytes < BLOCK_BYTES ? null : this.#writeOn(chunk.subarray(taken));
  }

  /** Waits until everything is written, and returns the number of bytes. */
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
    // The call that waits for the next block gets this error; until then nothing waits for it.
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
  readonly #room: SpoolRoom;
  #removal: Promise<void> | null = null;

  constructor(file: SpoolFile, sizeBytes: number, room: SpoolRoom) {
    this.#file = file;
    this.sizeBytes = sizeBytes;
    this.#room = room;
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
    this.#removal ??= freeSpoolFile(this.#file).then(() => this.#room.release());
    return this.#removal;
  }

  #requireThere(): void {
    if (this.#removal !== null) throw new Error('the spooled body has been removed');
  }
}
