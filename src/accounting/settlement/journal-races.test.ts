import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import type { Disk, DiskFile } from '../../journal/disk.ts';
import {
  type EntryId,
  type Journal,
  JournalEntryGoneError,
  JournalUnwritableError,
  openJournal,
} from '../../journal/journal.ts';
import { silentLogger } from '../../lib/logger.ts';

/**
 * Several journals share a directory, and every operation on the disk is a step. fast-check draws which process makes the next step, so a
 * failure prints the order that causes it. The disk is in memory. It models what a machine may forget when it loses power: data since the
 * last sync, and names since the last sync of the directory.
 */
const DIRECTORY = '/journal';

interface Inode {
  readonly identity: string;
  bytes: Buffer;
  lasting: Buffer;
}

/** A failed sync may have written everything nevertheless. */
type SyncOutcome = 'done' | 'lost' | 'written';

class Machine {
  #names = new Map<string, Inode>();
  #lastingNames = new Map<string, Inode>();
  #inodes = 0;
  #waiting: { readonly process: number; readonly go: () => void }[] = [];
  readonly #dead = new Set<number>();

  get fileNames(): string[] {
    return [...this.#names.keys()];
  }

  /** The disk as one process sees it. `outcomeOfSync` is called for each sync. */
  diskOf(process: number, outcomeOfSync: () => SyncOutcome = () => 'done'): Disk {
    const step = async <Result>(work: () => Result): Promise<Result> => {
      await new Promise<void>((go) => this.#waiting.push({ process, go }));
      return work();
    };
    const fileOf = (inode: Inode): DiskFile => ({
      write: (bytes, offset) =>
        step(() => {
          // Never more than half, because a process may be killed within a write.
          const part = bytes.subarray(0, Math.ceil(bytes.length / 2));
          const grown = Buffer.alloc(Math.max(inode.bytes.length, offset + part.length));
          inode.bytes.copy(grown);
          part.copy(grown, offset);
          inode.bytes = grown;
          return part.length;
        }),
      read: (into, offset) => step(() => inode.bytes.subarray(offset).copy(into)),
      sync: () =>
        step(() => {
          const outcome = outcomeOfSync();
          if (outcome !== 'lost') inode.lasting = inode.bytes;
          if (outcome !== 'done') throw new Error('EIO: sync failed');
        }),
      truncate: (bytes) =>
        step(() => {
          inode.bytes = Buffer.from(inode.bytes.subarray(0, bytes));
        }),
      identity: () => step(() => inode.identity),
      close: () => Promise.resolve(),
    });
    const find = (path: string): Inode => {
      const inode = this.#names.get(path);
      if (inode === undefined) throw Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
      return inode;
    };
    return {
      makeDirectory: () => Promise.resolve(),
      list: () => step(() => this.fileNames.map((path) => path.slice(DIRECTORY.length + 1))),
      create: (path) =>
        step(() => {
          assert(!this.#names.has(path), 'a file is made once');
          const inode = { identity: `inode:${++this.#inodes}`, bytes: Buffer.alloc(0), lasting: Buffer.alloc(0) };
          this.#names.set(path, inode);
          return fileOf(inode);
        }),
      open: (path) => step(() => fileOf(find(path))),
      facts: (path) =>
        step(() => {
          const inode = this.#names.get(path);
          return inode === undefined ? null : { identity: inode.identity, modifiedMs: 0 };
        }),
      rename: (from, to) =>
        step(() => {
          const inode = find(from);
          assert(!this.#names.has(to), 'no file replaces another');
          this.#names.delete(from);
          this.#names.set(to, inode);
        }),
      remove: (path) =>
        step(() => {
          find(path);
          this.#names.delete(path);
        }),
      syncDirectory: () =>
        step(() => {
          this.#lastingNames = new Map(this.#names);
        }),
      freeBytes: () => Promise.resolve(Number.POSITIVE_INFINITY),
    };
  }

  /** The process makes no further steps. */
  kill(process: number): void {
    this.#dead.add(process);
    this.#waiting = this.#waiting.filter((waiting) => waiting.process !== process);
  }

  /** Kills all processes and loses unsynced data: a share of the appended data survives; any other change survives or is lost as a whole. */
  losePower(processes: number, keepsNames: boolean, keptShare: number): void {
    for (let process = 0; process < processes; process++) this.kill(process);
    if (!keepsNames) this.#names = new Map(this.#lastingNames);
    for (const inode of this.#names.values()) {
      const { bytes, lasting } = inode;
      const isAppended = bytes.length > lasting.length && bytes.subarray(0, lasting.length).equals(lasting);
      if (isAppended) {
        const kept = lasting.length + Math.floor((bytes.length - lasting.length) * keptShare);
        inode.bytes = Buffer.from(bytes.subarray(0, kept));
      } else if (keptShare < 0.5) {
        inode.bytes = lasting;
      }
      inode.lasting = inode.bytes;
    }
  }

  /** Lets processes make steps until none waits; `pick` chooses one of the waiting processes. Stops early on `null`. */
  async run(pick: (count: number) => number | null): Promise<void> {
    for (;;) {
      // After a step, its process runs until its next one: only microtasks and iterations of the event loop.
      for (let iteration = 0; iteration < 4; iteration++) await new Promise(setImmediate);
      this.#waiting = this.#waiting.filter(({ process }) => !this.#dead.has(process));
      if (this.#waiting.length === 0) return;
      const picked = pick(this.#waiting.length);
      if (picked === null) return;
      this.#waiting.splice(picked, 1)[0]!.go();
    }
  }

  /** Runs steps in order of waiting until a promise settles. */
  async finish<Result>(promise: Promise<Result>): Promise<Result> {
    // It may reject during the steps; its caller awaits it and gets the error.
    promise.catch(() => undefined);
    await this.run(() => 0);
    return promise;
  }
}

function open(machine: Machine, process: number, outcomeOfSync?: () => SyncOutcome): Promise<Journal> {
  return openJournal({
    directory: DIRECTORY,
    name: `node_${process}`,
    logger: silentLogger,
    clock: { nowMs: () => 0 },
    disk: machine.diskOf(process, outcomeOfSync),
    fileBytesMax: 120,
  });
}

/** The entries that a process finds that starts after all others. */
async function findAll(machine: Machine): Promise<{ entries: Set<string>; journal: Journal; ids: EntryId[] }> {
  const journal = await machine.finish(open(machine, 99));
  const ids = await machine.finish(journal.takeOver());
  const entries = await machine.finish(Promise.all(ids.map((id) => journal.read(id))));
  return { entries: new Set(entries), journal, ids };
}

/** The outcome of entries, as the journals reported it. */
class Tally {
  readonly acknowledged = new Set<string>();
  readonly refused = new Set<string>();
  /** Removed by a process that had read or written it. */
  readonly done = new Set<string>();

  get expected(): string[] {
    return [...this.acknowledged].filter((entry) => !this.done.has(entry));
  }
}

/** Appends entries in groups, and removes some of them once they are stored. */
async function own(journal: Journal, tally: Tally, process: number, groups: readonly Group[]): Promise<void> {
  let number = 0;
  for (const { size, removes } of groups) {
    const appended = Array.from({ length: size }, async () => {
      const entry = JSON.stringify(`process ${process} entry ${number++}`);
      try {
        const id = await journal.append(entry);
        tally.acknowledged.add(entry);
        if (!removes) return;
        tally.done.add(entry);
        journal.remove(id);
      } catch (error) {
        assert(error instanceof JournalUnwritableError);
        tally.refused.add(entry);
      }
    });
    await Promise.all(appended);
  }
}

/** Takes over all entries, and processes a share of them. */
async function takeOver(journal: Journal, tally: Tally, share: number): Promise<void> {
  const ids = await journal.takeOver();
  for (const [index, id] of ids.entries()) {
    if (index >= ids.length * share) return;
    try {
      tally.done.add(await journal.read(id));
    } catch (error) {
      assert(error instanceof JournalEntryGoneError);
    }
    journal.remove(id);
  }
}

interface Group {
  readonly size: number;
  readonly removes: boolean;
}

const groups = fc.array(fc.record({ size: fc.integer({ min: 1, max: 3 }), removes: fc.boolean() }), {
  minLength: 1,
  maxLength: 5,
});
/** Which of the waiting processes goes next. After the last choice, the one that has waited longest goes next. */
const order = fc.array(fc.nat(6), { minLength: 20, maxLength: 200, size: 'max' });

function pickBy(picks: readonly number[]): (count: number) => number {
  let next = 0;
  return (count) => (picks[next++] ?? 0) % count;
}

describe('journals that share a directory', () => {
  it('lose no acknowledged entry, in any order of steps of owners and takers', async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        groups,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 3 }),
        order,
        async (first, second, shares, picks) => {
          const machine = new Machine();
          const tally = new Tally();
          const [a, b, taker] = await machine.finish(Promise.all([0, 1, 2].map((process) => open(machine, process))));
          const work = Promise.all([
            own(a!, tally, 0, first),
            own(b!, tally, 1, second),
            (async () => {
              for (const share of shares) await takeOver(taker!, tally, share);
            })(),
            takeOver(b!, tally, 1),
          ]);
          await machine.run(pickBy(picks));
          await work;
          assert.equal(tally.refused.size, 0);
          for (const journal of [a!, b!, taker!]) await machine.finish(journal.close());
          const { entries, journal, ids } = await findAll(machine);
          assert.deepEqual(
            tally.expected.filter((entry) => !entries.has(entry)),
            [],
          );
          // Files do not accumulate: all of them are removed with their entries.
          for (const id of ids) journal.remove(id);
          await machine.finish(journal.close());
          assert.deepEqual(
            machine.fileNames.filter((name) => name.endsWith('.journal')),
            [],
          );
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  });

  it('lose no acknowledged entry if processes are killed or the machine loses power at any step', async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        order,
        fc.nat(120),
        fc.option(fc.record({ keepsNames: fc.boolean(), keptShare: fc.double({ min: 0, max: 1, noNaN: true }) })),
        async (work, picks, steps, power) => {
          const machine = new Machine();
          const tally = new Tally();
          const [a, taker] = await machine.finish(Promise.all([open(machine, 0), open(machine, 1)]));
          void own(a!, tally, 0, work);
          void takeOver(taker!, tally, 0.5);
          const pick = pickBy(picks);
          let step = 0;
          await machine.run((count) => (step++ < steps ? pick(count) : null));
          assert.equal(tally.refused.size, 0);
          machine.kill(0);
          machine.kill(1);
          if (power !== null) machine.losePower(2, power.keepsNames, power.keptShare);
          const { entries } = await findAll(machine);
          assert.deepEqual(
            tally.expected.filter((entry) => !entries.has(entry)),
            [],
          );
        },
      ),
      { numRuns: propertyRuns(300) },
    );
  });

  it('keep acknowledged entries and no refused ones, whichever syncs fail, even if power is lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        groups,
        fc.array(fc.constantFrom<SyncOutcome>('done', 'lost', 'written'), { maxLength: 20, size: 'max' }),
        fc.boolean(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        async (work, outcomes, keepsNames, keptShare) => {
          const machine = new Machine();
          const tally = new Tally();
          let syncs = 0;
          const journal = await machine.finish(open(machine, 0, () => outcomes[syncs++] ?? 'done'));
          await machine.finish(own(journal, tally, 0, work));
          const failed = outcomes.slice(0, syncs).map((outcome) => outcome !== 'done');
          const isCut = !failed.some((fails, sync) => fails && failed[sync + 1] === true);
          machine.losePower(1, keepsNames, keptShare);
          const { entries } = await findAll(machine);
          assert.deepEqual(
            tally.expected.filter((entry) => !entries.has(entry)),
            [],
          );
          // If the truncation itself could not be synced, power was lost before it could be retried.
          if (isCut)
            assert.deepEqual(
              [...tally.refused].filter((entry) => entries.has(entry)),
              [],
            );
        },
      ),
      { numRuns: propertyRuns(150) },
    );
  });

