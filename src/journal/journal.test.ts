import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { constants, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { anyCharacter } from '../../test/support/any-text.ts';
import { recordLogs } from '../../test/support/recorded-logger.ts';
import { propertyRuns } from '../../test/support/scope.ts';
import { until } from '../../test/support/until.ts';
import type { Clock } from '../lib/clock.ts';
import { type Disk, type DiskFile, nodeDisk } from './disk.ts';
import {
  type Journal,
  JournalEntryGoneError,
  type JournalOptions,
  JournalUnwritableError,
  openJournal,
} from './journal.ts';

let root: string;
let directory: string;
let opened: Journal[];

before(() => {
  root = mkdtempSync(join(tmpdir(), 'faregate-journal-'));
});

after(() => {
  rmSync(root, { recursive: true });
});

beforeEach(() => {
  directory = join(mkdtempSync(join(root, 'case-')), 'journal');
  opened = [];
});

afterEach(async () => {
  await Promise.all(opened.map((journal) => journal.close()));
});

const REFUSED = 'warn: the journal is not writable; new calls are refused';
const WRITABLE_AGAIN = 'info: the journal is writable again';

type Operation = 'create' | 'write' | 'sync' | 'truncate' | 'remove' | 'facts' | 'syncDirectory' | 'freeBytes';

/** The disk of this machine, with a record of its operations, and failures on demand. */
class TestDisk implements Disk {
  readonly done: Operation[] = [];
  freeSpace: number | null = null;
  /** Returns the error with which an operation fails; null: it is carried out. */
  failure: (operation: Operation) => Error | null = () => null;
  /** After this many bytes, writes go to a device that is full; null: never. */
  fullAfterBytes: number | null = null;

  count(operation: Operation): number {
    return this.done.filter((each) => each === operation).length;
  }

  makeDirectory = nodeDisk.makeDirectory;
  list = nodeDisk.list;
  rename = nodeDisk.rename;
  open = nodeDisk.open;

  create = async (path: string) => {
    this.#note('create');
    return this.#wrap(await nodeDisk.create(path));
  };

  facts = (path: string) => this.#try('facts', () => nodeDisk.facts(path));
  remove = (path: string) => this.#try('remove', () => nodeDisk.remove(path));
  syncDirectory = (path: string) => this.#try('syncDirectory', () => nodeDisk.syncDirectory(path));
  freeBytes = (path: string) => this.#try('freeBytes', async () => this.freeSpace ?? (await nodeDisk.freeBytes(path)));

  #wrap(file: DiskFile): DiskFile {
    return {
      ...file,
      write: (bytes, offset) => this.#try('write', () => this.#write(file, bytes, offset)),
      sync: () => this.#try('sync', () => file.sync()),
      truncate: (bytes) => this.#try('truncate', () => file.truncate(bytes)),
    };
  }

  async #write(file: DiskFile, bytes: Buffer, offset: number): Promise<number> {
    if (this.fullAfterBytes === null) return file.write(bytes, offset);
    const freeBytes = Math.min(bytes.length, this.fullAfterBytes);
    this.fullAfterBytes -= freeBytes;
    if (freeBytes > 0) return file.write(bytes.subarray(0, freeBytes), offset);
    const full = await open('/dev/full', constants.O_WRONLY);
    try {
      return (await full.write(bytes)).bytesWritten;
    } finally {
      await full.close();
    }
  }

  async #try<Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> {
    this.#note(operation);
    return work();
  }

  #note(operation: Operation): void {
    this.done.push(operation);
    const failure = this.failure(operation);
    if (failure !== null) throw failure;
  }
}

const BROKEN = Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });

function failing(...operations: Operation[]): (operation: Operation) => Error | null {
  return (operation) => (operations.includes(operation) ? BROKEN : null);
}

/** `logged` returns the log lines with their levels. */
async function openIt(
  options: Partial<JournalOptions> = {},
): Promise<{ journal: Journal; logged: () => string[]; disk: TestDisk }> {
  const { logger, lines } = recordLogs();
  const disk = new TestDisk();
  const journal = await openJournal({
    directory,
    name: 'node_01',
    logger,
    clock: { nowMs: () => 0 },
    disk,
    ...options,
  });
  opened.push(journal);
  return { journal, logged: () => lines.map(({ level, message }) => `${level}: ${message}`), disk };
}

