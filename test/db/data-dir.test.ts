import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, before, beforeEach, describe, test } from 'node:test';
import {
  acquireDataDir,
  announceGateway,
  DataDirInUseError,
  NoLockError,
  readDataDirOwner,
} from '../../src/db/data-dir.ts';
import { warnOfNetworkFileSystem } from '../../src/db/network-file-system.ts';
import { recordLogs } from '../support/recorded-logger.ts';

/** A data directory has one owner, and therefore one local server. */

const OWNER_FILE = 'gateway.json';
const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** Runs a program in its own pid namespace, as in a container, where its process has number 1. */
const CONTAINER = ['unshare', '--user', '--map-root-user', '--pid', '--fork', '--kill-child', '--mount-proc'];
const probe = spawnSync(CONTAINER[0]!, [...CONTAINER.slice(1), 'true'], { encoding: 'utf8' });
const withoutContainers =
  probe.status === 0 ? false : `this system allows no process-id spaces: ${probe.error?.message ?? probe.stderr}`;

/** A process that runs the script and prints one line per result. */
function startProcess(script: string, within: readonly string[] = []): ChildProcess {
  const [command, ...given] = [...within, process.execPath, '--eval', script];
  return spawn(command!, given, { stdio: ['pipe', 'pipe', 'inherit'] });
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

/** Acquires the directory, prints the result, and keeps the directory until its input ends. */
const takeDirectory = (dataDir: string): string => `
import { acquireDataDir, announceGateway } from ${source('db/data-dir.ts')};
try {
  const lock = await acquireDataDir(${JSON.stringify(dataDir)}, { patienceMs: 0 });
  const url = 'http://127.0.0.1:' + process.pid;
  announceGateway(${JSON.stringify(dataDir)}, { url, adminToken: 'a-secret-token', databaseUrl: 'postgres://' });
  console.log('mine');
  for await (const _ of process.stdin);
  lock.release();
} catch (error) {
  console.log(error.name + ': ' + error.message);
}`;

const WITHOUT_WAITING = { patienceMs: 0 };

describe('a data directory', { timeout: 300_000 }, () => {
  let dataDir: string;
  const children: ChildProcess[] = [];
  const ownerFile = (): string => join(dataDir, OWNER_FILE);
  const start = (script: string, within?: readonly string[]): ChildProcess => {
    const child = startProcess(script, within);
    children.push(child);
    return child;
  };
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'faregate-dir-'));
  });
  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(children.splice(0).map(endOf));
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('has one owner, is free again after its release, and can be released twice', async () => {
    const lock = await acquireDataDir(dataDir);
    await assert.rejects(acquireDataDir(dataDir, WITHOUT_WAITING), DataDirInUseError);
    assert.equal(readDataDirOwner(dataDir)?.pid, process.pid);
    lock.release();
    assert.equal(readDataDirOwner(dataDir), null);
    lock.release();
    (await acquireDataDir(dataDir, WITHOUT_WAITING)).release();
    assert.equal(existsSync(ownerFile()), false);
  });

  test('names its owner, the gateway’s address, and a remedy', async () => {
    const lock = await acquireDataDir(dataDir);
    announceGateway(dataDir, {
      url: 'http://127.0.0.1:8080',
      adminToken: 'a-secret-token',
      databaseUrl: 'postgres://u:a-secret-token@h/d',
    });
    await assert.rejects(acquireDataDir(dataDir, WITHOUT_WAITING), (error) => {
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
    });
    assert.equal(statSync(ownerFile()).mode & 0o777, 0o600);
    lock.release();
  });

  test('stays with its owner when others in the same process request it or look up the owner', async () => {
    const lock = await acquireDataDir(dataDir);
    await assert.rejects(acquireDataDir(dataDir, WITHOUT_WAITING), DataDirInUseError);
    assert.equal(readDataDirOwner(dataDir)?.pid, process.pid);
    assert.match(await lineFrom(start(takeDirectory(dataDir))), /^DataDirInUseError: /);
    lock.release();
  });

  const gone = { pid: 0, host: hostname() };
  before(async () => {
    const child = startProcess('');
    gone.pid = child.pid!;
    await endOf(child);
  });
  const leftBehind: readonly (readonly [what: string, content: () => string])[] = [
    ['a process that has ended', () => JSON.stringify(gone)],
    ['a process whose number another one has now', () => JSON.stringify({ pid: process.ppid, host: hostname() })],
    ['a start interrupted before it wrote', () => ''],
    ['a start interrupted while it wrote', () => '{"pid":'],
    ['another JSON value', () => '[]'],
    ['null', () => 'null'],
    ['an invalid process number', () => JSON.stringify({ pid: -1, host: hostname() })],
  ];
  for (const [what, content] of leftBehind) {
    test(`is taken over if its owner file was left behind by ${what}`, async () => {
      writeFileSync(ownerFile(), content());
      assert.equal(readDataDirOwner(dataDir), null);
      const lock = await acquireDataDir(dataDir, WITHOUT_WAITING);
      assert.equal(JSON.parse(readFileSync(ownerFile(), 'utf8')).pid, process.pid);
      lock.release();
    });
  }

  test('is taken over by one of several processes that find it abandoned', async () => {
    const script = `
import { acquireDataDir } from ${source('db/data-dir.ts')};
console.log('ready');
process.stdin.once('data', async () => {
  try {
    await acquireDataDir(${JSON.stringify(dataDir)}, { patienceMs: 0 });
    console.log('mine');
  } catch (error) {
    console.log(error.name);
  }
});`;
    writeFileSync(ownerFile(), JSON.stringify(gone));
    const racers = Array.from({ length: 6 }, () => start(script));
    for (const child of racers) assert.equal(await lineFrom(child), 'ready');
    for (const child of racers) child.stdin!.write('go\n');
    const outcomes = await Promise.all(racers.map(lineFrom));
    assert.deepEqual(outcomes.sort(), [...Array(5).fill('DataDirInUseError'), 'mine']);
  });

  test('is waited for, in words, if its owner is about to go, and taken when it was killed', async () => {
    const child = start(takeDirectory(dataDir));
    assert.equal(await lineFrom(child), 'mine');
    const messages: string[] = [];
    const lock = await acquireDataDir(dataDir, {
      onWaiting: (message) => {
        messages.push(message);
        child.kill('SIGKILL');
      },
    });
    assert.deepEqual(messages, [
      `Waiting up to 10 seconds for process ${child.pid} (listening on http://127.0.0.1:${child.pid}) to release the data directory ${dataDir}.`,
    ]);
    assert.equal(readDataDirOwner(dataDir)?.pid, process.pid);
    lock.release();
  });

  test('is refused if its owner does not release it in time', async () => {
    const child = start(takeDirectory(dataDir));
    assert.equal(await lineFrom(child), 'mine');
    let messages = 0;
    await assert.rejects(
      acquireDataDir(dataDir, { patienceMs: 250, onWaiting: () => messages++ }),
      new RegExp(`is in use by process ${child.pid} \\(listening on http://127.0.0.1:${child.pid}\\)`),
    );
    assert.equal(messages, 1);
  });

  test('that cannot be locked is refused with a remedy', async () => {
    mkdirSync(join(dataDir, 'gateway.lock'));
    await assert.rejects(acquireDataDir(dataDir), (error) => {
      assert.ok(error instanceof NoLockError);
      assert.match(error.message, /cannot be locked \(.+\)\. It must be on a local disk/);
      return true;
    });
  });

  test('has one owner over all containers of a machine, which do not see the processes of each other', {
    skip: withoutContainers,
  }, async () => {
    const first = start(takeDirectory(dataDir), CONTAINER);
    assert.equal(await lineFrom(first), 'mine');
    // Each of them is process 1 of its container.
    const refusal = /^DataDirInUseError: .* is in use by process 1 \(listening on http:\/\/127.0.0.1:1\)/;
    assert.match(await lineFrom(start(takeDirectory(dataDir), CONTAINER)), refusal);
    assert.match(await lineFrom(start(takeDirectory(dataDir))), refusal);
    assert.equal(readDataDirOwner(dataDir)?.url, 'http://127.0.0.1:1');
    first.kill('SIGKILL');
    await endOf(first);
    (await acquireDataDir(dataDir)).release();
  });

  test('on a network file system causes a warning', { skip: process.platform !== 'linux' }, () => {
    const { logger, lines } = recordLogs();
    warnOfNetworkFileSystem(dataDir, logger);
    warnOfNetworkFileSystem(dataDir, logger, () => 0xef53);
    assert.equal(lines.length, 0);
    warnOfNetworkFileSystem(dataDir, logger, () => 0x6969);
    // Some systems report the type as a signed number.
    warnOfNetworkFileSystem(dataDir, logger, () => 0xff534d42 | 0);
    assert.deepEqual(
      lines.map(({ level, details }) => [level, details.dataDir, details.fileSystem]),
      [
        ['warn', dataDir, 'NFS'],
        ['warn', dataDir, 'CIFS'],
      ],
    );
  });
});
