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
  const venv = ['-m', 'venv', home];
  // The installer of the system serves too, from version 22.3 on. Installing another one into the environment takes seconds.
  const ofSystem = ['-m', 'pip', '--python', home];
  spawnSync('python3', [...venv, '--without-pip']);
  const hasPip = spawnSync('python3', [...ofSystem, '--version']).status === 0;
  const made = hasPip ? null : spawnSync('python3', [...venv, '--clear'], { encoding: 'utf8' });
  if (made !== null && made.status !== 0)
    return `there is no Python with venv: ${made.error?.message ?? made.stderr.trim()}`;
  const [pip, ...given] = hasPip ? ['python3', ...ofSystem] : [join(home, 'bin', 'pip')];
  // Compiling all modules takes longer than the import of those that are used.
  const options = ['install', '--quiet', '--no-compile', ...packages];
  const installed = spawnSync(pip!, [...given, ...options], { encoding: 'utf8' });
  if (installed.status !== 0) {
    rmSync(home, { recursive: true, force: true });
    return `${packages.join(' ')} could not be installed: ${installed.stderr.trim().split('\n').at(-1)}`;
  }
  writeFileSync(isInstalled, wanted);
  return null;
}
