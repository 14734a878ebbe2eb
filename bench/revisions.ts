import { type SpawnSyncOptions, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { benchFile } from './processes.ts';

/** Checkouts of earlier revisions of this repository, ready to be run. */

const REPOSITORY = benchFile('..');

/** So many of a list, evenly apart, with its first and its last; all of them if there are no more. */
export function evenly<Item>(all: readonly Item[], count: number): Item[] {
  if (all.length <= count) return [...all];
  if (count <= 1) return all.slice(-1);
  return Array.from({ length: count }, (_, i) => all[Math.round((i * (all.length - 1)) / (count - 1))]!);
}

/**
 * Commits from one to another, oldest first, so many of them. Of merged branches the merge alone counts, as the first parents go: what
 * lies between two of these can be measured in a next run.
 *
 * @throws Error if the one is not an ancestor of the other by first parents.
 */
export function revisionsBetween(from: string, to: string, count: number): string[] {
  const first = git('rev-parse', `${from}^{commit}`);
  const later = git('rev-list', '--first-parent', '--reverse', `${first}..${to}`).split('\n').filter(Boolean);
  const parent = later.length === 0 ? '' : git('rev-parse', `${later[0]}^`);
  if (parent === first) return evenly([first, ...later], count);
  // It was made on a branch that was merged later.
  const path = git('rev-list', '--ancestry-path', '--reverse', '--topo-order', `${first}..${to}`);
  const found = path.split('\n').filter(Boolean);
  if (found.length === 0) throw new Error(`${from} is no ancestor of ${to}.`);
  return evenly([first, ...found], count);
}

/** The commit with its day and subject, for a line of a report. */
export function describeRevision(revision: string): string {
  return git('log', '-1', '--format=%h %as %s', revision);
}

/**
 * Checks a revision out below `directory`. It gets the modules of this checkout if its lock file is the same, else those that its
 * own lock file names, installed once for all revisions with that file.
 *
 * @throws Error if git or npm fails.
 */
export function checkOut(revision: string, directory: string): string {
  const checkout = join(directory, git('rev-parse', '--short=12', `${revision}^{commit}`));
  git('worktree', 'add', '--detach', '--force', checkout, revision);
  symlinkSync(modulesFor(checkout, directory), join(checkout, 'node_modules'));
  return checkout;
}

export function removeCheckout(checkout: string): void {
  git('worktree', 'remove', '--force', checkout);
}

function modulesFor(checkout: string, directory: string): string {
  const lock = readFileSync(join(checkout, 'package-lock.json'));
  if (lock.equals(readFileSync(join(REPOSITORY, 'package-lock.json')))) return join(REPOSITORY, 'node_modules');
  const installed = join(directory, `modules-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`);
  if (!existsSync(join(installed, 'node_modules'))) {
    mkdirSync(installed);
    for (const file of ['package.json', 'package-lock.json']) {
      writeFileSync(join(installed, file), readFileSync(join(checkout, file)));
    }
    // Scripts would build the console and fetch a Node, neither of which is measured.
    const options: SpawnSyncOptions = { cwd: installed, stdio: ['ignore', 2, 2] };
    const { status } = spawnSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], options);
    if (status !== 0) throw new Error(`npm ci failed for ${checkout}`);
  }
  return join(installed, 'node_modules');
}

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: REPOSITORY, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}
