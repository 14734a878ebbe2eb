import { tablesIn } from '../../scripts/sql-tables.ts';
import type { Lane, Statement } from '../../src/db/database.ts';
import type { HomeLanes } from '../../src/db/home-lanes.ts';
import { HOMES, type Home, type Table } from '../../src/db/homes.ts';

const KNOWN: ReadonlySet<string> = new Set(Object.keys(HOMES));

/** The process has ended between two transactions. */
export class ProcessEndedError extends Error {}

/** The homes of a database as a process sees them that may end between two of its transactions. */
export interface MortalHomes extends HomeLanes {
  /** What was asked for so far: a transaction, or a statement without one, is one step. */
  readonly steps: number;
  /** Runs before a step, which waits for it. */
  beforeStep: (step: number, home: Home) => Promise<void>;
}

/**
 * The homes of a database. A statement that names tables of the other home fails, so each transaction is of one. After so many steps the
 * process has ended: it can do nothing any more, whatever it tries.
 */
export function mortalHomes(lane: Lane, stepsMax = Number.POSITIVE_INFINITY): MortalHomes {
  let steps = 0;
  const of = (home: Home): Lane => {
    const requireHome = ({ name, text }: Statement): void => {
      for (const table of tablesIn(text, KNOWN)) {
        if (HOMES[table as Table] !== home) throw new Error(`${name} names ${table} in the ${home}`);
      }
    };
    const step = async (): Promise<void> => {
      if (steps >= stepsMax) throw new ProcessEndedError(`the process has ended after step ${steps}`);
      steps++;
      await homes.beforeStep(steps, home);
    };
    return {
      async query(statement, parameters, signal) {
        requireHome(statement);
        await step();
        return lane.query(statement, parameters, signal);
      },
      async transaction(work) {
        await step();
        return lane.transaction((transaction) =>
          work({
            query: (statement, parameters) => {
              requireHome(statement);
              return transaction.query(statement, parameters);
            },
          }),
        );
      },
    };
  };
  const homes: MortalHomes = {
    directory: of('directory'),
    partition: of('partition'),
    get steps() {
      return steps;
    },
    beforeStep: async () => undefined,
  };
  return homes;
}
