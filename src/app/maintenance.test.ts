import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordLogs } from '../../test/support/recorded-logger.ts';
import { until } from '../../test/support/until.ts';
import { createMaintenance, nextRunInMs } from './maintenance.ts';

const HOUR_MS = 3_600_000;

describe('the housekeeping', () => {
  it('runs every task although others fail, and logs a failure once, and its end', async () => {
    const logs = recordLogs();
    const ran: string[] = [];
    let isFailing = true;
    const maintenance = createMaintenance({
      tasks: [
        {
          name: 'broken',
          run: async () => {
            ran.push('broken');
            if (isFailing) throw new Error('the lock is not free');
          },
        },
        { name: 'whole', run: async () => void ran.push('whole') },
      ],
      logger: logs.logger,
      timing: { restMs: 0, roundMs: HOUR_MS, retryMs: 1 },
    });
    await maintenance.start();
    // It is tried again and again, long before the next hour.
    await until(() => ran.filter((name) => name === 'broken').length >= 3);
    assert.equal(ran.filter((name) => name === 'whole').length, 1);
    isFailing = false;
    await until(() => logs.lines.length >= 2);
    await maintenance.stop();
    assert.deepEqual(
      logs.lines.map(({ level, details }) => [level, details.task]),
      [
        ['warn', 'broken'],
        ['info', 'broken'],
      ],
    );
  });

  it('tries what others kept from being done again as well', async () => {
    const logs = recordLogs();
    let runs = 0;
    const maintenance = createMaintenance({
      tasks: [{ name: 'locked', run: async () => ++runs > 1 }],
      logger: logs.logger,
      timing: { restMs: 0, retryMs: 1 },
    });
    await maintenance.start();
    await until(() => logs.lines.length === 2);
    await maintenance.stop();
    assert.equal(runs, 2);
  });

  it('keeps a start waiting only for the tasks before the first call, and for none that fails', async () => {
    const never = Promise.withResolvers<void>();
    const ran: string[] = [];
    const maintenance = createMaintenance({
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
    await maintenance.start();
    assert.deepEqual(ran, ['first']);
    never.resolve();
    await maintenance.stop();
  });

  it('leaves the database to the first calls after a start, and comes at once if it is asked to', async () => {
    const ran: string[] = [];
    const task = (name: string, isBeforeCalls: boolean) => ({
      name,
      isBeforeCalls,
      run: async () => void ran.push(name),
    });
    const maintenance = createMaintenance({
      tasks: [task('later', false), task('first', true)],
      logger: recordLogs().logger,
      timing: { restMs: HOUR_MS },
    });
    await maintenance.start();
    assert.deepEqual(ran, ['first']);
    await maintenance.round();
    assert.deepEqual(ran, ['first', 'later', 'first']);
    await maintenance.stop();
  });

  it('lets a task that is under way end early when it stops', async () => {
    const begun = Promise.withResolvers<void>();
    const maintenance = createMaintenance({
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
      timing: { restMs: 0 },
    });
    await maintenance.start();
    await begun.promise;
    await maintenance.stop();
  });

  it('waits twice as long after each failure in a row, and an hour at most', () => {
    const times = { roundMs: HOUR_MS, retryMs: 30_000 };
    assert.deepEqual(
      [0, 1, 2, 3, 8, 100].map((failures) => nextRunInMs(failures, times)),
      [HOUR_MS, 30_000, 60_000, 120_000, HOUR_MS, HOUR_MS],
    );
  });
});
