import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StopSignal } from './stop-signals.ts';
import { onStopSignal, onWorkerCloses, type StopStage } from './stop-stage.ts';

describe('signals that stop workers', () => {
  for (const [what, signals, expected] of [
    [
      'of a service manager: the delay, its end, and the end',
      ['SIGTERM', 'SIGTERM', 'SIGTERM'],
      ['relay', 'relay', 'end'],
    ],
    ['of a terminal: no delay', ['SIGINT', 'SIGINT'], ['relay', 'end']],
    ['after the delay: workers close already', ['SIGTERM', 'closes', 'SIGTERM'], ['relay', 'end']],
    [
      'a worker that closes by itself stops no other',
      ['closes', 'SIGTERM', 'SIGINT', 'SIGINT'],
      ['relay', 'relay', 'end'],
    ],
  ] as const) {
    it(what, () => {
      let stage: StopStage = 'running';
      const acts: string[] = [];
      for (const signal of signals as readonly (StopSignal | 'closes')[]) {
        if (signal === 'closes') stage = onWorkerCloses(stage);
        else {
          const step = onStopSignal(stage, signal);
          stage = step.stage;
          acts.push(step.act);
        }
      }
      assert.deepEqual(acts, expected);
    });
  }
});
