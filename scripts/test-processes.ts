/**
 * Distributes test files to processes. The start of a process costs more than most files: Node starts, and loads the modules of the
 * gateway again.
 */

export interface TestFile {
  /** Relative to the project folder, with slashes. */
  readonly path: string;
  readonly text: string;
}

/** The files of one process, in order. */
export type TestProcess = readonly string[];

/**
 * Tests that kill, starve or measure processes, or start whole programs. Other tests would disturb them, and sharing a process saves
 * nothing. All that take long are here, because the others begin last: the run would wait for one of them at its end, with an idle
 * processor.
 */
const ALONE = [
  'test/chaos/',
  'test/cli/cli.',
  'test/cli/demo-crashes',
  'test/cli/demo.',
  'test/cli/log-reader',
  'test/db/data-dir',
  'test/db/over-both-kills',
  'test/docs/readme',
  'test/docs/site',
  'test/hostile/reading-steps',
  'test/openapi/schemathesis',
  'test/scripts/package',
  'test/settlement/crashes',
  'test/settlement/killed',
  'test/settlement/power-cuts',
];

/**
 * Files per process, and twice as many for unit tests, which are short. Enough to amortize the start, and few enough that processes
 * finish at about the same time.
 */
const FILES_MAX = 32;

/**
 * Files that need their own process: top-level hooks would run for the tests of all files, and files that start processes or measure
 * memory expect to be alone. A comment can request it too.
 */
const NEEDS_ITS_OWN =
  /^(?:before|beforeEach|afterEach)\(|node:child_process|process\.on\(|node:worker_threads|memoryUsage|--expose-gc|Runs in its own process/m;

/** Plans processes: groups of files by area, and one process for each file that must be alone. */
export function planProcesses(files: readonly TestFile[], filesMax = FILES_MAX): TestProcess[] {
  const together = files.filter((file) => !isAlone(file));
  const alone = files.filter(isAlone).map(({ path }) => [path]);
  const areas = Map.groupBy(together, areaOf);
  const processes = AREAS.flatMap((name): TestProcess[] => {
    if (name === 'whole programs') return alone.filter(beginsEarly);
    const area = areas.get(name) ?? [];
    const count = Math.ceil(area.length / (name === 'unit tests' ? filesMax * 2 : filesMax));
    // Alphabetical neighbours are often of similar duration, so files are dealt out in turn.
    return Array.from({ length: count }, (_, at) =>
      area.filter((_file, index) => index % count === at).map(({ path }) => path),
    );
  });
  return [...processes, ...alone.filter((members) => !beginsEarly(members))];
}

/** Whether the order of the plan matters for a process: it has several files, or waits long for programs. */
export const beginsEarly = (members: TestProcess): boolean => members.length > 1 || isOfPrograms(members[0]!);

const isOfPrograms = (path: string): boolean => ALONE.some((folder) => path.startsWith(folder));

export function isAlone({ path, text }: TestFile): boolean {
  return isOfPrograms(path) || NEEDS_ITS_OWN.test(text);
}

/** Tests about money, races and process exits. In full runs their gateways have several partitions. */
const SPREAD =
  /(?:^|\/)test\/(?:accounts|billing|corrections|idempotency|key-limits|plans|reservations|settlement|usage|vouchers)\//;

export const isSpread = (path: string): boolean => SPREAD.test(path);

/** The slowest areas come first, so that short ones finish last. */
const AREAS = ['in a browser', 'whole programs', 'others', 'of partitions', 'unit tests'] as const;
type Area = (typeof AREAS)[number];

/** Unit tests load few modules. Page tests share one browser. */
function areaOf({ path }: TestFile): Area {
  if (path.startsWith('src/')) return 'unit tests';
  if (isSpread(path)) return 'of partitions';
  if (path.startsWith('test/console/pages/')) return 'in a browser';
  return 'others';
}

const RESOURCES = new URL('./test-resources.ts', import.meta.url).href;

/**
 * The main module of a process with several files. Tests start after all files are loaded: a test with fake timers would otherwise affect
 * modules that load later. A file that cannot be loaded fails as a test, so that the others still run. `doneFile` is written when all
 * tests have finished, and shows whether the process exited early.
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
