import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from './disk.ts';

/**
 * This file implements a file of a journal. Each line has the CRC-32 of an entry's bytes, a space, and the entry.
 *
 *   \n9ae0daaf {"call":"call_01…"}\n
 *
 * A line also starts with a line break, so that an incomplete or damaged line does not damage the next one. Empty lines are ignored. A last
 * line without a line break was being written when its process died, and was never acknowledged.
 */

const LINE_FEED = 0x0a;
/** Length of what precedes an entry: a line break, the checksum, and a space. */
const HEAD_BYTES = 10;
/** Length of the checksum and a space. */
const CHECKSUM_BYTES = 9;
/** Approximate size of a write, so that a batch of large entries is not copied as a whole. */
const WRITE_BYTES = 1024 * 1024;
const READ_BYTES = 64 * 1024;
/** Bytes of a trial write. They are more than the free space in the last block of the file, so that writing them needs new blocks. */
const TRIAL = Buffer.alloc(64 * 1024, LINE_FEED);

/** Where an entry's text is in its file, in bytes, with its CRC-32. */
export interface EntrySpan {
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
}

interface ScannedFile {
  readonly entries: readonly EntrySpan[];
  /** Number of complete lines that are not valid entries. */
  readonly damagedLines: number;
  readonly bytes: number;
}

/**
 * A file that this process writes, or that it has taken over and only reads. After a failed write or sync, the file is truncated to its
 * previous end. If that fails, `isUsable` is false and nothing may be appended any more.
 */
export class JournalFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #file: DiskFile;
  readonly #identity: string;
  #bytes: number;
  #isUsable = true;
  #hasTail = false;
  /** Number of entries that the journal has not removed. The journal updates it. */
  entries = 0;
  /** Whether the file is damaged and must be kept for an operator. */
  isDamaged = false;

  private constructor(disk: Disk, path: string, file: DiskFile, identity: string, bytes: number) {
    this.path = path;
    this.#disk = disk;
    this.#file = file;
    this.#identity = identity;
    this.#bytes = bytes;
  }

  /** Creates a file whose name survives a crash of the machine. */
  static async create(disk: Disk, directory: string, path: string): Promise<JournalFile> {
    const file = await disk.create(path);
    try {
      await disk.syncDirectory(directory);
      return new JournalFile(disk, path, file, await file.identity(), 0);
    } catch (error) {
      await file.close().catch(() => undefined);
      await disk.remove(path).catch(() => undefined);
      throw error;
    }
  }

  static async ofAnother(disk: Disk, path: string, file: DiskFile, bytes: number): Promise<JournalFile> {
    return new JournalFile(disk, path, file, await file.identity(), bytes);
  }

  /** Number of bytes up to the end of the last stored entry. */
  get bytes(): number {
    return this.#bytes;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Whether bytes of a failed append may follow the last entry. */
  get hasTail(): boolean {
    return this.#hasTail;
  }

  /** Stores entries durably. If another process has taken over the file, and may have read it already, returns null and stores nothing. */
  async append(entries: readonly string[]): Promise<readonly EntrySpan[] | null> {
    const spans: EntrySpan[] = [];
    let at = this.#bytes;
    let lines: Buffer[] = [];
    let lineBytes = 0;
    return this.#keepOrUndo(async () => {
      for (const entry of entries) {
        const { line, span } = encodeLine(entry, at + lineBytes);
        spans.push(span);
        lines.push(line);
        lineBytes += line.length;
        if (lineBytes < WRITE_BYTES) continue;
        at = await this.#write(Buffer.concat(lines), at);
        lines = [];
        lineBytes = 0;
      }
      if (lineBytes > 0) at = await this.#write(Buffer.concat(lines), at);
      await this.#sync();
      if (!(await this.#isInPlace())) {
        await this.#undo();
        return null;
      }
      this.#bytes = at;
      return spans;
    });
  }

  /** Tests the disk: writes, syncs and removes empty lines. @throws if the disk does not accept them */
  async tryOut(): Promise<void> {
    await this.#keepOrUndo(async () => {
      await this.#write(TRIAL, this.#bytes);
      await this.#sync();
      await this.#file.truncate(this.#bytes);
    });
  }

  /** Truncates the file after its last entry. May be called repeatedly. */
  async cutTail(): Promise<void> {
    this.#hasTail = true;
    await this.#file.truncate(this.#bytes);
    await this.#file.sync();
    this.#hasTail = false;
  }

  /** Empties the file without a sync. Entries that reappear after a crash do no harm, because each is applied only once. */
  async empty(): Promise<void> {
    await this.#file.truncate(0);
    this.#bytes = 0;
  }

  /** Returns the text of an entry; null if the file no longer has it. */
  async read(span: EntrySpan): Promise<string | null> {
    const bytes = Buffer.allocUnsafe(span.length);
    for (let done = 0; done < span.length; ) {
      const count = await this.#file.read(bytes.subarray(done), span.offset + done);
      if (count === 0) return null;
      done += count;
    }
    return crc32(bytes) === span.checksum ? bytes.toString() : null;
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  async #keepOrUndo<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      await this.#undo();
      throw error;
    }
  }

  async #undo(): Promise<void> {
    try {
      await this.cutTail();
    } catch {
      this.#isUsable = false;
    }
  }

  async #isInPlace(): Promise<boolean> {
    return (await this.#disk.facts(this.path))?.identity === this.#identity;
  }

  async #write(bytes: Buffer, offset: number): Promise<number> {
    for (let done = 0; done < bytes.length; ) {
      const count = await this.#file.write(bytes.subarray(done), offset + done);
      if (count === 0) throw new Error('the disk accepted no more bytes');
      done += count;
    }
    return offset + bytes.length;
  }

  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      // The kernel may have dropped the pages and marked them as clean. A second sync could then succeed without writing them.
      this.#isUsable = false;
      throw error;
    }
  }
}

