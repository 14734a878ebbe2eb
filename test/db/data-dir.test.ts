import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { createAccountStore } from '../../src/accounting/accounts/store.ts';
import { acquireDataDir, announceGateway, DataDirInUseError, readDataDirOwner } from '../../src/db/data-dir.ts';
import { openEmbedded } from '../../src/db/embedded.ts';
import { createTestDatabase } from '../support/database.ts';

/** The embedded database tears itself apart where two processes write it, so a directory has one owner. */

const OWNER_FILE = 'gateway.json';
const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** A process that runs the script, and says one line a result. */
function startProcess(script: string): ChildProcess {
  return spawn(process.execPath, ['--input-type=module-typescript', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function lineFrom(child: ChildProcess): Promise<string> {
  let text = '';
  for await (const chunk of child.stdout!.iterator({ destroyOnReturn: false })) {
    text += chunk;
    if (text.includes('\n')) return text.trim();
  }
  return text.trim();
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Opens the directory as the gateway does, says how that went, and keeps it until a message ends it. */
const holdDirectory = (dataDir: string): string => `
import { openEmbedded } from ${source('db/embedded.ts')};
try {
  const database = await openEmbedded({ dataDir: ${JSON.stringify(dataDir)} });
  console.log('open');
  for await (const _ of process.stdin);
  await database.close();
} catch (error) {
  console.log(error.name + ': ' + error.message);
}`;

describe('a data directory', { timeout: 60_000 }, () => {
  let dataDir: string;
  const ownerFile = (): string => join(dataDir, OWNER_FILE);
  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'faregate-dir-'));
  });
  after(() => rmSync(dataDir, { recursive: true, force: true }));

  test('has one owner, is free again after its release, and can be released twice', () => {
    const lock = acquireDataDir(dataDir);
    assert.throws(() => acquireDataDir(dataDir), DataDirInUseError);
    assert.equal(readDataDirOwner(dataDir)?.pid, process.pid);
    lock.release();
    assert.equal(readDataDirOwner(dataDir), null);
    lock.release();
    acquireDataDir(dataDir).release();
  });

  test('says who has it open, where that gateway listens, and what to do', () => {
    const lock = acquireDataDir(dataDir);
    announceGateway(dataDir, 'http://127.0.0.1:8080', 'a-secret-token');
    assert.throws(
      () => acquireDataDir(dataDir),
      (error) => {
        assert.ok(error instanceof DataDirInUseError);
        for (const words of [
          dataDir,
          `process ${process.pid}`,
          'http://127.0.0.1:8080',
          'FAREGATE_DATA_DIR',
          'DATABASE_URL',
        ]) {
          assert.ok(error.message.includes(words), `${words} in: ${error.message}`);
        }
        assert.ok(!error.message.includes('a-secret-token'));
        return true;
      },
    );
    assert.equal(statSync(ownerFile()).mode & 0o777, 0o600);
    lock.release();
  });

  const gone = { pid: 0, processStart: '1' };
  before(async () => {
    const child = startProcess('');
    gone.pid = child.pid!;
    await endOf(child);
  });
  const leftBehind: readonly (readonly [what: string, content: () => string])[] = [
    ['a process that is gone', () => JSON.stringify(gone)],
    ['a process whose number another one has got since', () => JSON.stringify({ pid: process.pid, processStart: '1' })],
    ['a start that was cut off before it wrote', () => ''],
    ['a start that was cut off while it wrote', () => '{"pid":'],
    ['something else', () => '[]'],
    ['something else that is null', () => 'null'],
    ['an impossible process', () => JSON.stringify({ pid: -1, processStart: null })],
  ];
  for (const [what, content] of leftBehind) {
    test(`is taken over where its owner file was left behind by ${what}`, () => {
      writeFileSync(ownerFile(), content());
      assert.equal(readDataDirOwner(dataDir), null);
      const lock = acquireDataDir(dataDir);
      assert.equal(JSON.parse(readFileSync(ownerFile(), 'utf8')).pid, process.pid);
      lock.release();
      assert.equal(existsSync(ownerFile()), false);
    });
  }

  test('is taken over by one process only, however many find it left behind at once', async () => {
    const script = `
import { acquireDataDir } from ${source('db/data-dir.ts')};
console.log('ready');
process.stdin.once('data', () => {
  try {
    acquireDataDir(${JSON.stringify(dataDir)});
    console.log('mine');
  } catch (error) {
    console.log(error.name);
  }
});`;
    writeFileSync(ownerFile(), JSON.stringify(gone));
    const children = Array.from({ length: 6 }, () => startProcess(script));
    try {
      for (const child of children) assert.equal(await lineFrom(child), 'ready');
      for (const child of children) child.stdin!.write('go\n');
      const outcomes = await Promise.all(children.map(lineFrom));
      assert.deepEqual(outcomes.sort(), [...Array(5).fill('DataDirInUseError'), 'mine']);
    } finally {
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(children.map(endOf));
    }
  });
});

describe('embedded: a database directory', { timeout: 60_000 }, () => {
  test('is refused to a second process, in words', async () => {
    const stored = await createTestDatabase('embedded');
    try {
      const child = startProcess(holdDirectory(stored.dataDir));
      assert.match(
        await lineFrom(child),
        new RegExp(`^DataDirInUseError: The data directory ${stored.dataDir} is in use by process ${process.pid}`),
      );
      child.stdin!.end();
      await endOf(child);
      assert.deepEqual(await stored.database.query({ name: 'test.one', text: 'select 1 as one' }), [{ one: 1 }]);
    } finally {
      await stored.remove();
    }
  });

  test('is taken over from a process that was killed, with everything it had stored', async () => {
    const stored = await createTestDatabase('embedded');
    try {
      const at = new Date('2026-11-20T00:00:00Z');
      await createAccountStore(stored.database).insertAccount({
        id: 'acct_1',
        name: 'first',
        email: null,
        verified: true,
        dailyCapNano: null,
        at,
      });
      await stored.database.close();

      const child = startProcess(`
import { createAccountStore } from ${source('accounting/accounts/store.ts')};
import { openEmbedded } from ${source('db/embedded.ts')};
const database = await openEmbedded({ dataDir: ${JSON.stringify(stored.dataDir)} });
await createAccountStore(database).insertAccount({
  id: 'acct_2', name: 'second', email: null, verified: true, dailyCapNano: null, at: new Date('2026-11-20T00:00:00Z'),
});
console.log('stored');
for await (const _ of process.stdin);`);
      assert.equal(await lineFrom(child), 'stored');
      await assert.rejects(openEmbedded({ dataDir: stored.dataDir }), (error) => {
        assert.ok(error instanceof DataDirInUseError);
        assert.equal(error.owner.pid, child.pid);
        return true;
      });
      child.kill('SIGKILL');
      await endOf(child);

      const database = await openEmbedded({ dataDir: stored.dataDir });
      try {
        const accounts = await createAccountStore(database).listAccounts(null, null, 10);
        assert.deepEqual(
          accounts.map(({ name }) => name),
          ['second', 'first'],
        );
      } finally {
        await database.close();
      }
    } finally {
      await stored.remove();
    }
  });

  test('is given up where it cannot be opened', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'faregate-dir-'));
    try {
      writeFileSync(join(dataDir, 'db'), 'not a database');
      await assert.rejects(openEmbedded({ dataDir }), (error) => !(error instanceof DataDirInUseError));
      acquireDataDir(dataDir).release();
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