/** Opens the journal of the next process, which takes over everything. */
async function takeOverAll(name = 'node_99') {
  const { journal, logged } = await openIt({ name });
  const ids = await journal.takeOver();
  return { entries: await Promise.all(ids.map((id) => journal.read(id))), journal, logged };
}

function leave(name: string, bytes: Buffer | string): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), bytes);
}

function lineOf(entry: string): string {
  return `\n${crc32(entry).toString(16).padStart(8, '0')} ${entry}\n`;
}

const entryOf = (number: number): string => JSON.stringify({ call: `call_${number}`, text: 'Grüße, 世界 🙂' });

/** Resolves when all tasks that the journal has begun are done: an append runs after them. */
async function settle(journal: Journal): Promise<void> {
  journal.remove(await journal.append('"settle"'));
}

describe('journal', () => {
  it('stores an entry and returns it unchanged', async () => {
    const { journal } = await openIt();
    const id = await journal.append(entryOf(1));
    assert.equal(await journal.read(id), entryOf(1));
    assert.equal(journal.size, 1);
    assert.equal(readFileSync(join(directory, 'node_01.journal'), 'utf8'), lineOf(entryOf(1)));
  });

  it('makes its directory and files inaccessible to other users', async () => {
    await openIt();
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    assert.equal(statSync(join(directory, 'node_01.journal')).mode & 0o777, 0o600);
  });

  it('makes the name of a new file durable before it stores an entry there', async () => {
    const { journal, disk } = await openIt();
    await journal.append(entryOf(1));
    assert.deepEqual(
      disk.done.filter((operation) => operation !== 'freeBytes'),
      ['create', 'syncDirectory', 'write', 'sync', 'facts'],
    );
  });

  it('stores many concurrent entries with one write and one sync', async () => {
    const { journal, disk } = await openIt();
    const entries = Array.from({ length: 200 }, (_, i) => entryOf(i));
    const ids = await Promise.all(entries.map((entry) => journal.append(entry)));
    assert.equal(disk.count('sync'), 1);
    assert.equal(disk.count('write'), 1);
    assert.deepEqual(await Promise.all(ids.map((id) => journal.read(id))), entries);
  });

  it('stores entries larger than a write, and larger than a read', async () => {
    const { journal, disk } = await openIt();
    const entries = [1, 2, 3].map((n) => JSON.stringify(String(n).repeat(700_000)));
    await Promise.all(entries.map((entry) => journal.append(entry)));
    assert.equal(disk.count('write'), 2);
    assert.equal(disk.count('sync'), 1);
    assert.deepEqual((await takeOverAll()).entries, entries);
  });

  it('refuses entries that are not one line of text', async () => {
    const { journal } = await openIt();
    for (const entry of ['', 'a\nb', '"\ud800"']) await assert.rejects(journal.append(entry), /one line of text/);
    assert.equal(journal.size, 0);
  });

  it('reports a removed entry as gone', async () => {
    const { journal } = await openIt();
    const id = await journal.append(entryOf(1));
    journal.remove(id);
    journal.remove(id);
    assert.equal(journal.size, 0);
    await assert.rejects(journal.read(id), JournalEntryGoneError);
  });

  it('empties its file when the last entry is removed, and not before', async () => {
    const { journal } = await openIt();
    const [first, second] = await Promise.all([journal.append(entryOf(1)), journal.append(entryOf(2))]);
    journal.remove(first!);
    const third = await journal.append(entryOf(3));
    const path = join(directory, 'node_01.journal');
    assert.equal(
      statSync(path).size,
      [1, 2, 3].map((n) => Buffer.byteLength(lineOf(entryOf(n)))).reduce((a, b) => a + b),
    );
    journal.remove(second!);
    journal.remove(third);
    // Appended after the removal, and stored after the emptying.
    const fourth = await journal.append(entryOf(4));
    assert.equal(readFileSync(path, 'utf8'), lineOf(entryOf(4)));
    assert.equal(await journal.read(fourth), entryOf(4));
  });

  it('does not empty its file during an append', async () => {
    const { journal } = await openIt();
    const first = await journal.append(entryOf(1));
    const second = journal.append(entryOf(2));
    journal.remove(first);
    assert.equal(await journal.read(await second), entryOf(2));
    assert.deepEqual((await takeOverAll()).entries.at(-1), entryOf(2));
  });

  it('starts a new file at the size limit, and deletes the old one with its last entry', async () => {
    const { journal } = await openIt({ fileBytesMax: 100 });
    const ids = [];
    for (let n = 1; n <= 4; n++) ids.push(await journal.append(entryOf(n)));
    assert.deepEqual(readdirSync(directory).sort(), ['node_01.2.journal', 'node_01.journal']);
    journal.remove(ids[0]!);
    journal.remove(ids[1]!);
    await settle(journal);
    assert.equal(readdirSync(directory).includes('node_01.journal'), false);
    assert.equal(await journal.read(ids[2]!), entryOf(3));
  });

  it('leaves no file if it has no entry when it is closed', async () => {
    const { journal } = await openIt();
    journal.remove(await journal.append(entryOf(1)));
    await journal.close();
    assert.deepEqual(readdirSync(directory), []);
    assert.equal(journal.isWritable, false);
    await assert.rejects(journal.append(entryOf(2)), JournalUnwritableError);
  });

  it('stores what was appended before it was closed, for the next process', async () => {
    const { journal } = await openIt();
    // More than one batch.
    const entries = Array.from({ length: 600 }, (_, i) => entryOf(i));
    const stored = entries.map((entry) => journal.append(entry));
    await journal.close();
    await Promise.all(stored);
    assert.deepEqual(readdirSync(directory), ['node_01.journal']);
    assert.deepEqual((await takeOverAll()).entries, entries);
  });

  it('does not keep entries in memory', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const usedBytes = (): number => {
      // Buffers are swept concurrently: the second collection waits for the sweep of the first one.
      collectGarbage();
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const { journal } = await openIt();
    const before = usedBytes();
    for (let n = 0; n < 40; n++) await journal.append(JSON.stringify('x'.repeat(1024 * 1024)));
    assert(usedBytes() - before < 8 * 1024 * 1024, 'of 40 MiB');
    assert.equal(journal.size, 40);
  });
});

