import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';

/** What all runs of the tests have in common. Resolves with the exit code of the run. */
export function runTests(options: readonly string[], files: readonly string[]): Promise<number> {
  const child = spawn(
    process.execPath,
    [
      '--test',
      '--test-global-setup=test/support/global-setup.ts',
      '--test-reporter=spec',
      '--test-reporter-destination=stdout',
      '--test-timeout=300000',
      `--test-concurrency=${availableParallelism()}`,
      ...options,
      ...files,
    ],
    { stdio: 'inherit' },
  );
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(signal === null ? (code ?? 1) : 1));
  });
}

export interface ConformanceRun {
  readonly code: number;
  /** What `docs/conformance.md` has to be by this run. */
  readonly page: string;
}

/** Runs tests, and has the page of conformance made of their results. */
export async function runConformance(options: readonly string[], files: readonly string[]): Promise<ConformanceRun> {
  const folder = mkdtempSync(join(tmpdir(), 'faregate-conformance-'));
  try {
    const file = join(folder, 'conformance.md');
    const reporter = ['--test-reporter=./scripts/conformance-reporter.ts', `--test-reporter-destination=${file}`];
    const code = await runTests([...options, ...reporter], files);
    return { code, page: readFileSync(file, 'utf8') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
