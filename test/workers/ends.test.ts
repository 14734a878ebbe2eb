import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { readRecord } from '../../src/db/local/cluster.ts';
import { knownPlace } from '../../src/db/local/place.ts';
import {
  assertCharged,
  assertDelivered,
  assertSound,
  beginAll,
  type Caller,
  type CallInFlight,
  createCallers,
  Gates,
  journalEntries,
  recordsOf,
} from '../settlement/callers.ts';
import { serve } from '../settlement/programs.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { ADMIN_TOKEN } from '../support/gateway.ts';
import { placeLocal } from '../support/local-database.ts';
import { serverPid } from '../support/local-servers.ts';
import { listenOnLoopback } from '../support/loopback.ts';
import { runProgram, temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';
import { askOnce, isRunning, startWorkers, type WorkersProgram, writeConfig } from './scene.ts';

/** Failures at the start and the end of a gateway with workers. */

describe('workers', { timeout: 300_000 }, () => {
  const gates = new Gates();
  const directory = temporaryDirectory();
  let provider: ScriptedProvider;
  let stored: TestDatabase;
  /** Between the workers and the database. */
  let proxy: TestProxy;

  before(async () => {
    provider = await startProvider();
    provider.respond = gates.respond;
    stored = await createTestDatabase();
    proxy = await startProxy(stored.url);
  });
  after(async () => {
    await proxy?.close();
    await stored?.remove();
    await provider?.close();
    directory.remove();
  });

  async function start(
    context: TestContext,
    name: string,
    workers: number,
    server = '',
    databaseUrl = proxy.url,
  ): Promise<WorkersProgram> {
    const dataDir = join(directory.path, name);
    const g = await startWorkers({ providerUrl: provider.url, databaseUrl, dataDir, workers, server });
    context.after(async () => {
      g.program.child.kill('SIGKILL');
      await g.program.finished;
      for (const { process: pid } of await g.workers()) if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    });
    await until(async () => (await g.workers()).length === workers);
    return g;
  }

  async function begin(g: WorkersProgram, gate: string): Promise<{ callers: Caller[]; calls: CallInFlight[] }> {
    const callers = await createCallers(g.admin);
    return { callers, calls: await beginAll(g.url, provider, callers, gate) };
  }

  /** What a start prints and ends with. */
  function run(name: string, workers: string, environment: Record<string, string> = {}, server = '') {
    const file = writeConfig({ providerUrl: provider.url, dataDir: join(directory.path, name), server });
    return runProgram(['serve', '--config', file, '--workers', workers], {
      environment: { FAREGATE_ADMIN_TOKEN: ADMIN_TOKEN, ...environment },
    });
  }

  test('serve on a local server, which the primary stops after them', async (context) => {
    const dataDir = join(directory.path, 'local');
    placeLocal(dataDir);
    const g = await start(context, 'local', 2, '', '');
    const { callers, calls } = await begin(g, 'local');
    const server = serverPid(knownPlace(dataDir, readRecord(dataDir)!.home).cluster);
    g.program.child.kill('SIGINT');
    await until(async () => (await g.log()).filter(({ msg }) => String(msg).startsWith('stopping')).length === 3);
    gates.open('local');
    for (const each of calls) await assertDelivered(each);
    assert.equal((await g.program.finished).code, 0);
    assert.equal(isRunning(server), false);
    const next = await serve({ providerUrl: provider.url, dataDir, databaseUrl: '' });
    context.after(() => next.kill());
    for (const caller of callers) await assertCharged(next.admin, next.url, caller);
    await assertSound(next.admin);
    assert.equal((await next.stop()).code, 0);
  });

  test('are refused if their number is invalid', async () => {
    const none = await run('none', '0');
    assert.equal(none.code, 2);
    assert.match(none.stderr, /--workers: Expected a whole number from 1 to 128, or "auto"\./);
  });

  test('stop with the error of a worker that cannot start, which is shown once', async () => {
    const taken = await listenOnLoopback(createServer());
    try {
      const inUse = await run('in-use', '2', { DATABASE_URL: stored.url, PORT: String(taken.port) });
      assert.equal(inUse.code, 1);
      assert.equal(inUse.stdout, '');
      assert.equal(
        inUse.stderr.match(new RegExp(`The address 127\\.0\\.0\\.1:${taken.port} is in use`, 'g'))?.length,
        1,
      );
    } finally {
      await taken.close();
    }
    const noDatabase = await run('no-database', '2', { DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/none` });
    assert.equal(noDatabase.code, 1);
    assert.equal(noDatabase.stderr.match(/The database refuses connections/g)?.length, 1);
  });

  test('that hang get at most one more connection, while others serve the rest; a reload changes the log format of all', async (context) => {
    const g = await start(context, 'hanging', 2);
    const [hanging] = await g.workers();
    process.kill(hanging!.process, 'SIGSTOP');
    const asked = Array.from({ length: 6 }, () => askOnce(`${g.url}/healthz`).then(({ status }) => status, String));
    let served = 0;
    for (const each of asked) void each.then((status) => (served += Number(status === 200)));
    await until(() => served === 5);
    process.kill(hanging!.process, 'SIGKILL');
    const statuses = await Promise.all(asked);
    assert.equal(statuses.filter((status) => status === 200).length, 5);
    assert.match(String(statuses.find((status) => status !== 200)), /ECONNRESET|socket hang up/);
    await until(async () => (await g.workers()).length === 3);
    await assertOneFormat(g, 'hanging');
  });

  /** Workers, the one in the place of another too, have the format of the log that a reload gives the primary. */
  async function assertOneFormat({ program }: WorkersProgram, name: string): Promise<void> {
    appendFileSync(join(directory.path, `${name}.yaml`), '\nlog: { format: pretty }\n');
    program.child.kill('SIGHUP');
    await until(async () => ((await program.printed(/^/)).match(/configuration reloaded/g)?.length ?? 0) === 2);
    program.child.kill('SIGINT');
    const { code, stderr } = await program.finished;
    assert.equal(code, 0);
    const lines = stderr.split('\n');
    for (const text of ['a worker has stopped', 'the gateway has stopped']) {
      const said = lines.filter((line) => line.includes(text));
      assert.ok(said.length > 0 && said.every((line) => !line.startsWith('{')), stderr);
    }
  }

  test('leave journals that a start with fewer workers applies', async (context) => {
    const g = await start(context, 'journals', 2);
    const { callers, calls } = await begin(g, 'journals');
    proxy.refuse();
    proxy.cut();
    gates.open('journals');
    for (const each of calls) await assertDelivered(each);
    const workers = await g.workers();
    g.program.child.kill('SIGKILL');
    for (const { process: pid } of workers) process.kill(pid, 'SIGKILL');
    await until(() => workers.every(({ process: pid }) => !isRunning(pid)));
    assert.equal((await journalEntries(join(directory.path, 'journals'))).length, callers.length);

    proxy.allow();
    const next = await serve({
      providerUrl: provider.url,
      dataDir: join(directory.path, 'journals'),
      databaseUrl: stored.url,
    });
    context.after(() => next.kill());
    for (const caller of callers) {
      await assertCharged(next.admin, next.url, caller);
      assert.equal((await recordsOf(next.admin, caller)).length, 1);
    }
    await assertSound(next.admin);
    await until(async () => (await journalEntries(join(directory.path, 'journals'))).length === 0);
    assert.equal((await next.stop()).code, 0);
  });

  test('apply the journal of the killed worker that they replace', async (context) => {
    const g = await start(context, 'replaced', 2);
    const { callers, calls } = await begin(g, 'replaced');
    proxy.refuse();
    proxy.cut();
    gates.open('replaced');
    for (const each of calls) await assertDelivered(each);
    const [first] = await g.workers();
    process.kill(first!.process, 'SIGKILL');
    await until(async () => (await g.log()).some(({ msg }) => msg === 'a worker failed to start; retrying'));
    proxy.allow();
    await until(async () => (await g.workers()).length === 3);
    for (const caller of callers) await assertCharged(g.admin, g.url, caller);
    await assertSound(g.admin);
    await until(async () => (await journalEntries(join(directory.path, 'replaced'))).length === 0);
  });

  test('finish their requests and exit if the primary is killed, or exit at once after its second signal', async (context) => {
    const g = await start(context, 'orphans', 2);
    const { callers, calls } = await begin(g, 'orphans');
    const workers = await g.workers();
    g.program.child.kill('SIGKILL');
    await until(async () => (await g.log()).filter(({ msg }) => String(msg).startsWith('stopping')).length === 2);
    gates.open('orphans');
    for (const each of calls) await assertDelivered(each);
    await until(() => workers.every(({ process: pid }) => !isRunning(pid)));
    const next = await start(context, 'orphans', 2);
    for (const caller of callers) await assertCharged(next.admin, next.url, caller);
    await assertSound(next.admin);
    await assertEndAtOnce(next);
  });

  /** A second signal ends the primary and its workers while they finish their requests. */
  async function assertEndAtOnce(g: WorkersProgram): Promise<void> {
    await begin(g, 'never');
    const workers = await g.workers();
    g.program.child.kill('SIGINT');
    await until(async () => (await g.log()).filter(({ msg }) => String(msg).startsWith('stopping')).length === 3);
    g.program.child.kill('SIGINT');
    assert.equal((await g.program.finished).code, null);
    await until(() => workers.every(({ process: pid }) => !isRunning(pid)));
  }
});
