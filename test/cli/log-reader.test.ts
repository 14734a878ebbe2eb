import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { PROGRAM_CACHE, temporaryDirectory } from '../support/process.ts';

const { PATH } = process.env;
const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Fills a pipe completely. */
function fill(pipe: number): void {
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(pipe, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
    }
  }
}

describe('a gateway whose log nobody reads', { skip: process.platform === 'win32' }, () => {
  const directory = temporaryDirectory();
  const path = join(directory.path, 'standard-error');
  const dataDir = join(directory.path, 'data');
  let stored: TestDatabase;
  let filled: number;
  let blocking: number;

  before(async () => {
    execFileSync('mkfifo', [path]);
    filled = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    blocking = openSync(path, constants.O_RDWR);
    fill(filled);
    stored = await createTestDatabase();
  });
  after(async () => {
    await stored.remove();
    closeSync(filled);
    closeSync(blocking);
    directory.remove();
  });

  it('serves, and stops at a signal', async () => {
    const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0'], {
      cwd: directory.path,
      env: { PATH, ...PROGRAM_CACHE, FAREGATE_DATA_DIR: dataDir, DATABASE_URL: stored.url, FAREGATE_DEMO_DATA: 'none' },
      stdio: ['ignore', 'pipe', blocking],
    });
    after(() => child.kill('SIGKILL'));
    const [printed] = await once(child.stdout!, 'data');
    const url = /listening on (\S+)/.exec(String(printed))![1]!;
    assert.equal((await fetch(`${url}/v1/models`)).status, 401);
    child.kill('SIGINT');
    const [code, signal] = await once(child, 'exit');
    assert.ok(code === 0 || signal === 'SIGINT', `code ${code}, signal ${signal}`);
  });
});
