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

export type EntryId = number;

export interface JournalOptions {
  readonly directory: string;
  /** Name of this process, which must be unique, such as the id of its node. */
  readonly name: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly disk?: Disk;
  /** Number of its own entries at which the journal refuses new calls. At twice this number, it refuses entries, too. */
  readonly entriesMax?: number;
  /** Size of its own files in bytes at which the journal refuses new calls. At twice this size, it refuses entries, too. */
  readonly bytesMax?: number;
  /** Size at which a file takes no more entries, so that one entry that stays does not keep all later ones on the disk. */
  readonly fileBytesMax?: number;
  /** Milliseconds between trial writes after a failed write. */
  readonly retryMs?: number;
}

/** Thrown if the disk did not accept an entry, or a limit of the journal is reached. */
export class JournalUnwritableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'JournalUnwritableError';
  }
}

/** Thrown if the entry was removed, because this process or another one has applied it. */
export class JournalEntryGoneError extends Error {
  constructor() {
    super('the journal no longer contains this entry');
    this.name = 'JournalEntryGoneError';
  }
}

/** Opens the journal. Creates a missing directory. @throws JournalUnwritableError, whose message says what to do, without a usable file */
export async function openJournal(options: JournalOptions): Promise<Journal> {
  assert.match(options.name, /^[\w-]+$/, 'the name of a journal must be valid as a file name');
  const { directory, name, disk = nodeDisk } = options;
  try {
    await disk.makeDirectory(directory);
    const journal = new Journal(options, disk, new JournalNames(name, await disk.list(directory)));
    await journal.open();
    return journal;
  } catch (error) {
    throw new JournalUnwritableError(
      `The journal ${join(directory, name)} is not writable: ${reasonOf(error)}. ` +
        'database.dataDir must be a writable directory on a disk with free space.',
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
 * Stores entries on the local disk while the database is down. An entry is one line of text, which the journal does not interpret. Only the
 * positions of entries are in memory.
 *
 * An entry can exist twice, and can reappear after a crash although it was removed. So its reader must apply it only once, by an id in the
 * entry. `journal-takeover.ts` explains why no entry is lost when one process takes over the files of another.
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
  /** Number of entries that were appended, but were neither stored nor refused so far. */
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
      run: (entries) => this.#inSequence(() => this.#store(entries)),
      isItemFault: () => false,
      batchItemsMax: BATCH_ENTRIES_MAX,
      waitingItemsMax: Number.POSITIVE_INFINITY,
    });
  }

  async open(): Promise<void> {
    await this.#files.open();
    await this.#health.checkSpace();
  }

  /** Whether new calls may begin. Also starts a check of the free space if it is time for one. */
  get isWritable(): boolean {
    if (this.#isClosed) return false;
    this.#health.checkSpaceWhenDue();
    return this.#health.problem === null;
  }

  /** Why the journal is not writable, for operators; null: it is writable. */
  get problem(): string | null {
    return this.#isClosed ? 'the journal is closed' : (this.#health.problem?.text ?? null);
  }

  /** Number of stored entries, including those that were taken over from other processes. */
  get size(): number {
    return this.#entries.size;
  }

  get fileBytes(): number {
    return this.#files.allBytes;
  }

  /**
   * Stores an entry durably. Concurrent appends share one sync. Ignores `isWritable`, because the reserved space is for calls in flight.
   * @throws JournalUnwritableError if the disk does not accept the entry, or at twice a limit; nothing is then stored
   */
  async append(entry: string): Promise<EntryId> {
    assert(entry !== '' && !entry.includes('\n') && entry.isWellFormed(), 'an entry must be one line of text');
    if (this.#isClosed) throw new JournalUnwritableError('the journal is closed');
    const limit = this.#limitReached(2);
    if (limit !== null) throw new JournalUnwritableError(limit.text);
    this.#waitingEntries++;
    this.#waitingBytes += Buffer.byteLength(entry);
    return this.#batcher.submit(entry);
  }

  /** Returns the text of an entry. @throws JournalEntryGoneError if this process or the entry's writer has removed it */
  async read(id: EntryId): Promise<string> {
    if (this.#isClosed) throw new Error('the journal is closed');
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new JournalEntryGoneError();
    const text = await entry.file.read(entry.span);
    if (text !== null) return text;
    if (this.#files.isOwn(entry.file) && this.#entries.has(id)) {
      // No other process writes this file, so the disk is at fault. The file is kept for an operator.
      entry.file.isDamaged = true;
      this.#options.logger.error({ file: entry.file.path, ...entry.span }, 'a journal entry is damaged');
    }
    this.remove(id);
    throw new JournalEntryGoneError();
  }

  /** Returns the size of an entry; 0 if it was removed. */
  sizeBytes(id: EntryId): number {
    return this.#entries.get(id)?.span.length ?? 0;
  }

  remove(id: EntryId): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    entry.file.entries--;
    this.#health.log();
    if (entry.file.entries === 0) void this.#inSequence(() => this.#files.tidy(entry.file));
  }

  /**
   * Takes over files of other processes and returns their entries, the least recently written file first. Stops when `entriesMax` of these
   * entries are not removed yet; the next call continues. Call this at the start, and when another process has died: live processes would
   * have to store their entries again.
   */
  takeOver(): Promise<EntryId[]> {
    const takeover = this.#lastTakeover.then(() => this.#takeOver());
    this.#lastTakeover = takeover.catch(() => undefined);
    return takeover;
  }

  /** Waits for pending appends and closes the files. Files with entries stay for the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#retryTimer !== null) clearTimeout(this.#retryTimer);
    await this.#batcher.drain();
    await this.#lastTakeover;
    await this.#inSequence(() => this.#files.close());
    this.#entries.clear();
  }

  async #store(entries: readonly string[]): Promise<EntryId[]> {
    try {
      const { file, spans } = await this.#files.store(entries);
      return spans.map((span) => this.#enter(file, span));
    } catch (error) {
      this.#health.fail(error);
      throw new JournalUnwritableError(`the journal is not writable: ${reasonOf(error)}`, { cause: error });
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
    const hasCapacity = (): boolean =>
      !this.#isClosed && this.#files.canTakeOver && this.#files.takenOverEntries < this.#entriesMax;
    if (!hasCapacity()) return ids;
    for await (const { file, entries } of takeOver(this.#options)) {
      this.#files.addTakenOver(file);
      for (const span of entries) ids.push(this.#enter(file, span));
      if (entries.length === 0) await this.#inSequence(() => this.#files.tidy(file));
      if (!hasCapacity()) break;
    }
    return ids;
  }

  async #retry(): Promise<void> {
    await this.#files.tidyAll();
    if (!this.#health.isFaulty) return;
    try {
      await this.#files.tryOut();
      this.#health.recovered();
    } catch (error) {
      this.#health.fail(error);
    }
  }

  /** Runs tasks on the files one after another, and schedules a retry if a task could not complete its work. */
  #inSequence<Result>(task: () => Promise<Result>): Promise<Result> {
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
      void this.#inSequence(() => this.#retry());
    }, this.#retryMs).unref();
  }

  /** Returns the limit that own entries have reached `times` times; null: none. Entries that were taken over do not count. */
  #limitReached(times: number): Problem | null {
    const entries = this.#files.ownEntries + this.#waitingEntries;
    const bytes = this.#files.ownBytes + this.#waitingBytes;
    if (entries >= this.#entriesMax * times) return limitProblem('entries', entries, this.#entriesMax);
    if (bytes >= this.#bytesMax * times) return limitProblem('bytes', bytes, this.#bytesMax);
    return null;
  }
}

function limitProblem(kind: 'entries' | 'bytes', count: number, limit: number): Problem {
  return { kind, text: `the journal has ${count} ${kind}, and its limit is ${limit}` };
}
