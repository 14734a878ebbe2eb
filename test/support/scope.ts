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

const CUT_EVERY_QUICKLY = 7;
const CUT_EVERY = byScope({ full: 1, quick: CUT_EVERY_QUICKLY });

/** Where a test cuts a text of this length, one cut per run: at every byte; in a quick run at every seventh, from a random start. */
export const cutOffsets = (length: number): Generator<number> => everyFrom(length, CUT_EVERY);

/** For texts that are cut at every byte elsewhere: at every seventh, from a random start. */
export const someCutOffsets = (length: number): Generator<number> => everyFrom(length, CUT_EVERY_QUICKLY);

function* everyFrom(length: number, every: number): Generator<number> {
  for (let at = Math.floor(Math.random() * every); at <= length; at += every) yield at;
}

/** Distance between cuts that are made together. */
const COMB_BYTES = 97;

export interface CutBytes {
  readonly chunks: readonly Buffer[];
  readonly note: string;
}

/**
 * Bytes in chunks, so that together there is a cut at every byte; in a quick run at every seventh. Many cuts are made at once: with one
 * at a time the work would grow with the square of the length.
 */
export function* cutEverywhere(bytes: Buffer): Generator<CutBytes> {
  for (const first of cutOffsets(Math.min(COMB_BYTES - 1, bytes.length))) {
    const chunks = first === 0 ? [] : [bytes.subarray(0, first)];
    for (let at = first; at < bytes.length; at += COMB_BYTES) chunks.push(bytes.subarray(at, at + COMB_BYTES));
    yield { chunks, note: `cut at ${first} and every ${COMB_BYTES} bytes behind` };
  }
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
