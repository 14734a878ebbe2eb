import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cacheDirectory } from './cache-directory.ts';

/** Python with its own packages. */
export interface PythonEnvironment {
  /** The path of a program in it: `python`, or one that a package installs. */
  program(name: string): string;
  /** Why it cannot be used; `null` if it can. */
  readonly missing: string | null;
}

/**
 * A virtual environment with these packages and versions, such as `openai==3.2.1`. It is kept for later runs; the first one needs a
 * package registry.
 */
export function pythonEnvironment(name: string, packages: readonly string[]): PythonEnvironment {
  const home = cacheDirectory(name);
  return { program: (program) => join(home, 'bin', program), missing: install(home, packages) };
}

function install(home: string, packages: readonly string[]): string | null {
  // Written last, so that an interrupted run leaves no valid environment. Other packages are installed anew.
  const isInstalled = join(home, 'installed');
  const wanted = packages.join('\n');
  if (existsSync(isInstalled) && readFileSync(isInstalled, 'utf8') === wanted) return null;
  rmSync(home, { recursive: true, force: true });
  const made = spawnSync('python3', ['-m', 'venv', home], { encoding: 'utf8' });
  if (made.status !== 0) return `there is no Python with venv: ${made.error?.message ?? made.stderr.trim()}`;
  const installed = spawnSync(join(home, 'bin', 'pip'), ['install', '--quiet', ...packages], { encoding: 'utf8' });
  if (installed.status !== 0) {
    rmSync(home, { recursive: true, force: true });
    return `${packages.join(' ')} could not be installed: ${installed.stderr.trim().split('\n').at(-1)}`;
  }
  writeFileSync(isInstalled, wanted);
  return null;
}
