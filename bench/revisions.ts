import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { benchFile } from './processes.ts';

/** Checkouts of earlier revisions of this repository, ready to run. */

export const REPOSITORY = benchFile('..');

/** This many items of a list, evenly spaced, including the first and the last; all if there are fewer. */
export function evenly<Item>(all: readonly Item[], count: number): Item[] {
  if (all.length <= count) return [...all];
  if (count <= 1) return all.slice(-1);
  return Array.from({ length: count }, (_, i) => all[Math.round((i * (all.length - 1)) / (count - 1))]!);
}

/**
 * The commit of a revision.
 *
 * @throws Error that names the revision if it does not exist
 */
export function commitOf(revision: string, repository: string): string {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  const { status, stdout } = run(args, repository);
  if (status !== 0) throw new Error(`There is no revision "${revision}".`);
  return stdout.trim();
}

/**
 * This many commits from one to another, oldest first. Follows first parents, so a merged branch counts as its merge; commits between two
 * results can be measured in another run.
 *
 * @throws Error if one of them does not exist, or the first is not an ancestor of the second
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
  // The commit is on a branch that was merged later.
  const path = listed('--ancestry-path', '--topo-order');
  if (path.length === 0) throw new Error(`${from} is no ancestor of ${to}.`);
  return evenly([first, ...path], count);
}

/** The commit with its date and subject, for reports. */
export function describeRevision(revision: string): string {
  return git(REPOSITORY, 'log', '-1', '--format=%h %as %s', revision);
}

/**
 * Checks out a revision below `directory`. It gets the modules of this checkout if the lock files are the same; otherwise its own
 * modules, installed once for all revisions with that lock file.
 *
 * @throws Error if git or npm fails; nothing is left then
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
      // A partial installation would be reused by the next revision with this lock file.
      rmSync(installed, { recursive: true, force: true });
      throw error;
    }
  }
  return join(installed, 'node_modules');
}

function install(checkout: string, installed: string): void {
  mkdirSync(installed);
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(checkout, file), join(installed, file));
  // Scripts would build the console, which is not measured, and download a Node, which all revisions share. Development dependencies are
  // included, because a clone runs some of them.
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
