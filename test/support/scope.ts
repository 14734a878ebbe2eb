import { isSpread } from '../../scripts/test-processes.ts';

/**
 * The scope of a test run, set by `scripts/test.ts`. A quick run (`npm test`) repeats randomised tests less often. `npm run test:full`
 * and runs of named files run everything.
 */
export const isQuickRun = process.env.FAREGATE_TEST_SCOPE === 'quick';

const RUNS_MIN = 10;
const SHARE = 10;

/** Number of runs of a property: `{ numRuns: propertyRuns(500) }` means 500, and 50 in a quick run. */
export function propertyRuns(all: number): number {
  return isQuickRun ? Math.min(all, Math.max(RUNS_MIN, Math.ceil(all / SHARE))) : all;
}

/** For tests whose size or repetition makes them slow: a quick run takes a size at which the rule still shows. */
export function byScope<Value>({ full, quick }: { readonly full: Value; readonly quick: Value }): Value {
  return isQuickRun ? quick : full;
}

const CUT_EVERY = byScope({ full: 1, quick: 7 });

/** Where a test cuts a text of this length, one cut per run: at every byte; in a quick run at every seventh, from a random start. */
export function* cutOffsets(length: number): Generator<number> {
  for (let at = Math.floor(Math.random() * CUT_EVERY); at <= length; at += CUT_EVERY) yield at;
}

/** `{ skip: inFullRunsOnly }`: for slow tests that repeat another test at the size of production. */
export const inFullRunsOnly: string | false = isQuickRun ? 'only `npm run test:full` runs it' : false;

const isOnCitus = process.env.FAREGATE_TEST_CITUS_PORTS !== undefined;
/** Files that share a process are of the same kind. */
const isOfPartitions = process.env.FAREGATE_TEST_SPREAD !== undefined || isSpread(process.argv[1] ?? '');

/**
 * Number of partitions of a gateway's database: four for the suites of `isSpread` in full runs, otherwise one. On a Citus cluster always
 * four.
 */
export const partitionsOfFile: 1 | 4 = isOnCitus || (!isQuickRun && isOfPartitions) ? 4 : 1;
