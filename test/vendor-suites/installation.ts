import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from '../support/cache-directory.ts';
import { pythonEnvironment } from '../support/python.ts';
import { SUITES, type Suite, TEST_PACKAGES } from './suites.ts';

export interface Installation {
  /** The Python of the virtual environment. */
  readonly python: string;
  /** The unpacked source distribution of an SDK. */
  folderOf(suite: Suite): string;
}

/**
 * Installs the SDKs and the dependencies of their tests, and downloads the source distributions, because wheels have no tests. Keeps what an
 * earlier run installed.
 *
 * @throws Error that says what is missing.
 */
export function installSuites(): Installation {
  const packages = SUITES.map(({ name, version }) => `${name}==${version}`);
  const environment = pythonEnvironment(`vendor-suites-${packages.join('-').replaceAll('==', '-')}`, [
    ...packages,
    ...TEST_PACKAGES,
  ]);
  if (environment.missing !== null) throw new Error(`The vendors' suites cannot be run: ${environment.missing}`);
  const python = environment.program('python');
  const home = cacheDirectory('vendor-suites');
  mkdirSync(home, { recursive: true });
  for (const suite of SUITES) if (!existsSync(folderIn(home, suite))) download(suite, home, python);
  return { python, folderOf: (suite) => folderIn(home, suite) };
}

const folderIn = (home: string, { name, version }: Suite): string => join(home, `${name}-${version}`);

function download(suite: Suite, home: string, python: string): void {
  const { name, version } = suite;
  const folder = mkdtempSync(join(home, 'download-'));
  try {
    // Only this package comes as source; its build dependencies may be wheels.
    run(python, [
      '-m',
      'pip',
      'download',
      '--quiet',
      '--no-deps',
      '--no-binary',
      name,
      '--dest',
      folder,
      `${name}==${version}`,
    ]);
    const [archive] = readdirSync(folder);
    run(python, ['-m', 'tarfile', '-e', join(folder, archive!), folder]);
    // Renamed at the end, so that an interrupted run leaves no incomplete folder.
    renameSync(join(folder, `${name}-${version}`), folderIn(home, suite));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function run(program: string, given: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, given, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`python ${given.join(' ')} failed: ${error?.message ?? stderr.trim()}`);
}
