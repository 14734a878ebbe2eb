import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import type { Database } from '../../src/db/database.ts';
import type { TestDatabase } from './database.ts';
import { emptyDatabase, type NewDatabase, readNewDatabase } from './emptied-database.ts';
import { KeptReaders } from './kept-readers.ts';
import { type Loan, lend, type PreparedTexts } from './lent-database.ts';
import { handlesOf, spreadDatabase } from './spread-database.ts';

/**
 * Databases that tests of this process have returned. Creating one and opening its connections takes as long as starting and stopping a
 * gateway; emptying one takes a few milliseconds.
 */

/** State that outlives the loans of a partition. */
interface Memory {
  readonly texts: PreparedTexts;
  readonly readers: KeptReaders;
}

interface Kept {
  readonly made: TestDatabase;
  readonly memories: readonly Memory[];
  /** One per partition. */
  readonly asNew: readonly NewDatabase[];
  /** Number of tests that used it. */
  lent: number;
}

const kept = new Map<string, Kept[]>();
const newDatabases = new Map<string, readonly NewDatabase[]>();

/** Limited, because deleted rows stay in tables and indexes for a while. */
const LOANS_MAX = 40;

/** Programs that tests start have no hooks at their end. */
const isOfTests =
  process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '') && isMainThread;

/** Files that close their gateway in a hook return databases after their last test. */
let isAtEnd = false;

if (isOfTests) {
  after(async () => {
    isAtEnd = true;
    for (const { made } of [...kept.values()].flatMap((each) => each.splice(0))) await made.remove();
  });
}

/**
 * A returned database of a kind, emptied, or else a new one from `make`.
 *
 * @param areCopies whether all of the kind have the same contents when new, because each is a copy of one template
 */
export async function createKept(
  kind: string,
  make: () => Promise<TestDatabase>,
  areCopies = true,
): Promise<TestDatabase> {
  const ofKind = kept.get(kind) ?? [];
  kept.set(kind, ofKind);
  for (let next = ofKind.pop(); next !== undefined; next = ofKind.pop()) {
    if (await isEmptied(next.made.database, next.asNew)) return lendKept(next, ofKind);
    await next.made.remove();
  }
  const made = await make();
  if (!isOfTests) return made;
  const known = areCopies ? newDatabases.get(kind) : undefined;
  const asNew = known ?? (await Promise.all(handlesOf(made.database).partitions.map(readNewDatabase)));
  newDatabases.set(kind, asNew);
  return lendKept({ made, memories: memoriesOf(made.database), asNew, lent: 0 }, ofKind);
}

const memoriesOf = (database: Database): Memory[] =>
  handlesOf(database).partitions.map((each) => ({ texts: new Map(), readers: new KeptReaders(each) }));

interface LentDatabase {
  readonly database: Database;
  /** One per partition. */
  readonly loans: readonly Loan[];
}

function lendAll(real: Database, memories: readonly Memory[], staysOpen: () => boolean): LentDatabase {
  const loans = handlesOf(real).partitions.map((each, i) => {
    const { texts, readers } = memories[i]!;
    return lend(each, texts, readers, staysOpen);
  });
  const [directory, ...further] = loans.map((loan) => loan.database) as [Database, ...Database[]];
  const database =
    further.length === 0 ? directory : spreadDatabase({ directory, partitions: [directory, ...further] });
  return { database, loans };
}

/** A database whose connections a test has broken cannot be emptied. */
async function isEmptied(database: Database, asNew: readonly NewDatabase[]): Promise<boolean> {
  const emptied = handlesOf(database).partitions.map((each, i) => emptyDatabase(each, asNew[i]!).catch(() => false));
  return (await Promise.all(emptied)).every((isEmpty) => isEmpty);
}

function lendKept(one: Kept, ofKind: Kept[]): TestDatabase {
  const { made } = one;
  one.lent++;
  let isShared = false;
  let isRemoved = false;
  const { database, loans } = lendAll(made.database, one.memories, () => !isShared);
  /** Connections of other nodes of the test. */
  const others: Loan[] = [];

  /** Others may have opened it, so it is closed with the test and not kept. */
  function share(): void {
    isShared = true;
  }

  return {
    database,
    get url() {
      share();
      return made.url;
    },
    openAnother() {
      const opened = made.openAnother();
      const other = lendAll(opened, memoriesOf(opened), () => false);
      others.push(...other.loans);
      return other.database;
    },
    async remove() {
      if (isRemoved) return;
      isRemoved = true;
      const isLeft = others.every((other) => other.isClosed);
      const isAsItWas = [...loans, ...others].map((loan) => loan.end()).every((isSo) => isSo);
      const isKept = isLeft && isAsItWas && !isShared && one.lent < LOANS_MAX && !isAtEnd;
      if (isKept) ofKind.push(one);
      else await made.remove();
    },
    [Symbol.asyncDispose]() {
      return this.remove();
    },
  };
}
