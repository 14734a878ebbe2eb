import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestTimers } from '../../test/support/timers.ts';
import { SharedTimer, type Watched } from './shared-timer.ts';
import type { Timers } from './timers.ts';

function setScene() {
  const timers = createTestTimers();
  let timersSet = 0;
  const counted: Timers = {
    nowMs: () => timers.nowMs(),
    after(ms, run) {
      timersSet++;
      return timers.after(ms, run);
    },
  };
  const shared = new SharedTimer(counted);
  const passed: string[] = [];
  function watched(name: string, inMs: number): Watched & { dueMs: number } {
    const each = {
      dueMs: timers.nowMs() + inMs,
      passed() {
        passed.push(name);
        shared.leave(each);
      },
    };
    shared.watch(each);
    return each;
  }
  return { timers, shared, passed, watched, timersSet: () => timersSet };
}

describe('what shares a timer', () => {
  it('is told when its own time is over, in whatever order it came', () => {
    const { timers, passed, watched } = setScene();
    watched('late', 300);
    watched('early', 100);
    timers.advance(99);
    assert.deepEqual(passed, []);
    timers.advance(1);
    assert.deepEqual(passed, ['early']);
    timers.advance(200);
    assert.deepEqual(passed, ['early', 'late']);
  });

  it('is told at the time that it has by then, later or earlier', () => {
    const { timers, shared, passed, watched } = setScene();
    const postponed = watched('postponed', 100);
    const sooner = watched('sooner', 500);
    postponed.dueMs += 200;
    sooner.dueMs -= 350;
    shared.watch(sooner);
    timers.advance(149);
    assert.deepEqual(passed, []);
    timers.advance(1);
    assert.deepEqual(passed, ['sooner']);
    timers.advance(150);
    assert.deepEqual(passed, ['sooner', 'postponed']);
  });

  it('is told nothing once it has left, nor while it is never due', () => {
    const { timers, shared, passed, watched } = setScene();
    shared.leave(watched('left', 100));
    const held = watched('held', 100);
    held.dueMs = Number.POSITIVE_INFINITY;
    timers.advance(1_000);
    assert.deepEqual(passed, []);
    held.dueMs = timers.nowMs() + 100;
    shared.watch(held);
    timers.advance(100);
    assert.deepEqual(passed, ['held']);
  });

  it('sets one timer while all of it ends before', () => {
    const { timers, shared, watched, timersSet } = setScene();
    for (let i = 0; i < 1_000; i++) {
      shared.leave(watched('call', 60_000));
      timers.advance(1);
    }
    assert.equal(timersSet(), 1);
  });

  it('may begin to watch something as its time passes', () => {
    const { timers, shared, passed, watched } = setScene();
    const first: Watched = {
      dueMs: timers.nowMs() + 100,
      passed() {
        shared.leave(first);
        watched('next', 50);
      },
    };
    shared.watch(first);
    timers.advance(100);
    assert.deepEqual(passed, []);
    timers.advance(50);
    assert.deepEqual(passed, ['next']);
  });
});
