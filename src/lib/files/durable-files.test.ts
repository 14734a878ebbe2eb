import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { recordSyncs, withoutRecordedSyncs } from '../../../test/support/recorded-syncs.ts';
import { makeDurableDirectory, replaceFile, syncTree } from './durable-files.ts';

describe('durable files', { skip: withoutRecordedSyncs }, () => {
  let root: string;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), 'faregate-durable-')));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  async function syncsOf(work: () => Promise<void>): Promise<string[]> {
    const paths: string[] = [];
    await recordSyncs(work, (path) => paths.push(path));
    return paths;
  }

  test('replaceFile syncs the new file before the rename, and the directory after it', async () => {
    const path = join(root, 'demo.json');
    writeFileSync(path, 'old');
    const seen: [path: string, content: string][] = [];
    await recordSyncs(
      () => replaceFile(path, 'new', 0o600),
      (synced) => seen.push([synced, readFileSync(path, 'utf8')]),
    );
    assert.deepEqual(seen, [
      [`${path}.new`, 'old'],
      [root, 'new'],
    ]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  test('makeDurableDirectory syncs the names of the directory and its parents, even if they exist', async () => {
    const directory = join(root, 'a', 'b', 'c');
    mkdirSync(dirname(directory), { recursive: true });
    const synced = await syncsOf(() => makeDurableDirectory(directory, 0o700));
    assert.deepEqual(synced.slice(0, 3), [join(root, 'a', 'b'), join(root, 'a'), root]);
    assert.ok(synced.includes('/'));
    assert.equal(statSync(directory).mode & 0o777, 0o700);
  });

  test('syncTree syncs every file and directory', async () => {
    mkdirSync(join(root, 'a', 'b'), { recursive: true });
    for (const name of ['1', 'a/2', 'a/b/3']) writeFileSync(join(root, name), name);
    const synced = await syncsOf(() => syncTree(root));
    assert.deepEqual(synced.sort(), ['', '1', 'a', 'a/2', 'a/b', 'a/b/3'].map((name) => join(root, name)).sort());
  });
});
