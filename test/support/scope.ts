import { isSpread } from '../../scripts/test-processes.ts';

/**
 * What a test is run for, set by `scripts/test.ts`. In a quick run (`npm test`) what is repeated with other values each time
 * is repeated less often. All else (`npm run test:full`, and files that are named) runs everything.
 */
export const isQuickRun = process.env.FAREGATE_TEST_SCOPE === 'quick';

const RUNS_MIN = 10;
const SHARE = 10;

/** How often a property is tried: `{ numRuns: propertyRuns(500) }` is 500 times, and in a quick run 50 times. */
export function propertyRuns(all: number): number {
  return isQuickRun ? Math.min(all, Math.max(RUNS_MIN, Math.ceil(all / SHARE))) : all;
}

/** What is large or repeated only so that it takes its time: a quick run takes a size at which the rule still shows. */
export function byScope<Value>({ full, quick }: { readonly full: Value; readonly quick: Value }): Value {
  return isQuickRun ? quick : full;
}

const CUT_EVERY = byScope({ full: 1, quick: 7 });

/**
 * Where a test cuts a text of this length, one cut after the other: at every byte, in a quick run at every seventh, of which each loop begins
 * at another one.
 */
export function* cutOffsets(length: number): Generator<number> {
  for (let at = Math.floor(Math.random() * CUT_EVERY); at <= length; at += CUT_EVERY) yield at;
}

/** `{ skip: inFullRunsOnly }`: what takes seconds to show the same once more at the size that is configured in real life. */
export const inFullRunsOnly: string | false = isQuickRun ? 'only `npm run test:full` runs it' : false;

const isOnCitus = process.env.FAREGATE_TEST_CITUS_PORTS !== undefined;
/** Files that share a process are of one kind. */
const isOfPartitions = process.env.FAREGATE_TEST_SPREAD !== undefined || isSpread(process.argv[1] ?? '');

/**
 * How many partitions the database of a gateway has: in full runs four for the suites of `isSpread`, which have one in quick runs. On a cluster of Citus all have four.
 */
export const partitionsOfFile: 1 | 4 = isOnCitus || (!isQuickRun && isOfPartitions) ? 4 : 1;