describe('opening a journal', () => {
  it('gives advice if the directory cannot be created', async () => {
    const file = join(root, 'a-file');
    writeFileSync(file, '');
    await assert.rejects(
      openIt({ directory: join(file, 'journal') }),
      (error) =>
        error instanceof JournalUnwritableError &&
        /^The journal .*node_01 is not writable: ENOTDIR: .*database\.dataDir must be a writable directory/.test(
          error.message,
        ),
    );
  });

  it('fails, and leaves no file, if the name of its file cannot be made durable', async () => {
    const disk = new TestDisk();
    disk.failure = failing('syncDirectory');
    await assert.rejects(openIt({ disk }), JournalUnwritableError);
    assert.deepEqual(readdirSync(directory), []);
  });

  it('does not overwrite files of an earlier process with the same name', async () => {
    leave('node_01.journal', lineOf(entryOf(1)));
    leave('node_01.7.damaged', 'x');
    const { journal } = await openIt();
    await journal.append(entryOf(2));
    assert.deepEqual(readdirSync(directory).sort(), ['node_01.7.damaged', 'node_01.8.journal', 'node_01.journal']);
    const [id] = await journal.takeOver();
    assert.equal(await journal.read(id!), entryOf(1));
    assert.equal(journal.size, 2);
  });
});

