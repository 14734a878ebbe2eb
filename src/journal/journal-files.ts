import { basename, join } from 'node:path';
import { isMissing } from './disk.ts';
import { type EntrySpan, JournalFile } from './journal-file.ts';
import { damagedName } from './journal-names.ts';
import type { TakeoverOptions } from './journal-takeover.ts';

interface JournalFilesOptions extends TakeoverOptions {
  readonly fileBytesMax: number;
}

interface Stored {
  readonly file: JournalFile;
  readonly spans: readonly EntrySpan[];
}

/** Maximum number of own files, and of files that were taken over. If there are more, deleting files has probably failed. */
const FILES_MAX = 64;
/** How many times in a row another process may take over a new file before its first sync. */
const MOVES_MAX = 8;

/**
 * The open files of a journal. Its asynchronous methods must not run concurrently.
 *
 *   current ─▶ full, taken over, or in an unknown state after a failure ─▶ no entries left ─▶ deleted (if damaged: renamed)
 *      └─▶ no entries left ─▶ emptied and reused
 */
export class JournalFiles {
  readonly #options: JournalFilesOptions;
  readonly #own = new Set<JournalFile>();
  readonly #takenOver = new Set<JournalFile>();
  /** The file that takes new entries; null until one is needed. */
  #current: JournalFile | null = null;

  constructor(options: JournalFilesOptions) {
    this.#options = options;
  }

  get ownEntries(): number {
    return entriesOf(this.#own);
  }

  get ownBytes(): number {
    return bytesOf(this.#own);
  }

  get allBytes(): number {
    return bytesOf(this.#own) + bytesOf(this.#takenOver);
  }

  get takenOverEntries(): number {
    return entriesOf(this.#takenOver);
  }

  get canTakeOver(): boolean {
    return this.#takenOver.size < FILES_MAX;
  }

  /** Whether a file must still be deleted or truncated, because this has failed. */
  get isUnfinished(): boolean {
    return this.#all().some((file) => file.hasTail || (file.entries === 0 && file !== this.#current));
  }

  isOwn(file: JournalFile): boolean {
    return this.#own.has(file);
  }

  addTakenOver(file: JournalFile): void {
    this.#takenOver.add(file);
  }

  /** Returns the current file. Creates one if there is none, or if the current one is full. */
  async open(): Promise<JournalFile> {
    if (this.#current !== null && this.#current.bytes >= this.#options.fileBytesMax) await this.#retire(this.#current);
    if (this.#current !== null) return this.#current;
    if (this.#own.size >= FILES_MAX) throw new Error(`${this.#own.size} journal files are open already`);
    const { disk, directory, names } = this.#options;
    const name = names.take();
    try {
      this.#current = await JournalFile.create(disk, directory, join(directory, name));
    } catch (error) {
      names.giveBack(name);
      throw error;
    }
    this.#own.add(this.#current);
    return this.#current;
  }

  /** Stores all entries with one sync, or none. @throws the system's own error */
  async store(entries: readonly string[]): Promise<Stored> {
    for (let moves = 0; moves < MOVES_MAX; moves++) {
      const file = await this.open();
      const spans = await this.#writing(file, () => file.append(entries));
      if (spans !== null) {
        file.entries += spans.length;
        return { file, spans };
      }
      await this.#retire(file);
    }
    throw new Error(`other processes took over the journal file ${MOVES_MAX} times in a row`);
  }

  async tryOut(): Promise<void> {
    const file = await this.open();
    await this.#writing(file, () => file.tryOut());
  }

  /** Deletes or empties a file without entries; truncates any other after its last entry. Logs failures; never rejects. */
  async tidy(file: JournalFile): Promise<void> {
    if (!this.#own.has(file) && !this.#takenOver.has(file)) return;
    const { logger } = this.#options;
    try {
      if (file.entries > 0) {
        if (file.hasTail) await file.cutTail();
      } else if (file === this.#current && !file.isDamaged) {
        if (file.bytes > 0) await file.empty();
      } else {
        await this.#discard(file);
      }
    } catch (error) {
      logger.warn({ err: error, file: file.path }, 'failed to delete or truncate a journal file; retrying');
    }
  }

  async tidyAll(): Promise<void> {
    for (const file of this.#all()) await this.tidy(file);
  }

  async close(): Promise<void> {
    this.#current = null;
    await this.tidyAll();
    for (const file of this.#all()) await file.close().catch(() => undefined);
    this.#own.clear();
    this.#takenOver.clear();
  }

  async #writing<Result>(file: JournalFile, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } finally {
      if (!file.isUsable) await this.#retire(file);
    }
  }

  /** Stops writing to a file. It stays until its entries are removed. */
  async #retire(file: JournalFile): Promise<void> {
    if (file === this.#current) this.#current = null;
    await this.tidy(file);
  }

  async #discard(file: JournalFile): Promise<void> {
    const { disk, names } = this.#options;
    if (file === this.#current) this.#current = null;
    try {
      if (file.isDamaged) await disk.rename(file.path, damagedName(file.path));
      else await disk.remove(file.path);
    } catch (error) {
      // Another process has taken over the file.
      if (!isMissing(error)) throw error;
    }
    this.#own.delete(file);
    this.#takenOver.delete(file);
    names.giveBack(basename(file.path));
    await file.close();
  }

  #all(): JournalFile[] {
    return [...this.#own, ...this.#takenOver];
  }
}

function entriesOf(files: Iterable<JournalFile>): number {
  let entries = 0;
  for (const file of files) entries += file.entries;
  return entries;
}

function bytesOf(files: Iterable<JournalFile>): number {
  let bytes = 0;
  for (const file of files) bytes += file.bytes;
  return bytes;
}
