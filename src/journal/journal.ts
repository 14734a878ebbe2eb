import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Batcher, ItemBatcher } from '../lib/batcher.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { type Disk, nodeDisk } from './disk.ts';
import type { EntrySpan, JournalFile } from './journal-file.ts';
import { JournalFiles } from './journal-files.ts';
import { JournalHealth, type Problem, reasonOf } from './journal-health.ts';
import { JournalNames } from './journal-names.ts';
import { type TakeoverOptions, takeOver } from './journal-takeover.ts';

/** Names an entry within one open journal. */
export type EntryId = number;

export interface JournalOptions {
  readonly directory: string;
  /** Unique to this process, such as the id of its node. */
  readonly name: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly disk?: Disk;
  /** Own entries beyond which no new call should be begun; twice as many are stored. */
  readonly entriesMax?: number;
  /** Bytes of own files beyond which no new call should be begun; twice as many are stored. */
  readonly bytesMax?: number;
  /** A file of this size gets no more entries, so that one entry that stays does not keep the files of all later ones. */
  readonly fileBytesMax?: number;
  /** After a failed write, the disk is tried this often. */
  readonly retryMs?: number;
}

/** The disk did not take an entry, or there are too many already. */
export class JournalUnwritableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JournalUnwritableError';
  }
}

/** The entry was removed, after it was applied by this process or another one. */
export class JournalEntryGoneError extends Error {
  constructor() {
    super('the journal does not have this entry any more');
    this.name = 'JournalEntryGoneError';
  }
}

/**
 * Opens the journal of this process in the directory, which is made if it is missing.
 *
 * @throws JournalUnwritableError where no file can be made there; its message says what to do.
 */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  assert.match(options.name, /^[\w-]+$/, 'the name of a journal becomes the name of a file');
  const { directory, name, disk = nodeDisk } = options;
  try {
    await disk.makeDirectory(directory);
    const journal = new Journal(options, disk, new JournalNames(name, await disk.list(directory)));
    await journal.open();
    return journal;
  } catch (error) {
    throw new JournalUnwritableError(
      `The journal ${join(directory, name)} cannot be written: ${reasonOf(error)}. ` +
        'database.dataDir has to be a directory on a disk that this process may write to and that is not full.',
      { cause: error },
    );
  }
}

interface Entry {
  readonly file: JournalFile;
  readonly span: EntrySpan;
}

const BATCH_ENTRIES_MAX = 256;
const MIB = 1024 * 1024;

/**
 * A local journal: entries that have to survive this process while the database is down. An entry is one line of text, which
 * the journal does not interpret. In memory the journal has only if an entry stands.
 *
 * Files. A journal writes one file at a time, and goes on in a new one where the old one has grown large, was taken
 * over, or failed in a way that leaves its end in doubt. A file is deleted when all its entries are removed; the one being
 * written is emptied instead.
 *
 * An entry may be there twice, and may come back after a crash although it was removed: its reader has to apply it once, by
 * an identity in the entry. Why no entry is lost when a process takes over the file of another: `journal-takeover.ts`.
 */
export class Journal {
  readonly #options: TakeoverOptions;
  readonly #files: JournalFiles;
  readonly #health: JournalHealth;
  readonly #batcher: Batcher<string, EntryId>;
  readonly #entriesMax: number;
  readonly #bytesMax: number;
  readonly #retryMs: number;
  readonly #entries = new Map<EntryId, Entry>();
  #lastId: EntryId = 0;
  /** Appended and neither stored nor refused yet. */
  #waitingEntries = 0;
  #waitingBytes = 0;
  #retryTimer: NodeJS.Timeout | null = null;
  #isClosed = false;
  #lastTask: Promise<unknown> = Promise.resolve();
  #lastTakeover: Promise<unknown> = Promise.resolve();

