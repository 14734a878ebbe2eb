import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import type { Database } from '../../src/db/database.ts';
import type { Engine, TestDatabase } from './database.ts';
import { emptyDatabase, type NewDatabase, readNewDatabase } from './emptied-database.ts';
import { KeptReaders } from './kept-readers.ts';
import { type Loan, lend, type PreparedTexts } from './lent-database.ts';

/**
 * Databases that tests of this process have given back. To make one and to open its connections takes PostgreSQL as long as
 * to start and stop a gateway on it takes the test, and the embedded database several times as long; to empty one takes a
 * few milliseconds.
 */

interface Kept {
  readonly made: TestDatabase;
  readonly texts: PreparedTexts;
  readonly readers: KeptReaders;
  /** How many tests have had it. */
  lent: number;
}

const kept: Record<Engine, Kept[]> = { embedded: [], postgresql: [] };
const newDatabases: Partial<Record<Engine, NewDatabase>> = {};

/** Deleted rows stay in their tables and indexes for a while. */
const LOANS_MAX = 40;

/** Programs that tests start run nothing at their end. */
const isOfTests =
  process.env.NODE_TEST_CONTEXT !== undefined && /\.test\.m?[jt]s$/.test(process.argv[1] ?? '') && isMainThread;

if (isOfTests) {
  after(async () => {
    for (const { made } of [...kept.embedded, ...kept.postgresql].splice(0)) await made.remove();
  });
}

/** A database that was given back, emptied, or else one that `make` makes. */
export async function createKept(engine: Engine, make: () => Promise<TestDatabase>): Promise<TestDatabase> {
  for (let next = kept[engine].pop(); next !== undefined; next = kept[engine].pop()) {
    if (await isEmptied(next.made.database, newDatabases[engine]!)) return lendKept(next);
    await next.made.remove();
  }
  const made = await make();
  if (!isOfTests) return made;
  newDatabases[engine] ??= await readNewDatabase(made.database);
  return lendKept({ made, texts: new Map(), readers: new KeptReaders(made.database), lent: 0 });
}

/** One whose connections a test has cut cannot be emptied. */
function isEmptied(database: Database, asNew: NewDatabase): Promise<boolean> {
  return emptyDatabase(database, asNew).catch(() => false);
}

function lendKept(one: Kept): TestDatabase {
  const { made } = one;
  one.lent++;
  let isShared = false;
  let isRemoved = false;
  /** Of other nodes of the test. */
  const others: Loan[] = [];
  const loan: Loan = lend(made.database, one.texts, one.readers, () => !isShared);

  /** Others can open it, so it is closed when the test closes it, and not kept. */
  function share(): void {
    if (loan.isClosed && made.database.engine === 'embedded' && !isShared) {
      throw new Error(
        'ask for the directory of an embedded database before it is closed: until then it may be kept open',
      );
    }
    isShared = true;
  }

  return {
    database: loan.database,
    get url() {
      if (made.url !== '') share();
      return made.url;
    },
    get dataDir() {
      share();
      return made.dataDir;
    },
    openAnother() {
      const opened = made.openAnother();
      const other = lend(opened, new Map(), new KeptReaders(opened), () => false);
      others.push(other);
      return other.database;
    },
    async reopen() {
      const isKeptOpen = loan.isClosed && !isShared;
      isShared = true;
      if (isKeptOpen) await made.database.close();
      return made.reopen();
    },
    async remove() {
      if (isRemoved) return;
      isRemoved = true;
      const isOfOthers = others.some((other) => !other.isClosed || !other.end());
      if (loan.end() && !isShared && !isOfOthers && one.lent < LOANS_MAX) kept[made.database.engine].push(one);
      else await made.remove();
    },
  };
}
