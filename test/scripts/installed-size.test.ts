import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { temporaryDirectory } from '../support/process.ts';

describe('installed-size', () => {
  const modules = temporaryDirectory();
  after(() => modules.remove());
  for (const [name, megabytes] of [
    ['small', 1],
    ['@scope/large', 3],
    ['.cache/of-tests', 9],
  ] as const) {
    mkdirSync(join(modules.path, name), { recursive: true });
    writeFileSync(join(modules.path, name, 'file'), Buffer.alloc(megabytes * 2 ** 20, 1));
  }
  const measure = (most: number) =>
    spawnSync(process.execPath, ['scripts/installed-size.ts', modules.path, String(most)], { encoding: 'utf8' });

  it('is printed, without caches', () => {
    const { status, stdout, stderr } = measure(8);
    assert.match(stdout, /: [45] MB, of 8 at most\n$/);
    assert.deepEqual([status, stderr], [0, '']);
  });

  it('fails above its limit, and lists the largest packages', () => {
    const { status, stderr } = measure(3);
    assert.equal(status, 1);
    assert.match(stderr, /limit is 3 MB[\s\S]*:\n +[34] MB {2}@scope\/large\n +[12] MB {2}small\n$/);
  });
});
