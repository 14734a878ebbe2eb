import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { formatYuan } from '../../src/lib/yuan.ts';
import {
  assertCharged,
  assertDelivered,
  assertFree,
  assertSound,
  beginAll,
  type CallInFlight,
  createCallers,
  Gates,
  kinds,
  recorded,
} from '../settlement/callers.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { ADMIN_TOKEN } from '../support/gateway.ts';
import { readMetrics } from '../support/openmetrics.ts';
import { temporaryDirectory } from '../support/process.ts';
import { type ScriptedProvider, startProvider } from '../support/provider.ts';
import { until } from '../support/until.ts';
import { askOnce, startWorkers, type WorkerLine, type WorkersProgram } from './scene.ts';

/** Attempts to use links from one network before further ones are refused. */
const TRIES = 20;

describe('a gateway with two workers', { timeout: 300_000 }, () => {
  const gates = new Gates();
  const directory = temporaryDirectory();
  let provider: ScriptedProvider;
  let stored: TestDatabase;
  let g: WorkersProgram;

  before(async () => {
    provider = await startProvider();
    provider.respond = gates.respond;
    stored = await createTestDatabase();
    g = await startWorkers({
      providerUrl: provider.url,
      databaseUrl: stored.url,
      dataDir: join(directory.path, 'data'),
      workers: 2,
    });
  });
  after(async () => {
    g?.program.child.kill('SIGKILL');
    await g?.program.finished;
    await stored?.remove();
    await provider?.close();
    directory.remove();
  });

  /** The latest process of each worker. */
  const running = async (): Promise<WorkerLine[]> => {
    let found: (WorkerLine | undefined)[] = [];
    // Log lines are written in batches.
    await until(async () => {
      const lines = await g.workers();
      found = [1, 2].map((number) => lines.findLast(({ worker }) => worker === number));
      return found.every((line) => line !== undefined);
    });
    return found as WorkerLine[];
  };
  const metricsAt = async (url: string, headers = {}) => readMetrics((await askOnce(`${url}/metrics`, headers)).text);

  /** Calls in flight at both workers, and the node of each. */
  async function beginAtBoth(gate: string): Promise<{ calls: CallInFlight[]; nodeOf: Map<string, string> }> {
    const callers = await createCallers(g.admin, [...kinds, ...kinds.slice(0, 4)]);
    const calls = await beginAll(g.url, provider, callers, gate);
    const { data } = await g.admin('GET', '/calls?status=in_flight');
    const nodeOf = new Map<string, string>(
      data.map(({ accountId, nodeId }: { accountId: string; nodeId: string }) => [accountId, nodeId]),
    );
    assert.deepEqual(new Set(nodeOf.values()), new Set((await running()).map(({ nodeId }) => nodeId)));
    return { calls, nodeOf };
  }

  test('logs one line with the number of workers and their processes', async () => {
    const said = async () => (await g.log()).find(({ msg }) => msg === 'the gateway serves with 2 workers');
    await until(async () => (await said()) !== undefined);
    const line = await said();
    const workers = (await running()).map(({ worker, process }) => ({ worker, process }));
    assert.deepEqual([line.url, line.process, line.workers], [g.url, g.program.child.pid, workers]);
    assert.equal(new Set([line.process, ...workers.map(({ process }) => process)]).size, 3);
  });

  test('distributes calls to both, and charges each once', async () => {
    const { calls } = await beginAtBoth('spread');
    gates.open('spread');
    for (const each of calls) await assertDelivered(each);
    for (const { caller } of calls) await assertCharged(g.admin, g.url, caller);
    await assertSound(g.admin);
  });

  test('sums the metrics of both, whichever worker is asked', async () => {
    const paid = kinds.filter(({ isCoding }) => !isCoding);
    const costNano = [...paid, ...kinds.slice(0, 4)].reduce((sum, { family }) => sum + family.cost, 0n);
    const authorization = `Bearer ${ADMIN_TOKEN}`;
    const succeeded = async () => (await metricsAt(g.metricsUrl)).sum('faregate_calls_total', { status: 'succeeded' });
    await until(async () => (await succeeded()) === kinds.length + 4);
    for (const metrics of [await metricsAt(g.metricsUrl), await metricsAt(g.url, { authorization })]) {
      assert.equal(metrics.sum('faregate_calls_total', { status: 'succeeded' }), kinds.length + 4);
      assert.equal(metrics.sum('faregate_charged_yuan_total').toFixed(9), Number(formatYuan(costNano)).toFixed(9));
      assert.equal(metrics.sum('faregate_call_duration_seconds_count'), kinds.length + 4);
      for (const name of ['faregate_workers', 'faregate_workers_reporting']) assert.equal(metrics.sum(name), 2);
      assert.equal(metrics.sum('faregate_ready'), 1);
    }
  });

  test('counts attempts at both together', async () => {
    const look = () => askOnce(`${g.url}/account/v1/links/look`, {}, { token: 'a link that nobody has' });
    const statuses: number[] = [];
    for (let i = 0; i < TRIES + 4; i++) statuses.push((await look()).status);
    assert.deepEqual(statuses, [...Array(TRIES).fill(404), ...Array(4).fill(429)]);
    const servedBy = new Set<number>();
    await until(async () => {
      for (const { path, worker } of await g.log()) if (String(path).includes('links/look')) servedBy.add(worker);
      return servedBy.size === 2;
    });
  });

  test("reloads the configuration in both on the primary's signal, and records it once", async () => {
    appendFileSync(join(directory.path, 'data.yaml'), '\nretention: { refusals: 7d }\n');
    g.program.child.kill('SIGHUP');
    const reloaded = async () => (await g.log()).filter(({ msg }) => msg === 'configuration reloaded');
    await until(async () => new Set((await reloaded()).map(({ worker }) => worker)).size === 2);
    const { data } = await g.admin('GET', '/changes?limit=100');
    assert.equal(data.filter(({ action }: { action: string }) => action === 'config.reload').length, 1);
  });

  test('reloads the configuration in both on request', async () => {
    const reloads = async () =>
      (await g.log()).filter(({ msg }) => msg === 'the configuration is already in force; nothing to reload');
    const { length } = await reloads();
    const { lastError } = await g.admin('POST', '/config/reload');
    assert.equal(lastError, null);
    await until(async () => new Set((await reloads()).slice(length).map(({ worker }) => worker)).size === 2);
  });

  test('reports which worker hangs, and the metrics of the other one', async () => {
    const [first, second] = await running();
    process.kill(second!.process, 'SIGSTOP');
    try {
      const ready = await askOnce(`${g.metricsUrl}/readyz`);
      assert.deepEqual(
        [ready.status, JSON.parse(ready.text)],
        [503, { status: 'not ready', detail: ['Worker 2: The process does not respond.'] }],
      );
      const metrics = await metricsAt(g.metricsUrl);
      assert.equal(metrics.sum('faregate_workers_reporting'), 1);
      assert.equal(metrics.sum('faregate_ready'), 0);
      assert.equal(metrics.sum('faregate_calls_total', { status: 'succeeded' }), kinds.length + 4);
    } finally {
      process.kill(second!.process, 'SIGCONT');
    }
    await until(async () => (await askOnce(`${g.url}/readyz`)).status === 200);
    assert.deepEqual(await running(), [first, second]);
  });

  test('keeps serving when one is killed, releases its calls, and replaces it', async () => {
    const [first, second] = await running();
    const { calls, nodeOf } = await beginAtBoth('killed');
    process.kill(first!.process, 'SIGKILL');
    const [lost, kept] = [first!, second!].map(({ nodeId }) =>
      calls.filter(({ caller }) => nodeOf.get(caller.id) === nodeId),
    );
    for (const { response, begun } of lost!) {
      if (begun === null) await assert.rejects(response);
      else assert.equal(await begun.ended(), false);
    }
    gates.open('killed');
    for (const each of kept!) await assertDelivered(each);
    for (const { caller } of kept!) await assertCharged(g.admin, g.url, caller);
    for (const { caller } of lost!) {
      await recorded(g.admin, caller, 'unresolved');
      await assertFree(g.admin, g.url, caller);
    }
    await assertSound(g.admin);

    const replaced = await running();
    assert.notEqual(replaced[0]!.process, first!.process);
    assert.notEqual(replaced[0]!.nodeId, first!.nodeId);
    assert.deepEqual(replaced[1], second);
    const metrics = await metricsAt(g.metricsUrl);
    assert.equal(metrics.sum('faregate_workers_reporting'), 2);
    assert.ok(metrics.sum('faregate_calls_total', { status: 'succeeded' }) >= kinds.length + 4, 'counters do not fall');
    const { calls: later } = await beginAtBoth('after');
    gates.open('after');
    for (const each of later) await assertDelivered(each);
  });

  test('finishes the calls in flight at both when it is stopped, and exits with 0', async () => {
    const { calls } = await beginAtBoth('stopped');
    g.program.child.kill('SIGTERM');
    await until(async () => (await g.log()).filter(({ msg }) => String(msg).startsWith('stopping')).length === 3);
    gates.open('stopped');
    for (const each of calls) await assertDelivered(each);
    assert.equal((await g.program.finished).code, 0);
    const stopped = (await g.log()).filter(({ msg }) => msg === 'a worker has stopped');
    assert.deepEqual(new Set(stopped.map(({ worker }) => worker)), new Set([1, 2]));
  });
});
