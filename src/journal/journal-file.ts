import { crc32 } from 'node:zlib';
import type { Disk, DiskFile } from './disk.ts';

/**
 * One file of a journal: lines, each an entry behind the CRC-32 of its bytes.
 *
 *   \n9ae0daaf {"call":"call_01…"}\n
 *
 * A line begins with a line break of its own, so that a torn or damaged line before it does not damage it as well. Empty
 * lines mean nothing. A line without a line break at its end was being written when its process died; it was never
 * acknowledged.
 */

const LINE_FEED = 0x0a;
/** The line break before it, the checksum, a space. */
const HEAD_BYTES = 10;
/** The checksum and the space. */
const MARK_BYTES = 9;
/** About the size of a write, so that a batch of large entries is never in memory a second time. */
const WRITE_BYTES = 1024 * 1024;
const READ_BYTES = 64 * 1024;
/** Large enough that it does not fit in the rest of a block that the file already has. */
const TRIAL = Buffer.alloc(64 * 1024, LINE_FEED);

/** Where the text of an entry stands in its file, in bytes, and the CRC-32 that it has. */
export interface EntrySpan {
  readonly offset: number;
  readonly length: number;
  readonly checksum: number;
}

interface ScannedFile {
  readonly entries: readonly EntrySpan[];
  /** Lines that are no entries although a line break ends them. */
  readonly damagedLines: number;
  readonly bytes: number;
}

/**
 * A file that this process writes, or one that it took over and only reads. After a failed write or sync the file is cut to
 * where it ended before; if that is not possible, `isUsable` is false and nothing more may be appended.
 */
export class JournalFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #file: DiskFile;
  readonly #identity: string;
  #bytes: number;
  #isUsable = true;
  #hasRest = false;
  /** Entries in it that are not removed. Counted by the journal. */
  entries = 0;
  /** Whether it has damage that an operator should see. */
  isDamaged = false;

  private constructor(disk: Disk, path: string, file: DiskFile, identity: string, bytes: number) {
    this.path = path;
    this.#disk = disk;
    this.#file = file;
    this.#identity = identity;
    this.#bytes = bytes;
  }

  /** Makes a new file whose name survives a crash of the machine. */
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

  /** A file that another process wrote, already scanned. */
  static async ofAnother(disk: Disk, path: string, file: DiskFile, bytes: number): Promise<JournalFile> {
    return new JournalFile(disk, path, file, await file.identity(), bytes);
  }

  /** Bytes up to the end of the last entry that is stored. */
  get bytes(): number {
    return this.#bytes;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Whether something of a refused append may still stand behind the last entry. */
  get hasRest(): boolean {
    return this.#hasRest;
  }

  /**
   * Stores entries: when it resolves they are on the disk. Returns null, with nothing stored, if the file has lost its
   * name: another process took it over, and may not read its end again.
   */
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

  /** Writes and syncs empty lines, and cuts them off again: throws if the disk does not take them. */
  async tryOut(): Promise<void> {
    await this.#keepOrUndo(async () => {
      await this.#write(TRIAL, this.#bytes);
      await this.#sync();
      await this.#file.truncate(this.#bytes);
    });
  }

  /** Ends the file after its last entry again. Safe to repeat. */
  async cutRest(): Promise<void> {
    this.#hasRest = true;
    await this.#file.truncate(this.#bytes);
    await this.#file.sync();
    this.#hasRest = false;
  }

  /** Empties the file. Not synced: entries that come back after a crash do no harm. */
  async empty(): Promise<void> {
    await this.#file.truncate(0);
    this.#bytes = 0;
  }

  /** The text of an entry, or null if the file does not have it any more. */
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
      await this.cutRest();
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
      // A disk that writes nothing and returns no error would make this loop endless.
      if (count === 0) throw new Error('the disk took no more bytes');
      done += count;
    }
    return offset + bytes.length;
  }

  async #sync(): Promise<void> {
    try {
      await this.#file.sync();
    } catch (error) {
      // The kernel may have dropped the pages and called them clean: a second sync would succeed and prove nothing.
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

/** Finds the entries of a file. Reads it in pieces: neither the file nor a line of it is ever in memory as a whole. */
export async function scanJournalFile(file: DiskFile): Promise<ScannedFile> {
  const entries: EntrySpan[] = [];
  const piece = Buffer.allocUnsafe(READ_BYTES);
  const mark = Buffer.alloc(MARK_BYTES);
  let damagedLines = 0;
  let bytes = 0;
  let lineBytes = 0;
  let checksum = 0;

  const takePart = (part: Buffer): void => {
    const markBytes = lineBytes < MARK_BYTES ? part.copy(mark, lineBytes) : 0;
    if (part.length > markBytes) checksum = crc32(part.subarray(markBytes), checksum);
    lineBytes += part.length;
  };
  const endLine = (end: number): void => {
    if (lineBytes > MARK_BYTES && mark.toString('latin1') === `${checksumText(checksum)} `) {
      entries.push({ offset: end - lineBytes + MARK_BYTES, length: lineBytes - MARK_BYTES, checksum });
    } else if (lineBytes > 0) {
      damagedLines++;
    }
    lineBytes = 0;
    checksum = 0;
  };

  for (;;) {
    const count = await file.read(piece, bytes);
    if (count === 0) return { entries, damagedLines, bytes };
    for (let at = 0; at < count; ) {
      const found = piece.indexOf(LINE_FEED, at);
      const end = found === -1 || found >= count ? count : found;
      takePart(piece.subarray(at, end));
      if (end < count) endLine(bytes + end);
      at = end + 1;
    }
    bytes += count;
  }
}
