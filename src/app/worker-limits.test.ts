import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { RefusalThrottle } from '../http/refusal-throttle.ts';
import {
  budgetsOfWorker,
  configOfWorker,
  refusalsRecorded,
  requestWorkerLimits,
  settingsBeyond,
  statementConnections,
} from './worker-limits.ts';

const MIB = 2 ** 20;

const CONFIG = parseConfig(
  `
server: { connections: 1001, bodyLimit: 1MiB, bodyMemory: 10MiB, editBodyLimit: 1MiB, uploadDisk: 6MiB }
providers:
  wide: { protocol: chat, baseUrl: "https://wide.example", apiKey: secret, connections: 10, queue: { length: 7 } }
  narrow: { protocol: chat, baseUrl: "https://narrow.example", apiKey: secret, connections: 2, queue: { length: 0 } }
models:
  m: { operations: [chat], price: { input: "1", output: "1" }, maxOutputTokens: "10", routes: [{ provider: wide, model: m }] }
plans:
  p: { name: P, fiveHourCalls: 10, weeklyCalls: 10, concurrency: 2, quotaTokens: 10, periodDays: 1, models: [m],
       inputByteLimit: 1MiB, outputTokenLimit: 10, queue: { length: 5 } }
`,
  'faregate.yaml',
  {},
);

const workers = (count: number): Config[] =>
  Array.from({ length: count }, (_, index) => configOfWorker(CONFIG, { index, count }));

describe('limits of a worker', () => {
  it('are the configured limits if it is the only one', () => {
    assert.equal(configOfWorker(CONFIG, { index: 0, count: 1 }), CONFIG);
  });

  it('add up to the configured connections and queues', () => {
    const limits = workers(3).map(({ server, providers, plans }) => [
      server.connections,
      server.connectionsPerAddress,
      providers.wide!.connections,
      providers.wide!.queue.length,
      providers.narrow!.queue.length,
      plans.p!.queue.length,
    ]);
    assert.deepEqual(limits, [
      [334, 167, 4, 3, 0, 2],
      [334, 167, 3, 2, 0, 2],
      [333, 166, 3, 2, 0, 1],
    ]);
  });

  it('include one connection of a provider that has fewer connections than there are workers', () => {
    assert.deepEqual(
      workers(3).map(({ providers }) => providers.narrow!.connections),
      [1, 1, 1],
    );
  });

  it('leave the rest of the configuration unchanged', () => {
    const [first] = workers(2);
    const { server, providers, plans, ...others } = CONFIG;
    assert.deepEqual({ ...first, server, providers, plans }, { ...others, server, providers, plans });
    assert.deepEqual({ ...first!.providers.wide, connections: 10, queue: providers.wide!.queue }, providers.wide);
  });

  it('are shares of memory, disk, threads and statements, but at least what a process needs', () => {
    const part = { index: 7, count: 8 };
    const budgets = { memoryBytes: 80 * MIB, diskBytes: 32 * MIB };
    assert.deepEqual(budgetsOfWorker(budgets, CONFIG.server, part), { memoryBytes: 10 * MIB, diskBytes: 4 * MIB });
    assert.deepEqual(requestWorkerLimits(part), { quickThreadsMax: 1, placesMax: 32 });
    assert.equal(refusalsRecorded(part), 12);
    assert.deepEqual([statementConnections({ index: 0, count: 2 }), statementConnections(part)], [5, 3]);
  });

  it('include memory and disk for one body of the largest size, if configured', () => {
    const part = { index: 0, count: 8 };
    const budgets = { memoryBytes: 10 * MIB, diskBytes: MIB };
    assert.deepEqual(budgetsOfWorker(budgets, CONFIG.server, part), { memoryBytes: 4 * MIB, diskBytes: MIB });
  });

  it("are reported if the workers' shares exceed the configured limit", () => {
    assert.deepEqual(settingsBeyond(CONFIG, 2), []);
    assert.deepEqual(settingsBeyond(CONFIG, 3), ['providers.narrow.connections', 'server.bodyMemory']);
    assert.deepEqual(settingsBeyond(CONFIG, 4), [
      'providers.narrow.connections',
      'server.bodyMemory',
      'server.uploadDisk',
    ]);
  });

  it('send no more refusals at once than one process would', async () => {
    const count = 4;
    const throttles = Array.from({ length: count }, (_, index) => new RefusalThrottle(() => 1_000, { index, count }));
    let atOnce = 0;
    // A delayed refusal needs a timer, so promises that settle without one are refusals that are sent at once.
    const sent = Promise.race(
      throttles.flatMap((throttle) =>
        Array.from({ length: 50 }, () => throttle.hold('account', 1).then(() => atOnce++)),
      ),
    );
    await sent;
    // After all of those promises, and before the first timer.
    await new Promise((resolve) => process.nextTick(resolve));
    assert.equal(atOnce, 100);
    assert.equal(
      throttles.reduce((held, throttle) => held + throttle.held, 0),
      100,
    );
  });
});
