/**
 * Which test files run together in one process. A process of its own costs a file more than most files do: Node starts
 * and the gateway's modules are loaded for every one of them anew.
 */

export interface TestFile {
  /** From the project's folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** Files of one process, in order. A process of one file is an ordinary run of that file. */
export type TestProcess = readonly string[];

/**
 * Where tests kill, starve or measure processes, or start whole programs: nothing else should be near them, and
 * they gain nothing from company.
 */
const ALONE = [
  'test/chaos/',
  'test/cli/cli.',
  'test/cli/demo-crashes',
  'test/cli/demo.',
  'test/cli/log-reader',
  'test/db/data-dir',
  'test/docs/readme',
  'test/settlement/crashes',
  'test/settlement/killed',
  'test/settlement/power-cuts',
];

/**
 * Together in one process, and twice as many of unit tests, which are short. Enough that a start hardly counts, and few enough that
 * processes end at about the same time.
 */
const FILES_MAX = 32;

/**
 * What a file must not do to those beside it: hooks before tests, outside of every `describe`, would run before the tests of
 * all of them, and a file that starts processes or measures this one's memory expects to be alone in it. A file may also ask for it in a
 * comment.
 */
const NEEDS_ITS_OWN =
  /^(?:before|beforeEach|afterEach)\(|node:child_process|process\.on\(|node:worker_threads|memoryUsage|--expose-gc|Runs in a process of its own/m;

/** One process for some unit tests or for some others, and for every file that must be alone one of its own. */
export function planProcesses(files: readonly TestFile[], filesMax = FILES_MAX): TestProcess[] {
  const together = files.filter((file) => !isAlone(file));
  const alone = files.filter(isAlone).map(({ path }) => [path]);
  const areas = Map.groupBy(together, areaOf);
  const processes = AREAS.flatMap((name): TestProcess[] => {
    if (name === 'whole programs') return alone.filter(beginsEarly);
    const area = areas.get(name) ?? [];
    const count = Math.ceil(area.length / (name === 'unit tests' ? filesMax * 2 : filesMax));
    // Neighbours in the alphabet are often of one kind and of one weight: dealt out like cards, they weigh the same.
    return Array.from({ length: count }, (_, at) =>
      area.filter((_file, index) => index % count === at).map(({ path }) => path),
    );
  });
  return [...processes, ...alone.filter((members) => !beginsEarly(members))];
}

/** Whether the runner is to begin a process in the order of the plan: one that has all files of an area, or waits for programs for long. */
export const beginsEarly = (members: TestProcess): boolean => members.length > 1 || isOfPrograms(members[0]!);

const isOfPrograms = (path: string): boolean => ALONE.some((folder) => path.startsWith(folder));

export function isAlone({ path, text }: TestFile): boolean {
  return isOfPrograms(path) || NEEDS_ITS_OWN.test(text);
}

/** What is about money, races and ends of processes: in full runs its gateways have several partitions on PostgreSQL. */
const SPREAD =
  /(?:^|\/)test\/(?:accounts|billing|corrections|idempotency|key-limits|plans|reservations|settlement|usage|vouchers)\//;

export const isSpread = (path: string): boolean => SPREAD.test(path);

/** Those that wait most, or take longest, come first, and what ends last should be short. */
const AREAS = ['in a browser', 'whole programs', 'others', 'of partitions', 'unit tests'] as const;
type Area = (typeof AREAS)[number];

/** Unit tests load little, and would load all of a gateway beside the others. Tests of pages share one browser. */
function areaOf({ path }: TestFile): Area {
  if (path.startsWith('src/')) return 'unit tests';
  if (isSpread(path)) return 'of partitions';
  if (path.startsWith('test/console/pages/')) return 'in a browser';
  return 'others';
}

const RESOURCES = new URL('./test-resources.ts', import.meta.url).href;

/**
 * The module that a process of several files runs. No test begins before all files are loaded: a test that replaces timers
 * would give its own to the modules that are loaded meanwhile. One file that cannot be loaded fails as a test of its own, so
 * that the others still run; `doneFile` is written when all tests of all files have ended, so that a process that ends before that
 * can be recognised.
 */
export function processModule(urls: readonly string[], doneFile: string): string {
  const partitions = urls.every(isSpread) ? "process.env.FAREGATE_TEST_SPREAD = '1';\n" : '';
  return `${partitions}import { writeFileSync } from 'node:fs';
import { after, before, it } from 'node:test';
import { stopFollowing } from ${JSON.stringify(RESOURCES)};

const { promise: loaded, resolve: startTests } = Promise.withResolvers();
before(() => loaded);
for (const url of ${JSON.stringify(urls)}) {
  try {
    await import(url);
  } catch (error) {
    it(\`\${url} can be loaded\`, () => { throw error; });
  }
}
stopFollowing();
startTests();
after(() => writeFileSync(${JSON.stringify(doneFile)}, ''));
`;
}