  it('return each entry to at least one of two concurrent takers', async () => {
    await fc.assert(
      fc.asyncProperty(groups, order, async (work, picks) => {
        const machine = new Machine();
        const tally = new Tally();
        const left = await machine.finish(open(machine, 0));
        await machine.finish(
          own(
            left,
            tally,
            0,
            work.map((group) => ({ ...group, removes: false })),
          ),
        );
        machine.kill(0);
        const takers = await machine.finish(Promise.all([open(machine, 1), open(machine, 2)]));
        const taken = Promise.all(takers.map((taker) => takeOver(taker, tally, 1)));
        await machine.run(pickBy(picks));
        await taken;
        assert.deepEqual(tally.expected, []);
        for (const taker of takers) await machine.finish(taker.close());
        assert.deepEqual(machine.fileNames, []);
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it('let the owner read entries that were taken over, and let the taker see removals by the owner', async () => {
    const machine = new Machine();
    const [owner, taker] = await machine.finish(Promise.all([open(machine, 0), open(machine, 1)]));
    const id = await machine.finish(owner!.append('"first"'));
    const [taken] = await machine.finish(taker!.takeOver());
    assert.equal(await machine.finish(owner!.read(id)), '"first"');
    owner!.remove(id);
    await machine.run(() => 0);
    // It has the same length and the same place in the file to which the owner still writes.
    const second = await machine.finish(owner!.append('"other"'));
    assert.equal(await machine.finish(owner!.read(second)), '"other"');
    await assert.rejects(machine.finish(taker!.read(taken!)), JournalEntryGoneError);
    assert.equal(taker!.size, 0, 'there is nothing left to remove');
    await machine.run(() => 0);
    assert.deepEqual(machine.fileNames.sort(), ['/journal/node_0.2.journal', '/journal/node_1.journal']);
  });

  it('leave nothing of a refused entry in a file that was taken over', async () => {
    const machine = new Machine();
    // The entry goes to the file that was taken over, and then the new file fails.
    const outcomes: SyncOutcome[] = ['done', 'done', 'done', 'lost'];
    const owner = await machine.finish(open(machine, 0, () => outcomes.shift() ?? 'done'));
    await machine.finish(owner.append('"first"'));
    const taker = await machine.finish(open(machine, 1));
    await machine.finish(taker.takeOver());
    await assert.rejects(machine.finish(owner.append('"second"')), JournalUnwritableError);
    assert.deepEqual(outcomes, [], 'all the syncs were made');
    assert.deepEqual([...(await findAll(machine)).entries], ['"first"']);
  });
});
