import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { readDataDirOwner } from '../../src/db/data-dir.ts';
import { isListening } from '../../src/db/local/socket-dir.ts';
import { clusterOf, isRunning, makeServerDirectory, query, serverPid, startOwner } from '../support/local-servers.ts';
import { recordLogs } from '../support/recorded-logger.ts';
import { byScope, inFullRunsOnly } from '../support/scope.ts';
import { until } from '../support/until.ts';

/** Acknowledged commits survive, whatever is killed. */

const ROUNDS = byScope({ full: 20, quick: 2 });
const isRoot = process.getuid?.() === 0;

describe('the local server, killed', () => {
  const directory = makeServerDirectory();
  let cluster = '';
  before(async () => {
    const server = await directory.start();
    cluster = clusterOf(server);
    await query(server.connection, 'create table committed (number int primary key)');
    await server.stop();
  });
  after(() => directory.remove());

  /** The data that the next start finds. */
  async function lastCommitted(): Promise<number> {
    const server = await directory.start();
    const [row] = await query(server.connection, 'select max(number) as max, count(*)::int as count from committed');
    await server.stop();
    assert.equal(row?.max, row?.count, 'none is missing');
    return Number(row?.max);
  }

  test('its owner: the next start stops it, does not adopt it, and has all that was committed', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const owner = await startOwner(directory);
      assert.equal(owner.said, `running ${cluster}`);
      await owner.reached(20);
      const pid = serverPid(cluster);
      await owner.kill();
      assert.ok(isRunning(pid), 'the server outlives its owner');
      const { logger, lines } = recordLogs();
      const next = await directory.start({ logger });
      assert.ok(!isRunning(pid));
      assert.notEqual(serverPid(cluster), pid);
      assert.ok(lines.some(({ message }) => message === 'stopping the database server of a killed gateway'));
      await next.stop();
      assert.ok((await lastCommitted()) >= owner.committed());
    }
  });

  test('the server: it is started again, and has all that was committed', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { logger, lines } = recordLogs();
      const server = await directory.start({ logger });
      const [row] = await query(
        server.connection,
        'insert into committed select coalesce(max(number), 0) + 1 from committed returning number',
      );
      const pid = serverPid(cluster);
      process.kill(pid, 'SIGKILL');
      await until(async () => {
        const [found] = await query(server.connection, 'select max(number) as max from committed').catch(() => []);
        return found?.max === row?.number && serverPid(cluster) !== pid;
      }, 'the server does not run again');
      assert.ok(lines.some(({ message }) => message === 'the database server stopped unexpectedly; restarting'));
      await server.stop();
    }
  });

  test('one of its processes: it recovers by itself', async () => {
    const server = await directory.start();
    const [row] = await query(server.connection, 'select pg_backend_pid() as pid, max(number) as max from committed');
    const pid = serverPid(cluster);
    const dying = query(server.connection, 'select pg_sleep(1000)');
    await until(async () => {
      const [found] = await query(
        server.connection,
        "select pid from pg_stat_activity where query like 'select pg_sleep%'",
      );
      if (found !== undefined) process.kill(Number(found.pid), 'SIGKILL');
      return found !== undefined;
    });
    await assert.rejects(dying);
    await until(async () => {
      const [found] = await query(server.connection, 'select max(number) as max from committed').catch(() => []);
      return found?.max === row?.max;
    });
    assert.equal(serverPid(cluster), pid);
    await server.stop();
  });

  test('its owner exits without stopping it: it stops by itself', async () => {
    const owner = await startOwner(directory, [], 'exit');
    const pid = serverPid(cluster);
    owner.child.stdin!.end();
    await until(() => !isRunning(pid), 'the server runs on');
  });

  test('both: the next start has all that was committed', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const owner = await startOwner(directory);
      await owner.reached(20);
      const pid = serverPid(cluster);
      process.kill(pid, 'SIGKILL');
      await owner.kill();
      assert.ok((await lastCommitted()) >= owner.committed());
    }
  });

  test('a suspended server is stopped too', { skip: inFullRunsOnly }, async () => {
    const owner = await startOwner(directory);
    const pid = serverPid(cluster);
    process.kill(pid, 'SIGSTOP');
    await owner.kill();
    assert.ok((await lastCommitted()) >= owner.committed());
    assert.ok(!isRunning(pid));
  });

  /** A separate pid namespace, as in a container: the shell has number 1 and outlives the gateway. */
  const container = [
    ...(isRoot ? ['unshare'] : ['unshare', '--user', '--map-current-user']),
    ...['--pid', '--fork', '--kill-child', '--mount-proc'],
    ...['sh', '-c', 'exec 3<&0; "$@" <&3 & wait $!; exec sleep 1000', 'sh'],
  ];
  const probe = spawnSync(container[0]!, [...container.slice(1, container.indexOf('sh')), 'true'], {
    encoding: 'utf8',
  });
  const withoutContainers =
    probe.status === 0 ? false : `this system allows no process-id spaces: ${probe.error?.message ?? probe.stderr}`;

  test('its owner, in a container that lives on: another container refuses the directory', {
    skip: withoutContainers,
  }, async () => {
    const first = await startOwner(directory, container);
    assert.equal(first.said, `running ${cluster}`);
    await first.reached(20);
    first.child.stdin!.end();
    await until(() => readDataDirOwner(directory.dataDir) === null);
    const second = await startOwner(directory, container);
    assert.match(second.said, /^LocalServerError: A PostgreSQL server that this process cannot see, .*still serves/);
    await Promise.all([first.kill(), second.kill()]);
    await until(async () => !(await isListening(cluster)));
    assert.ok((await lastCommitted()) >= first.committed());
  });
});