describe('taking over a journal', () => {
  it('ignores a torn last line, wherever it is torn', async () => {
    const whole = Buffer.from(lineOf(entryOf(1)) + lineOf(entryOf(2)));
    const firstBytes = Buffer.byteLength(lineOf(entryOf(1)));
    for (let cut = firstBytes; cut < whole.length; cut++) {
      leave('node_02.journal', whole.subarray(0, cut));
      const { entries, journal, logged } = await takeOverAll();
      assert.deepEqual(entries, [entryOf(1)], `torn at byte ${cut}`);
      assert.deepEqual(logged(), [], `torn at byte ${cut}`);
      journal.remove(1);
      await journal.close();
      assert.deepEqual(readdirSync(directory), []);
    }
  });

  it('never returns an altered entry, whichever bit flips, and keeps the file for an operator', async () => {
    const lines = [1, 2, 3].map((n) => lineOf(entryOf(n)));
    const bytes = Buffer.from(lines.join(''));
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 2), fc.nat(7), async (at, bit) => {
        const flipped = Buffer.from(bytes);
        flipped[at]! ^= 1 << bit;
        leave('node_02.journal', flipped);
        const { entries, journal, logged } = await takeOverAll();
        const intact = [1, 2, 3].map(entryOf).filter((entry) => entries.includes(entry));
        assert.deepEqual(entries, intact);
        assert(entries.length >= 2 - (bytes[at] === 0x0a ? 1 : 0));
        if (entries.length < 3) assert.equal(logged().filter((line) => line.startsWith('error:')).length, 1);
        for (let id = 1; id <= entries.length; id++) journal.remove(id);
        await journal.close();
        assert.deepEqual(readdirSync(directory), entries.length < 3 ? ['node_99.2.damaged'] : []);
        rmSync(directory, { recursive: true });
      }),
      { numRuns: propertyRuns(150) },
    );
  });

  it('finds the entries among arbitrary bytes, and in lines of any length', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.oneof(
            fc.record({ entry: fc.string({ minLength: 1, unit: anyCharacter, maxLength: 60 }) }),
            fc.record({ repeats: fc.integer({ min: 60_000, max: 70_000 }) }),
            fc.record({ noise: fc.uint8Array({ minLength: 1, maxLength: 40 }) }),
          ),
          { maxLength: 8 },
        ),
        async (parts) => {
          const expected: string[] = [];
          const bytes = parts.map((part) => {
            // Noise without line breaks is never an entry and does not damage the next one.
            if ('noise' in part) return Buffer.from(part.noise.map((byte) => (byte === 0x0a ? 0x20 : byte)));
            const entry = 'repeats' in part ? 'x'.repeat(part.repeats) : part.entry.replaceAll('\n', ' ');
            expected.push(entry);
            return Buffer.from(lineOf(entry));
          });
          leave('node_02.journal', Buffer.concat(bytes));
          const { entries, journal } = await takeOverAll();
          assert.deepEqual(entries, expected);
          await journal.close();
          rmSync(directory, { recursive: true });
        },
      ),
      { numRuns: propertyRuns(60) },
    );
  });

  it('returns the entries of the least recently written file first', async () => {
    const { journal } = await openIt({ fileBytesMax: 1 });
    for (let n = 1; n <= 3; n++) {
      await journal.append(entryOf(n));
      const name = n === 1 ? 'node_01.journal' : `node_01.${n}.journal`;
      const handle = await open(join(directory, name), 'r');
      // Reverses the order.
      await handle.utimes(1000 - n, 1000 - n);
      await handle.close();
    }
    assert.deepEqual((await takeOverAll()).entries, [entryOf(3), entryOf(2), entryOf(1)]);
  });

  it('deletes a file with its last entry, and an empty one at once', async () => {
    leave('node_02.journal', lineOf(entryOf(1)) + lineOf(entryOf(2)));
    leave('node_03.journal', '');
    const { journal } = await takeOverAll();
    assert.deepEqual(readdirSync(directory).sort(), ['node_99.journal', 'node_99.2.journal'].sort());
    journal.remove(1);
    await settle(journal);
    assert.equal(readdirSync(directory).length, 2);
    journal.remove(2);
    await settle(journal);
    assert.deepEqual(readdirSync(directory), ['node_99.journal']);
  });

  it('takes over entries up to its limit, and more the next time', async () => {
    for (let n = 1; n <= 5; n++) leave(`node_0${n}.journal`, lineOf(entryOf(n)));
    const { journal } = await openIt({ name: 'node_99', entriesMax: 2 });
    const first = await journal.takeOver();
    assert.equal(first.length, 2);
    assert.deepEqual(await journal.takeOver(), []);
    for (const id of first) journal.remove(id);
    assert.equal((await journal.takeOver()).length, 2);
    assert.equal(journal.isWritable, true, 'entries of others do not count');
  });

  it('leaves entries that it has not removed to the next process', async () => {
    leave('node_02.journal', lineOf(entryOf(1)) + lineOf(entryOf(2)));
    const first = await takeOverAll('node_98');
    first.journal.remove(1);
    await first.journal.close();
    assert.deepEqual((await takeOverAll()).entries, [entryOf(1), entryOf(2)]);
  });

  it('logs a file that it cannot read, and continues with the others', async () => {
    leave('node_02.journal', lineOf(entryOf(2)));
    leave('node_03.journal', lineOf(entryOf(3)));
    mkdirSync(join(directory, 'node_04.journal'));
    const disk = new TestDisk();
    let opens = 0;
    disk.open = async (path) => (opens++ === 0 ? Promise.reject(BROKEN) : nodeDisk.open(path));
    const { journal, logged } = await openIt({ name: 'node_99', disk });
    assert.equal((await journal.takeOver()).length, 1);
    assert.deepEqual(logged(), ['error: failed to take over a journal file']);
    assert.equal((await journal.takeOver()).length, 1, 'it is taken the next time');
  });

  it('finds every entry that a killed process acknowledged', async () => {
    const program = `
      const { openJournal } = await import(${JSON.stringify(import.meta.resolve('./journal.ts'))});
      const silent = { debug() {}, info() {}, warn() {}, error() {} };
      const journal = await openJournal({
        directory: ${JSON.stringify(directory)}, name: 'node_01', logger: silent, clock: { nowMs: () => Date.now() }, fileBytesMax: 20_000,
      });
      const { writeSync } = await import('node:fs');
      async function work(worker) {
        for (let n = 0; ; n++) {
          const entry = JSON.stringify({ worker, n, filler: 'x'.repeat(n % 500) });
          await journal.append(entry);
          writeSync(1, entry + '\\n');
        }
      }
      await Promise.all([0, 1, 2, 3, 4].map(work));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    const acknowledged: string[] = [];
    for await (const line of createInterface(child.stdout)) {
      acknowledged.push(line);
      if (acknowledged.length === 500) child.kill('SIGKILL');
    }
    assert.equal(await ended, 'SIGKILL');
    const found = new Set((await takeOverAll()).entries);
    // The kill may have cut the last line of the pipe.
    const complete = acknowledged.filter((line) => line.endsWith('}'));
    assert(complete.length >= 500);
    assert.deepEqual(
      complete.filter((entry) => !found.has(entry)),
      [],
    );
  });
});

describe('journal on a failing disk', () => {
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(() => {
    mock.timers.reset();
  });

  it('refuses a batch that finds the disk full, leaves nothing of it, and recovers when there is space', async () => {
    const { journal, logged, disk } = await openIt();
    const first = await journal.append(entryOf(1));
    disk.fullAfterBytes = lineOf(entryOf(2)).length + 30;
    const batch = await Promise.allSettled([2, 3, 4].map((n) => journal.append(entryOf(n))));
    for (const result of batch) {
      assert(result.status === 'rejected' && result.reason instanceof JournalUnwritableError);
      assert.match(result.reason.message, /ENOSPC: no space left on device/);
    }
    assert.equal(journal.isWritable, false);
    assert.match(journal.problem!, /the last write to .* failed: ENOSPC/);
    assert.equal(readFileSync(join(directory, 'node_01.journal'), 'utf8'), lineOf(entryOf(1)));

    await assert.rejects(journal.append(entryOf(5)), JournalUnwritableError);
    mock.timers.tick(1000);
    await assert.rejects(journal.append(entryOf(6)), JournalUnwritableError, 'the trial also fails');
    assert.deepEqual(logged(), [REFUSED], 'logged once');

    disk.fullAfterBytes = null;
    mock.timers.tick(1000);
    await until(() => logged().includes(WRITABLE_AGAIN));
    assert.equal(journal.isWritable, true);
    assert.equal(journal.problem, null);
    const last = await journal.append(entryOf(7));
    assert.equal(await journal.read(first), entryOf(1));
    assert.equal(await journal.read(last), entryOf(7));
    assert.equal(readFileSync(join(directory, 'node_01.journal'), 'utf8'), lineOf(entryOf(1)) + lineOf(entryOf(7)));
    assert.deepEqual(logged(), [REFUSED, WRITABLE_AGAIN]);
  });

  it('tries appends of calls in flight even while it takes no new calls', async () => {
    const { journal, disk } = await openIt();
    disk.fullAfterBytes = 0;
    await assert.rejects(journal.append(entryOf(1)), JournalUnwritableError);
    disk.fullAfterBytes = null;
    const id = await journal.append(entryOf(2));
    assert.equal(await journal.read(id), entryOf(2));
    assert.equal(journal.isWritable, false, 'only a trial ends the fault');
  });

  it('treats entries as not stored if the sync failed, and stops writing to that file', async () => {
    const { journal, disk } = await openIt();
    const first = await journal.append(entryOf(1));
    let failures = 1;
    disk.failure = (operation) => (operation === 'sync' && failures-- > 0 ? BROKEN : null);
    await assert.rejects(journal.append(entryOf(2)), JournalUnwritableError);
    const third = await journal.append(entryOf(3));
    assert.equal(await journal.read(first), entryOf(1));
    assert.equal(await journal.read(third), entryOf(3));
    assert.equal(readFileSync(join(directory, 'node_01.journal'), 'utf8'), lineOf(entryOf(1)));
    assert.equal(readFileSync(join(directory, 'node_01.2.journal'), 'utf8'), lineOf(entryOf(3)));
    journal.remove(first);
    await settle(journal);
    assert.deepEqual(readdirSync(directory), ['node_01.2.journal']);
  });

  it('truncates a refused entry as soon as the disk allows it, and uses a new file until then', async () => {
    const { journal, disk } = await openIt();
    await journal.append(entryOf(1));
    disk.failure = failing('facts', 'truncate');
    await assert.rejects(journal.append(entryOf(2)), JournalUnwritableError);
    const path = join(directory, 'node_01.journal');
    assert.equal(readFileSync(path, 'utf8'), lineOf(entryOf(1)) + lineOf(entryOf(2)));
    disk.failure = failing('truncate');
    await journal.append(entryOf(3));
    disk.failure = () => null;
    mock.timers.tick(1000);
    await settle(journal);
    assert.equal(readFileSync(path, 'utf8'), lineOf(entryOf(1)));
    const { entries } = await takeOverAll();
    assert(entries.includes(entryOf(1)) && entries.includes(entryOf(3)) && !entries.includes(entryOf(2)));
  });

  it('opens a bounded number of files on a disk where every operation fails', async () => {
    const { journal, disk } = await openIt();
    disk.failure = failing('sync', 'truncate', 'remove');
    for (let n = 0; n < 200; n++) await assert.rejects(journal.append(entryOf(n)), JournalUnwritableError);
    assert(readdirSync(directory).length <= 64);
    disk.failure = () => null;
    mock.timers.tick(1000);
    await settle(journal);
    assert.equal(journal.isWritable, true);
    assert.equal(readdirSync(directory).length, 1);
  });

  it('is not writable while no new file can be created, and recovers', async () => {
    const { journal, logged, disk } = await openIt();
    disk.failure = failing('sync', 'create');
    await assert.rejects(journal.append(entryOf(1)), JournalUnwritableError);
    mock.timers.tick(1000);
    await assert.rejects(journal.append(entryOf(2)), JournalUnwritableError);
    disk.failure = () => null;
    mock.timers.tick(1000);
    await until(() => logged().includes(WRITABLE_AGAIN));
    assert.equal(await journal.read(await journal.append(entryOf(3))), entryOf(3));
  });

  it('keeps its own file if an entry is damaged, and reports the entry as gone', async () => {
    const { journal, logged } = await openIt();
    const ids = await Promise.all([1, 2].map((n) => journal.append(entryOf(n))));
    const handle = await open(join(directory, 'node_01.journal'), 'r+');
    await handle.write('#', 20);
    await handle.close();
    await assert.rejects(journal.read(ids[0]!), JournalEntryGoneError);
    assert.equal(await journal.read(ids[1]!), entryOf(2));
    assert.deepEqual(logged(), ['error: a journal entry is damaged']);
    journal.remove(ids[1]!);
    const third = await journal.append(entryOf(3));
    assert.equal(await journal.read(third), entryOf(3));
    assert.deepEqual(readdirSync(directory).sort(), ['node_01.2.journal', 'node_01.damaged']);
  });
});

describe('reserve of free space', () => {
  it('is kept for calls in flight; free space is read at most once a second, when calls arrive', async () => {
    let nowMs = 0;
    const clock: Clock = { nowMs: () => nowMs };
    const disk = new TestDisk();
    disk.freeSpace = 2 ** 30;
    const { journal, logged } = await openIt({ clock, disk });
    assert.equal(disk.count('freeBytes'), 1, 'at the start');

    disk.freeSpace = 5000;
    nowMs = 999;
    assert.equal(journal.isWritable, true);
    assert.equal(disk.count('freeBytes'), 1);
    nowMs = 1000;
    assert.equal(journal.isWritable, true, 'it does not wait');
    await until(() => logged().includes(REFUSED));
    assert.equal(journal.isWritable, false);
    assert.equal(disk.count('freeBytes'), 2);
    assert.match(journal.problem!, /has 5000 bytes free, less than the 8388608/);
    assert.equal(await journal.read(await journal.append(entryOf(1))), entryOf(1));

    disk.freeSpace = 2 ** 30;
    nowMs = 2000;
    assert.equal(journal.isWritable, false);
    await until(() => logged().includes(WRITABLE_AGAIN));
    assert.equal(journal.isWritable, true);
  });

  it('is checked at the start, and is missing if free space cannot be read', async () => {
    const disk = new TestDisk();
    disk.freeSpace = 0;
    assert.equal((await openIt({ disk })).journal.isWritable, false);
    const broken = new TestDisk();
    broken.failure = failing('freeBytes');
    assert.match((await openIt({ disk: broken, name: 'node_02' })).journal.problem!, /cannot be read: EIO/);
  });
});

describe('limits of a journal', () => {
  it('refuse new calls at the number of entries, and entries at twice that number', async () => {
    const { journal, logged } = await openIt({ entriesMax: 3 });
    const ids = [];
    for (let n = 1; n <= 6; n++) {
      assert.equal(journal.isWritable, n <= 3);
      ids.push(await journal.append(entryOf(n)));
    }
    assert.match(journal.problem!, /has 6 entries, and its limit is 3/);
    await assert.rejects(journal.append(entryOf(7)), JournalUnwritableError);
    for (const id of ids) journal.remove(id);
    assert.equal(journal.isWritable, true);
    assert.deepEqual(logged(), [REFUSED, WRITABLE_AGAIN]);
  });

  it('include entries that wait for the disk', async () => {
    const { journal } = await openIt({ entriesMax: 3 });
    const results = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7, 8].map((n) => journal.append(entryOf(n))));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 6);
    assert.equal(journal.size, 6);
  });

  it('refuse new calls at the size of the files, and entries at twice that size', async () => {
    const { journal, logged } = await openIt({ bytesMax: 1000, fileBytesMax: 300 });
    const entry = JSON.stringify('x'.repeat(189 - 2));
    const ids = [];
    for (let n = 1; n <= 10; n++) {
      assert.equal(journal.isWritable, n <= 5);
      ids.push(await journal.append(entry));
    }
    assert.match(journal.problem!, /has 2000 bytes, and its limit is 1000/);
    await assert.rejects(journal.append(entry), JournalUnwritableError);
    for (const id of ids.slice(0, 6)) journal.remove(id);
    await until(() => logged().includes(WRITABLE_AGAIN));
    assert.equal(journal.isWritable, true);
  });
});

it('a journal file is named after its process', async () => {
  await openIt({ name: 'node_0kq3' });
  assert.deepEqual(
    readdirSync(directory).map((name) => basename(name)),
    ['node_0kq3.journal'],
  );
  await assert.rejects(openIt({ name: '../x' }), /valid as a file name/);
});
