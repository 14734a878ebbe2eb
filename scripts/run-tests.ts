import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beginsEarly, planProcesses, processModule, type TestProcess } from './test-processes.ts';

/** The extent of a run. `test/support/scope.ts` explains the effect on tests. */
export type Scope = 'quick' | 'full';

export interface Run {
  readonly scope: Scope;
  readonly options: readonly string[];
  readonly files: readonly string[];
  /** Concurrent processes. They mostly wait for PostgreSQL, timers and programs. */
  readonly places?: number;
  /** For concurrent runs: prints the output as one block at the end. */
  readonly isBeside?: boolean;
}

/** The compile cache, shared by all processes and runs. */
const COMPILED = resolve('node_modules/.cache/faregate-tests');

/** Runs tests. Resolves with the exit code. */
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
      // Per test, and per process with all of its files.
      '--test-timeout=900000',
      `--test-concurrency=${places}`,
      // Must come before modules that load the runner.
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

/** Buffers the output in a file. A program that a test leaves behind would keep a pipe open. */
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

/** An absolute URL, because threads load the module too, and the working directory may have changed. */
function importOf(module: string): string {
  return `--import=${new URL(module, import.meta.url).href}`;
}

/** V8 measures no coverage of cached code, so runs with coverage use no cache. */
function compileCache(options: readonly string[]): NodeJS.ProcessEnv {
  const isCounted = options.some((option) => option.includes('test-coverage'));
  return isCounted ? { NODE_DISABLE_COMPILE_CACHE: '1' } : { NODE_COMPILE_CACHE: COMPILED };
}

/**
 * Runs tests with many files per process. If a process exits before all of its tests have finished, its files run again, each in its own
 * process. The run has failed in any case.
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
    console.error(`\nA process exited early. Running its files one by one: ${cut.join(' ')}\n`);
    await runTests({ ...run, options: options.filter(isOfTheTests), files: cut });
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Coverage and reports concern only the whole run. */
function isOfTheTests(option: string): boolean {
  return !/^--(?:experimental-)?test-(?:coverage|reporter)/.test(option);
}

interface SharedProcess {
  readonly members: TestProcess;
  readonly module: string;
  /** Exists once all tests of all members have finished. */
  readonly doneFile: string;
}

function writeProcess(folder: string, at: number, members: TestProcess): SharedProcess {
  // The runner starts them in the order of their names.
  const name = `process-${String(at + 1).padStart(3, '0')}`;
  const module = join(folder, `${name}.test.mjs`);
  const doneFile = join(folder, `${name}.done`);
  const urls = members.map((path) => pathToFileURL(resolve(path)).href);
  writeFileSync(module, processModule(urls, doneFile));
  return { members, module, doneFile };
}

export interface ConformanceRun {
  readonly code: number;
  /** The content of `test/conformance/REPORT.md` according to this run. */
  readonly page: string;
}

/** Runs tests and generates the conformance page from the results. */
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
