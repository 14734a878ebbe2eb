import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { temporaryDirectory } from '../test/support/process.ts';
import { checkOut, evenly, removeCheckout, revisionsBetween } from './revisions.ts';

describe('revisions', () => {
  const directory = temporaryDirectory();
  const repository = join(directory.path, 'repository');
  const commits: string[] = [];
  const git = (...args: string[]): string => {
    const identity = ['-c', 'user.name=bench', '-c', 'user.email=bench@example.com'];
    return execFileSync('git', [...identity, ...args], { cwd: repository, encoding: 'utf8' }).trim();
  };
  const worktrees = (): string[] => git('worktree', 'list', '--porcelain').match(/(?<=^worktree ).*/gm) ?? [];

  before(() => {
    mkdirSync(repository);
    git('init', '--quiet');
    for (const number of [1, 2, 3]) {
      writeFileSync(join(repository, 'package.json'), '{"name":"x","version":"1.0.0"}');
      writeFileSync(join(repository, 'package-lock.json'), `lock ${number}`);
      git('add', '.');
      git('commit', '--quiet', '--message', `commit ${number}`);
      commits.push(git('rev-parse', 'HEAD'));
    }
  });
  after(() => directory.remove());

  it('evenly: includes the first and the last, in the requested number', () => {
    assert.deepEqual(evenly([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 3), [0, 5, 10]);
    assert.deepEqual(evenly([0, 1, 2, 3, 4, 5], 4), [0, 2, 3, 5]);
  });

  it('evenly: returns all if there are not more', () => {
    assert.deepEqual(evenly(['a', 'b'], 8), ['a', 'b']);
    assert.deepEqual(evenly([], 8), []);
  });

  it('evenly: returns the last if one is requested', () => {
    assert.deepEqual(evenly([0, 1, 2], 1), [2]);
  });

  it('between: evenly spaced from the first to the last; an error names an unknown revision', () => {
    const [first, , third] = commits;
    assert.deepEqual(revisionsBetween(first!, 'HEAD', 2, repository), [first, third]);
    assert.deepEqual(revisionsBetween(first!, 'HEAD', 8, repository), commits);
    assert.deepEqual(revisionsBetween('HEAD', 'HEAD', 8, repository), [third]);
    assert.throws(() => revisionsBetween('gone', 'HEAD', 2, repository), /^Error: There is no revision "gone"\.$/);
    assert.throws(() => revisionsBetween('HEAD', first!, 2, repository), /^Error: HEAD is no ancestor of /);
  });

  it('checked out: with the modules of the repository if the lock file is the same', () => {
    const checkout = checkOut('HEAD', directory.path, repository);
    assert.equal(readFileSync(join(checkout, 'package-lock.json'), 'utf8'), 'lock 3');
    assert.equal(readlinkSync(join(checkout, 'node_modules')), join(repository, 'node_modules'));
    removeCheckout(checkout, repository);
    assert.deepEqual(worktrees(), [repository]);
  });

  it('checked out: leaves neither checkout nor modules if the installation fails', () => {
    // Its lock file is invalid JSON.
    for (let attempt = 0; attempt < 2; attempt++) {
      assert.throws(() => checkOut(commits[0]!, directory.path, repository), /^Error: npm ci failed for /);
      assert.deepEqual(worktrees(), [repository]);
      assert.deepEqual(readdirSync(directory.path), ['repository']);
    }
  });
});
