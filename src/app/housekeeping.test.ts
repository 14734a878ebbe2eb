import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordLogs } from '../../test/support/recorded-logger.ts';
import { until } from '../../test/support/until.ts';
import { Housekeeping, nextRunInMs } from './housekeeping.ts';

const HOUR_MS = 3_600_000;

describe('housekeeping', () => {
  it('runs every task although others fail, and logs a failure once and its recovery', async () => {
    const logs = recordLogs();
    const ran: string[] = [];
    let isFailing = true;
    const housekeeping = new Housekeeping({
      tasks: [
        {
          name: 'broken',
          run: async () => {
            ran.push('broken');
            if (isFailing) throw new Error('the lock is not free');
          },
        },
        { name: 'working', run: async () => void ran.push('working') },
      ],
      logger: logs.logger,
      timing: { startDelayMs: 0, roundMs: HOUR_MS, retryMs: 1 },
    });
    await housekeeping.start();
    // Retries do not wait for the next hour.
    await until(() => ran.filter((name) => name === 'broken').length >= 3);
    assert.equal(ran.filter((name) => name === 'working').length, 1);
    isFailing = false;
    await until(() => logs.lines.length >= 2);
    await housekeeping.stop();
    assert.deepEqual(
      logs.lines.map(({ level, details }) => [level, details.task]),
      [
        ['warn', 'broken'],
        ['info', 'broken'],
      ],
    );
  });

  it('retries a task that could not do all its work', async () => {
    const logs = recordLogs();
    let runs = 0;
    const housekeeping = new Housekeeping({
      tasks: [{ name: 'locked', run: async () => ++runs > 1 }],
      logger: logs.logger,
      timing: { startDelayMs: 0, retryMs: 1 },
    });
    await housekeeping.start();
    await until(() => logs.lines.length === 2);
    await housekeeping.stop();
    assert.equal(runs, 2);
  });

  it('delays a start by the tasks that precede the first call only, and not by their failures', async () => {
    const never = Promise.withResolvers<void>();
    const ran: string[] = [];
    const housekeeping = new Housekeeping({
      tasks: [
        { name: 'slow', run: () => never.promise },
        {
          name: 'first',
          isBeforeCalls: true,
          run: async () => {
            ran.push('first');
            throw new Error('failed');
          },
        },
      ],
      logger: recordLogs().logger,
    });
    await housekeeping.start();
    assert.deepEqual(ran, ['first']);
    never.resolve();
    await housekeeping.stop();
  });

  it('leaves the database to the first calls after a start, and runs at once on request', async () => {
    const ran: string[] = [];
    const task = (name: string, isBeforeCalls: boolean) => ({
      name,
      isBeforeCalls,
      run: async () => void ran.push(name),
    });
    const housekeeping = new Housekeeping({
      tasks: [task('later', false), task('first', true)],
      logger: recordLogs().logger,
      timing: { startDelayMs: HOUR_MS },
    });
    await housekeeping.start();
    assert.deepEqual(ran, ['first']);
    await housekeeping.round();
    assert.deepEqual(ran, ['first', 'later', 'first']);
    await housekeeping.stop();
  });

  it('aborts the running task when it stops', async () => {
    const begun = Promise.withResolvers<void>();
    const housekeeping = new Housekeeping({
      tasks: [
        {
          name: 'long',
          run: (signal) =>
            new Promise<void>((resolve) => {
              signal.addEventListener('abort', () => resolve());
              begun.resolve();
            }),
        },
      ],
      logger: recordLogs().logger,
      timing: { startDelayMs: 0 },
    });
    await housekeeping.start();
    await begun.promise;
    await housekeeping.stop();
  });

  it('doubles the delay after each failure in a row, up to an hour', () => {
    const times = { roundMs: HOUR_MS, retryMs: 30_000 };
    assert.deepEqual(
      [0, 1, 2, 3, 8, 100].map((failures) => nextRunInMs(failures, times)),
      [HOUR_MS, 30_000, 60_000, 120_000, HOUR_MS, HOUR_MS],
    );
  });
});
