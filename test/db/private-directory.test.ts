import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { startLocalServer } from '../../src/db/local/local-server.ts';
import { makePrivateDirectory, OpenDataDirError, type Rights, systemRights } from '../../src/db/private-directory.ts';
import { type Logger, silentLogger } from '../../src/lib/logger.ts';
import { runCommand } from '../support/command.ts';
import { startGateway } from '../support/gateway.ts';
import { placeLocal } from '../support/local-database.ts';

/** Permissions of a directory and everything in it, such as `700 .` and `600 gateway.json`. */
function rightsIn(directory: string): string[] {
  const paths = ['.', ...(readdirSync(directory, { recursive: true }) as string[])].sort();
  return paths.map((path) => `${(lstatSync(join(directory, path)).mode & 0o7777).toString(8)} ${path}`);
}

const notPrivate = (directory: string): string[] => rightsIn(directory).filter((line) => !/^[67]00 /.test(line));

function openUp(directory: string): void {
  for (const path of readdirSync(directory, { recursive: true }) as string[]) {
    const full = join(directory, path);
    chmodSync(full, lstatSync(full).isDirectory() ? 0o777 : 0o666);
  }
  chmodSync(directory, 0o777);
}

describe('a data directory', { timeout: 300_000 }, () => {
  let dataDir: string;
  let umask: number;
  let warnings: string[];
  const logger: Logger = { ...silentLogger, warn: (_details, message) => void warnings.push(message) };
  const isRefused: Rights = {
    change: () => {
      throw Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' });
    },
    areKept: () => true,
  };

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'faregate-dir-'));
    umask = process.umask(0);
    warnings = [];
  });
  afterEach(() => {
    process.umask(umask);
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('is private to its owner from the beginning, with every file created in it', async () => {
    chmodSync(dataDir, 0o777);
    placeLocal(dataDir);
    const made = await runCommand(['db', 'migrate'], { FAREGATE_DATA_DIR: dataDir });
    assert.equal(made.code, 0, made.stderr);
    assert.ok(rightsIn(dataDir).length > 2);
    assert.deepEqual(notPrivate(dataDir), []);
  });

  it('is corrected if it existed with other permissions', async () => {
    placeLocal(dataDir);
    writeFileSync(join(dataDir, 'demo.json'), '{}');
    for (const name of ['journal', 'spool']) {
      mkdirSync(join(dataDir, name, 'deep'), { recursive: true });
      writeFileSync(join(dataDir, name, 'deep', 'file'), '');
    }
    openUp(dataDir);
    assert.ok(notPrivate(dataDir).length > 6);
    const server = await startLocalServer({ dataDir, logger, binaries: null });
    assert.deepEqual([notPrivate(dataDir), warnings], [[], []]);
    await server.stop();
  });

  it('is private to its owner with a PostgreSQL server too', async () => {
    openUp(dataDir);
    await using _g = await startGateway({ dataDir });
    assert.ok(rightsIn(dataDir).length > 1);
    assert.deepEqual(notPrivate(dataDir), []);
  });

  it('is corrected without following links or changing other programs’ files', () => {
    const own = join(dataDir, 'data');
    mkdirSync(join(own, 'spool'), { recursive: true });
    writeFileSync(join(dataDir, 'outside'), '');
    writeFileSync(join(own, 'notes.txt'), '');
    symlinkSync(join(dataDir, 'outside'), join(own, 'spool', 'link'));
    symlinkSync(join(dataDir, 'outside'), join(own, 'journal.old'));
    openUpAllBut(own);
    makePrivateDirectory(own, logger);
    assert.equal(statSync(join(dataDir, 'outside')).mode & 0o777, 0o666);
    assert.deepEqual(
      rightsIn(own).filter((line) => !line.startsWith('777 journal') && !line.endsWith('link')),
      ['666 notes.txt', '700 .', '700 spool'].sort((a, b) => (a.slice(4) < b.slice(4) ? -1 : 1)),
    );
    assert.deepEqual(warnings, []);
  });

  function openUpAllBut(directory: string): void {
    chmodSync(directory, 0o777);
    chmodSync(join(directory, 'spool'), 0o777);
  }

  it('shared with other programs stays accessible, but the gateway’s files in it do not', () => {
    chmodSync(dataDir, 0o755);
    mkdirSync(join(dataDir, 'their'), { mode: 0o755 });
    mkdirSync(join(dataDir, 'db'), { mode: 0o755 });
    makePrivateDirectory(dataDir, logger);
    assert.deepEqual(rightsIn(dataDir), ['755 .', '700 db', '755 their']);
    assert.deepEqual(warnings, []);
  });

  it('that is a dangling link or a file is refused with a reason', () => {
    const link = join(dataDir, 'link');
    symlinkSync(join(dataDir, 'nowhere'), link);
    const file = join(dataDir, 'file');
    writeFileSync(file, '');
    for (const [path, reason] of [
      [
        link,
        /link cannot be used: .* is a link to .*nowhere, which is not a directory or does not exist\. Fix the cause/,
      ],
      [join(link, 'below'), /below cannot be used: .*link is a link to/],
      [file, /file cannot be used: .*file is not a directory/],
      [join(file, 'below'), /below cannot be used: .*file is not a directory/],
    ] as const) {
      assert.throws(() => makePrivateDirectory(path, logger), { name: 'UnusableDataDirError', message: reason });
    }
  });

  for (const name of ['db', 'journal', 'spool']) {
    it(`in which ${name} is a dangling link or a file is refused with a reason`, () => {
      symlinkSync(join(dataDir, 'nowhere'), join(dataDir, name));
      const refused = (message: RegExp) =>
        assert.throws(() => makePrivateDirectory(dataDir, logger), { name: 'UnusableDataDirError', message });
      refused(
        new RegExp(`${name} is a link to .*nowhere, which is not a directory or does not exist\\. Fix the cause`),
      );
      rmSync(join(dataDir, name));
      writeFileSync(join(dataDir, name), '');
      refused(new RegExp(`${name} is not a directory`));
    });
  }

  it('for everybody, such as /tmp, is refused with the command to correct it', () => {
    chmodSync(dataDir, 0o1777);
    assert.throws(
      () => makePrivateDirectory(dataDir, logger),
      (error) => {
        assert.ok(error instanceof OpenDataDirError);
        assert.ok(error.message.endsWith(`: chmod go= ${dataDir}`), error.message);
        return true;
      },
    );
    assert.deepEqual(rightsIn(dataDir), ['1777 .'], 'nothing is left behind');
  });

  describe('whose permissions cannot be set', () => {
    it('is refused if everybody can write', () => {
      chmodSync(dataDir, 0o777);
      assert.throws(() => makePrivateDirectory(dataDir, logger, isRefused), OpenDataDirError);
    });

    it('is refused if everybody can write to a reachable file in it', () => {
      mkdirSync(join(dataDir, 'db'));
      chmodSync(join(dataDir, 'db'), 0o755);
      writeFileSync(join(dataDir, 'db', 'PG_VERSION'), '');
      chmodSync(dataDir, 0o755);
      assert.throws(() => makePrivateDirectory(dataDir, logger, isRefused), {
        name: 'OpenDataDirError',
        message: new RegExp(`can write to ${dataDir}/db/PG_VERSION`),
      });
      chmodSync(join(dataDir, 'db'), 0o700);
      makePrivateDirectory(dataDir, logger, isRefused);
    });

    it('is used with a warning and the command if others can only read', () => {
      chmodSync(dataDir, 0o755);
      makePrivateDirectory(dataDir, logger, isRefused);
      assert.deepEqual(warnings, [
        `other users of this machine can access the gateway’s data; as its owner, run: chmod -R go= ${dataDir}`,
      ]);
    });

    it('because its file system has none, is used with a warning', () => {
      chmodSync(dataDir, 0o777);
      makePrivateDirectory(dataDir, logger, { change: () => undefined, areKept: () => false });
      assert.equal(warnings.length, 1);
    });

    it('is detected with a temporary file', () => {
      assert.equal(systemRights.areKept(dataDir), true);
      assert.equal(systemRights.areKept(join(dataDir, 'missing')), false);
      assert.deepEqual(readdirSync(dataDir), []);
    });
  });
});
