import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readinessOfAll, type WorkerReadiness } from './all-workers.ts';

const READY: WorkerReadiness = { isReady: true, detail: [] };
const SKEWED: WorkerReadiness = { isReady: true, detail: ['The clock is wrong.'] };
const STOPPING: WorkerReadiness = { isReady: false, detail: ['It stops.'] };
const SILENT: WorkerReadiness = { isReady: false, detail: [] };

describe('readiness of all workers', () => {
  for (const [what, workers, isReady, detail] of [
    ['all are', [READY, READY], true, []],
    ['one is not running', [READY, 'absent'], false, ['Worker 2: The process is not running.']],
    ['one hangs', ['late', READY], false, ['Worker 1: The process does not respond.']],
    ['one has no database', [READY, SILENT], false, ['Worker 2: The process is not ready for calls.']],
    ['none has a database', [SILENT, SILENT], false, ['The process is not ready for calls.']],
    ['all stop', [STOPPING, STOPPING], false, ['It stops.']],
    ['a warning of all workers appears once', [SKEWED, SKEWED], true, ['The clock is wrong.']],
    [
      'a detail of one worker has its number',
      [SKEWED, STOPPING],
      false,
      ['Worker 1: The clock is wrong.', 'Worker 2: It stops.'],
    ],
  ] as const) {
    it(what, () => {
      const numbered = workers.map((worker, index) => [index + 1, worker] as const);
      assert.deepEqual(readinessOfAll(numbered), { isReady, detail });
    });
  }
});