  constructor(options: JournalOptions, disk: Disk, names: JournalNames) {
    const { directory, logger, clock, fileBytesMax = 16 * MIB } = options;
    this.#options = { disk, directory, names, logger };
    this.#entriesMax = options.entriesMax ?? 50_000;
    this.#bytesMax = options.bytesMax ?? 256 * MIB;
    this.#retryMs = options.retryMs ?? 1000;
    this.#files = new JournalFiles({ ...this.#options, fileBytesMax });
    const limits = (): Problem | null => this.#limitReached(1);
    this.#health = new JournalHealth({ disk, directory, clock, logger, limits });
    this.#batcher = new ItemBatcher({
      run: (entries) => this.#inTurn(() => this.#store(entries)),
      isItemFault: () => false,
      batchItemsMax: BATCH_ENTRIES_MAX,
      waitingItemsMax: Number.POSITIVE_INFINITY,
    });
  }

  /** Makes the first file. */
  async open(): Promise<void> {
    await this.#files.open();
    await this.#health.checkSpace();
  }

  /** Whether a new call should be begun. Cheap. Reading it also starts the check of the free space if that is due. */
  get isWritable(): boolean {
    if (this.#isClosed) return false;
    this.#health.checkSpaceWhenDue();
    return this.#health.problem === null;
  }

  /** Why not, in words for a log and an operator; null if it is writable. */
  get problem(): string | null {
    return this.#isClosed ? 'the journal is closed' : (this.#health.problem?.text ?? null);
  }

  /** Entries stored and not removed, those of other processes included. */
  get size(): number {
    return this.#entries.size;
  }

  /** What the files take that have entries, or are written to. */
  get fileBytes(): number {
    return this.#files.allBytes;
  }

  /**
   * Stores an entry, one line of text; when it resolves, the entry is on the disk. What is appended meanwhile shares
   * the next write and sync. It is tried also where `isWritable` is false: the reserve is for calls in flight.
   *
   * @throws JournalUnwritableError if the disk does not take it, or entries reach twice a limit. Nothing is stored then.
   */
  async append(entry: string): Promise<EntryId> {
    assert(entry !== '' && !entry.includes('\n') && entry.isWellFormed(), 'an entry is one line of text');
    if (this.#isClosed) throw new JournalUnwritableError('the journal is closed');
    const limit = this.#limitReached(2);
    if (limit !== null) throw new JournalUnwritableError(limit.text);
    this.#waitingEntries++;
    this.#waitingBytes += Buffer.byteLength(entry);
    return this.#batcher.submit(entry);
  }

  /**
   * An entry as it was stored.
   *
   * @throws JournalEntryGoneError if it was removed, here or by the process whose file was taken over. It then counts
   * as removed.
   */
  async read(id: EntryId): Promise<string> {
    if (this.#isClosed) throw new Error('the journal is closed');
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new JournalEntryGoneError();
    const text = await entry.file.read(entry.span);
    if (text !== null) return text;
    if (this.#files.isOwn(entry.file) && this.#entries.has(id)) {
      // No other process writes to an own file, so the disk is at fault. The file is kept for the operator.
      entry.file.isDamaged = true;
      this.#options.logger.error({ file: entry.file.path, ...entry.span }, 'an entry of the journal is damaged');
    }
    this.remove(id);
    throw new JournalEntryGoneError();
  }

  /** The size of an entry; 0 if it was removed. */
  sizeBytes(id: EntryId): number {
    return this.#entries.get(id)?.span.length ?? 0;
  }

  /** Removes an entry that is not needed any more. Safe to repeat. */
  remove(id: EntryId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    entry.file.entries--;
    this.#health.log();
    if (entry.file.entries === 0) void this.#inTurn(() => this.#files.tidy(entry.file));
  }

  /**
   * Takes over journals that other processes left in the directory, and returns their entries, those of the file that was
   * last written longest ago first. Takes no more files once it has `entriesMax` of such entries that are not removed; the
   * next call goes on there. It takes files of processes that are alive as well, which then store their entries again: call
   * it at the start of a process, or when another one is known to have died.
   */
  takeOver(): Promise<EntryId[]> {
    const takeover = this.#lastTakeover.then(() => this.#takeOver());
    this.#lastTakeover = takeover.catch(() => undefined);
    return takeover;
  }

  /** Waits for what is under way and closes the files. Those with entries left stay for the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await this.#batcher.drain();
    await this.#lastTakeover;
    await this.#inTurn(() => this.#files.close());
    this.#entries.clear();
  }

  async #store(entries: readonly string[]): Promise<EntryId[]> {
    try {
      const { file, spans } = await this.#files.store(entries);
      return spans.map((span) => this.#enter(file, span));
    } catch (error) {
      this.#health.fail(error);
      throw new JournalUnwritableError(`the journal cannot be written: ${reasonOf(error)}`, { cause: error });
    } finally {
      this.#waitingEntries -= entries.length;
      for (const entry of entries) this.#waitingBytes -= Buffer.byteLength(entry);
    }
  }

  #enter(file: JournalFile, span: EntrySpan): EntryId {
    const id = ++this.#lastId;
    this.#entries.set(id, { file, span });
    return id;
  }

  async #takeOver(): Promise<EntryId[]> {
    const ids: EntryId[] = [];
    const hasRoom = (): boolean =>
      !this.#isClosed && this.#files.canTakeOver && this.#files.takenOverEntries < this.#entriesMax;
    if (!hasRoom()) return ids;
    for await (const { file, entries } of takeOver(this.#options)) {
      this.#files.addTakenOver(file);
      for (const span of entries) ids.push(this.#enter(file, span));
      if (entries.length === 0) await this.#inTurn(() => this.#files.tidy(file));
      if (!hasRoom()) break;
    }
    return ids;
  }

  async #retry(): Promise<void> {
    await this.#files.tidyAll();
    if (!this.#health.isFaulty) return;
    try {
      await this.#files.tryOut();
      this.#health.mend();
    } catch (error) {
      this.#health.fail(error);
    }
  }

  /** Runs tasks on the files one after another, and comes back later if one left something to do. */
  #inTurn<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#lastTask.then(task);
    const end = (): void => {
      this.#health.log();
      this.#retryLater();
    };
    this.#lastTask = result.then(end, end);
    return result;
  }

  #retryLater(): void {
    if (this.#isClosed || this.#retryTimer !== null) return;
    if (!this.#health.isFaulty && !this.#files.isUnfinished) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = null;
      void this.#inTurn(() => this.#retry());
    }, this.#retryMs).unref();
  }

  /** A limit that own entries have reached `times` times, or null. Entries of other processes refuse no call. */
  #limitReached(times: number): Problem | null {
    const entries = this.#files.ownEntries + this.#waitingEntries;
    const bytes = this.#files.ownBytes + this.#waitingBytes;
    if (entries >= this.#entriesMax * times) return limitProblem('entries', entries, this.#entriesMax);
    if (bytes >= this.#bytesMax * times) return limitProblem('bytes', bytes, this.#bytesMax);
    return null;
  }
}

function limitProblem(kind: 'entries' | 'bytes', count: number, limit: number): Problem {
  return { kind, text: `the journal holds ${count} ${kind}; ${limit} are its limit` };
}
