import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DataDirInUseError, NoDatabaseError } from '../../src/db/data-dir.ts';
import { findBinaries } from '../../src/db/local/binaries.ts';
import { readRecord } from '../../src/db/local/cluster.ts';
import { LocalServerError } from '../../src/db/local/local-server-error.ts';
import { asSuperuser, clusterOf, makeServerDirectory, query, serverPid } from '../support/local-servers.ts';
import { until } from '../support/until.ts';

describe('the local server', () => {
  const directory = makeServerDirectory();
  const { dataDir } = directory;
  let cluster = '';
  before(async () => {
    const server = await directory.start();
    cluster = clusterOf(server);
    await query(server.connection, 'create table kept (text text)', "insert into kept values ('Ä')");
    await server.stop();
  });
  after(() => directory.remove());

  test('keeps committed data, and creates its cluster once', async () => {
    const server = await directory.start();
    assert.deepEqual(await query(server.connection, 'select text, lower(text) as lower from kept'), [
      { text: 'Ä', lower: 'ä' },
    ]);
    await server.stop();
    assert.equal(existsSync(join(cluster, 'postmaster.pid')), false);
  });

  test('is in UTF-8 and UTC, with checksums, and syncs', async () => {
    const server = await directory.start();
    const rows = await query(
      server.connection,
      `select name, setting from pg_settings where name in ('server_encoding', 'TimeZone', 'data_checksums', 'fsync', 'full_page_writes',
        'synchronous_commit', 'listen_addresses', 'log_min_error_statement') order by name`,
    );
    assert.deepEqual(Object.fromEntries(rows.map(({ name, setting }) => [name, setting])), {
      data_checksums: 'on',
      fsync: 'on',
      full_page_writes: 'on',
      listen_addresses: '',
      log_min_error_statement: 'panic',
      server_encoding: 'UTF8',
      synchronous_commit: 'on',
      TimeZone: 'UTC',
    });
    assert.deepEqual(
      await query(server.connection, 'select datlocprovider as provider, datlocale as locale from pg_database limit 1'),
      [{ provider: 'b', locale: 'C.UTF-8' }],
    );
    await server.stop();
  });

  test('requires the password, and gives the gateway a role that is not a superuser', async () => {
    const server = await directory.start();
    for (const connection of [server.connection, asSuperuser(server.connection)]) {
      for (const password of ['', 'guessed']) {
        await assert.rejects(query({ ...connection, password }, 'select 1'), /password/);
      }
    }
    assert.deepEqual(
      await query({ ...server.connection }, 'select usesuper from pg_user where usename = current_user'),
      [{ usesuper: false }],
    );
    await assert.rejects(query(server.connection, "copy kept to program 'cat'"), /permission denied/);
    assert.deepEqual(await query(asSuperuser(server.connection), 'select 1 as one'), [{ one: 1 }]);
    await server.stop();
  });

  test('is inaccessible to other users: they can read neither its directory nor password nor log', async () => {
    const server = await directory.start();
    const modes = [cluster, ...['postgres.json', 'postgres.log'].map((name) => join(dataDir, name)), dataDir];
    for (const path of modes) assert.equal(statSync(path).mode & 0o077, 0, path);
    await server.stop();
  });

  test('a second start waits for the first one to end, with a timeout', async () => {
    const server = await directory.start();
    await assert.rejects(directory.start({ patienceMs: 0 }), DataDirInUseError);
    const { promise: isWaiting, resolve: onWaiting } = Promise.withResolvers<string>();
    const second = directory.start({ onWaiting });
    await isWaiting;
    const pid = serverPid(cluster);
    await server.stop();
    const { connection, stop } = await second;
    assert.notEqual(serverPid(cluster), pid);
    assert.equal((await query(connection, 'select 1 as one')).length, 1);
    await stop();
  });

  test('two concurrent first starts create one cluster', async () => {
    const fresh = makeServerDirectory();
    const started = await Promise.allSettled([fresh.start({ patienceMs: 0 }), fresh.start({ patienceMs: 0 })]);
    const [made, refused] = started.toSorted((one, other) => one.status.localeCompare(other.status));
    assert.ok(made?.status === 'fulfilled' && refused?.status === 'rejected');
    assert.ok(refused.reason instanceof DataDirInUseError);
    await made.value.stop();
    await fresh.remove();
  });

  test('a stopped start ends its server and releases the directory', async () => {
    const stopping = new AbortController();
    const starting = directory.start({ stopped: stopping.signal });
    stopping.abort(new Error('stopped by the test'));
    await assert.rejects(starting, /stopped by the test/);
    await (await directory.start({ patienceMs: 0 })).stop();
  });

  test('a first start stopped while creating the cluster leaves no process, and the next one creates it again', async () => {
    const fresh = makeServerDirectory();
    const stopping = new AbortController();
    const starting = fresh.start({ stopped: stopping.signal });
    const made = () => globSync('{data/postgres,clusters/*}/cluster*/global', { cwd: fresh.path });
    await Promise.race([until(() => made().length > 0), starting]);
    stopping.abort(new Error('stopped by the test'));
    await assert.rejects(starting, /stopped by the test/);
    assert.equal(readRecord(fresh.dataDir)?.isComplete, false);
    assert.doesNotMatch(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }), new RegExp(`${fresh.path}/`));
    await (await fresh.start()).stop();
    await fresh.remove();
  });

  test('does not mistake another process with its number or directory for its server', async () => {
    const foreign = spawn('sleep', ['1000'], { cwd: process.getuid?.() === 0 ? cluster : dataDir });
    writeFileSync(join(cluster, 'postmaster.pid'), `${foreign.pid}\n${cluster}\n`);
    const server = await directory.start();
    assert.equal((await query(server.connection, 'select 1 as one')).length, 1);
    assert.notEqual(serverPid(cluster), foreign.pid);
    await server.stop();
    assert.equal(foreign.exitCode ?? foreign.signalCode, null, 'the other process still runs');
    foreign.kill('SIGKILL');
  });

  test('neither its log nor its environment contains values, statements or keys', async () => {
    const canary = 'canary-5f1c';
    process.env.FAREGATE_TEST_CANARY = canary;
    const server = await directory.start();
    delete process.env.FAREGATE_TEST_CANARY;
    const texts = [
      `select '${canary}'::int`,
      `select "${canary}"`,
      `do $$ begin raise warning '${canary}'; end $$`,
      `insert into kept values ('${canary}') returning text::int`,
      'create unique index on kept (text)',
      "insert into kept values ('Ä')",
    ];
    for (const text of texts) await query(server.connection, text).catch(() => undefined);
    const pids = await query(
      asSuperuser(server.connection),
      "select pid from pg_stat_activity where backend_type <> 'client backend'",
    );
    const environments = [serverPid(cluster), ...pids.map(({ pid }) => pid)].map((pid) =>
      process.platform === 'linux' ? environmentOf(Number(pid)) : '',
    );
    assert.ok(pids.length > 2, 'processes of the server are seen');
    assert.doesNotMatch(environments.join(), new RegExp(`${canary}|^HOME=`, 'm'));
    await server.stop();
    const log = readFileSync(join(dataDir, 'postgres.log'), 'utf8');
    assert.match(log, /database system is shut down/);
    assert.doesNotMatch(log, new RegExp(`${canary}|kept|Ä`));
  });

  test('works in a directory whose path is too long for a socket', async () => {
    const long = join(directory.path, 'd'.repeat(110));
    mkdirSync(long);
    const server = await directory.start({ dataDir: join(long, 'data'), clustersDir: join(long, 'clusters') });
    assert.equal((await query(server.connection, 'select 1 as one')).length, 1);
    assert.equal(statSync(join(server.connection.host, '..')).mode & 0o077, 0);
    await server.stop();
    assert.equal(existsSync(server.connection.host), false);
  });

  test('a directory of another major version is refused with a reason, and not changed', async () => {
    const version = join(cluster, 'PG_VERSION');
    const known = readFileSync(version, 'utf8');
    writeFileSync(version, '17\n');
    await assert.rejects(directory.start(), /was created by PostgreSQL 17, but .* is PostgreSQL 18.*Export it with/s);
    writeFileSync(version, known);
    await (await directory.start()).stop();
  });

  test('a directory of the earlier embedded database is refused with a reason', async () => {
    const earlier = makeServerDirectory();
    mkdirSync(join(earlier.dataDir, 'db'), { recursive: true });
    writeFileSync(join(earlier.dataDir, 'db/PG_VERSION'), '18\n');
    await assert.rejects(earlier.start(), /created by an earlier version of Faregate.*commit [0-9a-f]+.*db import/s);
    assert.deepEqual(readdirSync(earlier.dataDir), ['db']);
    await earlier.remove();
  });

  test('creates no database if one must exist', async () => {
    const none = makeServerDirectory();
    await assert.rejects(none.start({ mustExist: true }), NoDatabaseError);
    assert.equal(existsSync(none.dataDir), false);
    await none.remove();
  });

  test('a missing cluster is not created again, unless it was never complete', async () => {
    const lost = makeServerDirectory();
    const server = await lost.start();
    await server.stop();
    rmSync(clusterOf(server), { recursive: true });
    await assert.rejects(lost.start(), /is missing: it was created in/);
    const record = join(lost.dataDir, 'postgres.json');
    writeFileSync(record, JSON.stringify({ ...JSON.parse(readFileSync(record, 'utf8')), isComplete: false }));
    await (await lost.start()).stop();
    await lost.remove();
  });

  describe('unusable programs are reported with a remedy', () => {
    const binaries = join(directory.path, 'programs');
    const cases: readonly (readonly [string, string | null, RegExp])[] = [
      ['none', null, /database\.binaries is .*does not contain the programs "initdb" and "postgres"/],
      [
        'for another C library',
        '#!/lib/ld-of-another-system.so',
        /another C library \(musl.*database\.binaries.*DATABASE_URL/,
      ],
      [
        'of an old version',
        '#!/bin/sh\necho "postgres (PostgreSQL) 16.2"',
        /is PostgreSQL 16\.2, .* requires 17 or later/,
      ],
      [
        'that fail',
        '#!/bin/sh\necho "libicu is missing" >&2; exit 127',
        /does not run: libicu is missing\..*DATABASE_URL/,
      ],
    ];
    for (const [name, script, words] of cases) {
      test(name, async () => {
        mkdirSync(binaries);
        if (script !== null) {
          for (const file of ['initdb', 'postgres']) writeFileSync(join(binaries, file), script, { mode: 0o755 });
        }
        await assert.rejects(directory.start({ binaries }), (error: unknown) => {
          assert.ok(error instanceof LocalServerError);
          assert.match(error.message, words);
          return true;
        });
        rmSync(binaries, { recursive: true });
      });
    }
  });

  test('configured programs in another directory are used', async () => {
    const { uid, gid } = statSync(cluster);
    const { postgres, environment } = await findBinaries({
      given: null,
      // Works for any user: the user of root's server cannot enter a checkout below a closed directory.
      user: process.getuid?.() === 0 ? { uid, gid } : null,
      linksDir: join(directory.path, 'links'),
      copiesDir: join(directory.path, 'copies'),
    });
    const binaries = join(directory.path, 'others');
    mkdirSync(binaries);
    for (const name of ['initdb', 'postgres']) {
      const variables = Object.entries(environment).map(([variable, value]) => `${variable}=${value}`);
      writeFileSync(
        join(binaries, name),
        `#!/bin/sh\nexec env ${variables.join(' ')} ${join(dirname(postgres), name)} "$@"\n`,
        {
          mode: 0o755,
        },
      );
    }
    const server = await directory.start({ binaries });
    assert.equal((await query(server.connection, 'select 1 as one')).length, 1);
    await server.stop();
  });
});

const environmentOf = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8').replaceAll('\0', '\n');
