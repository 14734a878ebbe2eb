import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { benchFile } from './processes.ts';

/** Checkouts of earlier revisions of this repository, ready to be run. */

export const REPOSITORY = benchFile('..');

/** So many of a list, evenly apart, with its first and its last; all of them if there are no more. */
export function evenly<Item>(all: readonly Item[], count: number): Item[] {
  if (all.length <= count) return [...all];
  if (count <= 1) return all.slice(-1);
  return Array.from({ length: count }, (_, i) => all[Math.round((i * (all.length - 1)) / (count - 1))]!);
}

/**
 * The commit that a name of a revision stands for.
 *
 * @throws Error that names it if there is none.
 */
export function commitOf(revision: string, repository: string): string {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  const { status, stdout } = run(args, repository);
  if (status !== 0) throw new Error(`There is no revision "${revision}".`);
  return stdout.trim();
}

/**
 * Commits from one to another, oldest first, so many of them. Of merged branches the merge alone counts, as the first parents go: what
 * lies between two of these can be measured in a next run.
 *
 * @throws Error if one of them does not exist, or the one is not an ancestor of the other.
 */
export function revisionsBetween(from: string, to: string, count: number, repository: string): string[] {
  const [first, last] = [commitOf(from, repository), commitOf(to, repository)];
  if (first === last) return [first];
  const range = `${first}..${last}`;
  const listed = (...how: string[]): string[] =>
    git(repository, 'rev-list', '--reverse', ...how, range)
      .split('\n')
      .filter(Boolean);
  const later = listed('--first-parent');
  if (later.length > 0 && git(repository, 'rev-parse', `${later[0]}^`) === first)
    return evenly([first, ...later], count);
  // It was made on a branch that was merged later.
  const path = listed('--ancestry-path', '--topo-order');
  if (path.length === 0) throw new Error(`${from} is no ancestor of ${to}.`);
  return evenly([first, ...path], count);
}

/** The commit with its day and subject, for a line of a report. */
export function describeRevision(revision: string): string {
  return git(REPOSITORY, 'log', '-1', '--format=%h %as %s', revision);
}

/**
 * Checks a revision out below `directory`. It gets the modules of this checkout if its lock file is the same, else those that its
 * own lock file names, installed once for all revisions with that file.
 *
 * @throws Error if git or npm fails; nothing of it is then left.
 */
export function checkOut(revision: string, directory: string, repository = REPOSITORY): string {
  const checkout = join(directory, commitOf(revision, repository).slice(0, 12));
  git(repository, 'worktree', 'add', '--detach', '--force', checkout, revision);
  try {
    symlinkSync(modulesFor(checkout, directory, repository), join(checkout, 'node_modules'));
  } catch (error) {
    removeCheckout(checkout, repository);
    throw error;
  }
  return checkout;
}

export function removeCheckout(checkout: string, repository = REPOSITORY): void {
  git(repository, 'worktree', 'remove', '--force', checkout);
}

function modulesFor(checkout: string, directory: string, repository: string): string {
  const lock = readFileSync(join(checkout, 'package-lock.json'));
  if (lock.equals(readFileSync(join(repository, 'package-lock.json')))) return join(repository, 'node_modules');
  const installed = join(directory, `modules-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (!existsSync(installed)) {
    try {
      install(checkout, installed);
    } catch (error) {
      // Half of the modules would pass for all of them at the next revision with this lock file.
      rmSync(installed, { recursive: true, force: true });
      throw error;
    }
  }
  return join(installed, 'node_modules');
}

function install(checkout: string, installed: string): void {
  mkdirSync(installed);
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(checkout, file), join(installed, file));
  // Scripts would build the console, which is not measured, and fetch a Node; all revisions have the same one. Development dependencies
  // are among what a clone runs with: a package has parts of them.
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
  const { status, stderr } = spawnSync('npm', args, { cwd: installed, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm ci failed for ${checkout}: ${stderr.trim()}`);
  const ownNode = join(installed, 'node_modules/node/bin');
  rmSync(ownNode, { recursive: true, force: true });
  symlinkSync(join(REPOSITORY, 'node_modules/node/bin'), ownNode);
}

function git(repository: string, ...args: string[]): string {
  const { status, stdout, stderr } = run(args, repository);
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

function run(args: readonly string[], cwd: string): { status: number | null; stdout: string; stderr: string } {
  return spawnSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 28 });
}