function encodeLine(entry: string, lineStart: number): { line: Buffer; span: EntrySpan } {
  const length = Buffer.byteLength(entry);
  const line = Buffer.allocUnsafe(HEAD_BYTES + length + 1);
  line.write(entry, HEAD_BYTES);
  const checksum = crc32(line.subarray(HEAD_BYTES, HEAD_BYTES + length));
  line.write(`\n${checksumText(checksum)} `, 0, 'latin1');
  line[line.length - 1] = LINE_FEED;
  return { line, span: { offset: lineStart + HEAD_BYTES, length, checksum } };
}

function checksumText(checksum: number): string {
  return checksum.toString(16).padStart(8, '0');
}

/** Finds the entries of a file. Reads it in chunks, so that neither the file nor a line is in memory as a whole. */
export async function scanJournalFile(file: DiskFile): Promise<ScannedFile> {
  const entries: EntrySpan[] = [];
  const chunk = Buffer.allocUnsafe(READ_BYTES);
  const head = Buffer.alloc(CHECKSUM_BYTES);
  let damagedLines = 0;
  let bytes = 0;
  let lineBytes = 0;
  let checksum = 0;

  const takePart = (part: Buffer): void => {
    const headBytes = lineBytes < CHECKSUM_BYTES ? part.copy(head, lineBytes) : 0;
    if (part.length > headBytes) checksum = crc32(part.subarray(headBytes), checksum);
    lineBytes += part.length;
  };
  const endLine = (end: number): void => {
    if (lineBytes > CHECKSUM_BYTES && head.toString('latin1') === `${checksumText(checksum)} `) {
      entries.push({ offset: end - lineBytes + CHECKSUM_BYTES, length: lineBytes - CHECKSUM_BYTES, checksum });
    } else if (lineBytes > 0) {
      damagedLines++;
    }
    lineBytes = 0;
    checksum = 0;
  };

  for (;;) {
    const count = await file.read(chunk, bytes);
    if (count === 0) return { entries, damagedLines, bytes };
    for (let at = 0; at < count; ) {
      const found = chunk.indexOf(LINE_FEED, at);
      const end = found === -1 || found >= count ? count : found;
      takePart(chunk.subarray(at, end));
      if (end < count) endLine(bytes + end);
      at = end + 1;
    }
    bytes += count;
  }
}
