import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beginsEarly, planProcesses, processModule, type TestProcess } from './test-processes.ts';

/** Which tests a run is of; `test/support/scope.ts` says what that means to a test. */
export type Scope = 'quick' | 'full';

export interface Run {
  readonly scope: Scope;
  readonly options: readonly string[];
  readonly files: readonly string[];
  /** How many processes work at a time. Processes wait for PostgreSQL, timers and programs much of their time. */
  readonly places?: number;
  /** For a run beside another one: prints what it has to say in one piece, when it has ended. */
  readonly isBeside?: boolean;
}

/** Modules that were compiled once are loaded from here by every process of every run. */
const COMPILED = resolve('node_modules/.cache/faregate-tests');

/** What all runs of the tests have in common. Resolves with the exit code of the run. */
export async function runTests({
  scope,
  options,
  files,
  places = availableParallelism() * 2 + 1,
  isBeside = false,
}: Run): Promise<number> {
  const printed = isBeside ? keepPrinted() : null;
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-global-setup=test/support/global-setup.ts',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-reporter=./scripts/ended-processes.ts',
      '--test-reporter-destination=stdout',
      // Of a test, and of a whole process with all of its files.
      '--test-timeout=900000',
      `--test-concurrency=${places}`,
      // Before any other that loads the runner.
      importOf('./test-resources.ts'),
      importOf('./test-end.ts'),
      ...(process.env.FAREGATE_TEST_CPU === undefined ? [] : [importOf('./test-cpu.ts')]),
      ...options,
      ...files,
    ],
    {
      stdio: ['inherit', printed?.fd ?? 'inherit', printed?.fd ?? 'inherit'],
      env: { ...process.env, FAREGATE_TEST_SCOPE: scope, ...compileCache(options) },
    },
  );
  const code = await new Promise<number>((resolve) => {
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
  });
  printed?.show();
  return code;
}

/** What a run prints is kept in a file until it has ended: a pipe would stay open for a program that a test has left behind. */
function keepPrinted(): { readonly fd: number; show(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-printed-'));
  const file = join(folder, 'printed.txt');
  const fd = openSync(file, 'w');
  return {
    fd,
    show() {
      closeSync(fd);
      process.stdout.write(readFileSync(file));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Threads load it too, wherever their process is by then. */
function importOf(module: string): string {
  return `--import=${new URL(module, import.meta.url).href}`;
}

/** V8 cannot count what it did not compile itself, so a run with coverage has no cache. */
function compileCache(options: readonly string[]): NodeJS.ProcessEnv {
  const isCounted = options.some((option) => option.includes('test-coverage'));
  return isCounted ? { NODE_DISABLE_COMPILE_CACHE: '1' } : { NODE_COMPILE_CACHE: COMPILED };
}

/**
 * Runs tests with many files to a process. A process that ends before all of its tests have ended says nothing of the rest
 * of its files, so they are run again, each alone; the run has failed whatever they say then.
 */
export async function runGrouped(run: Run): Promise<number> {
  const { options, files } = run;
  const folder = mkdtempSync(join(tmpdir(), 'faregate-tests-of-'));
  try {
    const processes = planProcesses(files.map((path) => ({ path, text: readFileSync(path, 'utf8') })));
    const ordered = processes.filter(beginsEarly).map((members, at) => writeProcess(folder, at, members));
    const others = processes.filter((members) => !beginsEarly(members)).flat();
    const code = await runTests({ ...run, files: [...ordered.map(({ module }) => module), ...others] });
    const cut = ordered.filter(({ doneFile }) => !existsSync(doneFile)).flatMap(({ members }) => members);
    if (cut.length === 0) return code;
    console.error(`\nA process ended before all of its tests. Its files, each alone: ${cut.join(' ')}\n`);
    await runTests({ ...run, options: options.filter(isOfTheTests), files: cut });
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Neither coverage nor reports: those are of the whole run. */
function isOfTheTests(option: string): boolean {
  return !/^--(?:experimental-)?test-(?:coverage|reporter)/.test(option);
}

interface SharedProcess {
  readonly members: TestProcess;
  readonly module: string;
  /** Is there when all tests of all members have ended. */
  readonly doneFile: string;
}

function writeProcess(folder: string, at: number, members: TestProcess): SharedProcess {
  // The runner begins them in the order of their names.
  const name = `process-${String(at + 1).padStart(3, '0')}`;
  const module = join(folder, `${name}.test.mjs`);
  const doneFile = join(folder, `${name}.done`);
  const urls = members.map((path) => pathToFileURL(resolve(path)).href);
  writeFileSync(module, processModule(urls, doneFile));
  return { members, module, doneFile };
}

export interface ConformanceRun {
  readonly code: number;
  /** What `test/conformance/REPORT.md` has to be by this run. */
  readonly page: string;
}

/** Runs tests, and has the page of conformance made of their results. */
export async function runConformance(run: Run): Promise<ConformanceRun> {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-conformance-'));
  try {
    const file = join(folder, 'conformance.md');
    const reporter = ['--test-reporter=./scripts/conformance-reporter.ts', `--test-reporter-destination=${file}`];
    const code = await runGrouped({ ...run, options: [...run.options, ...reporter] });
    return { code, page: readFileSync(file, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
