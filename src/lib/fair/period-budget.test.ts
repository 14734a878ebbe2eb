import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { PeriodBudget } from './period-budget.ts';

const KIB = 1024;
const unexpected = (): void => assert.fail('the task did not have to wait');

const iterationBudget = () => new PeriodBudget({ amountMax: 512 * KIB, resumedMax: 8, inNextPeriod: setImmediate });

/** A budget with periods that begin when the test says so. */
function manualBudget(amountMax: number, resumedMax: number) {
  let next: (() => void) | null = null;
  const inNextPeriod = (run: () => void): void => {
    assert.equal(next, null, 'a period is scheduled twice');
    next = run;
  };
  return {
    budget: new PeriodBudget({ amountMax, resumedMax, inNextPeriod }),
    isScheduled: () => next !== null,
    nextPeriod(): void {
      const run = next;
      next = null;
      run?.();
    },
  };
}

/** Does pieces of work whenever it may; returns how many are done. */
function doWork(budget: PeriodBudget, pieces: number): () => number {
  let done = 0;
  const work = (): void => {
    while (done < pieces) {
      done++;
      if (budget.spend('a', 64 * KIB, work) !== null) return;
    }
  };
  work();
  return () => done;
}

describe('PeriodBudget', () => {
  it('does not delay work within the limit', () => {
    const budget = iterationBudget();
    for (let i = 0; i < 8; i++) assert.equal(budget.spend('a', 64 * KIB, unexpected), null);
    assert.equal(budget.waiting, 0);
  });

  it('delays work beyond the limit to later iterations of the event loop', async () => {
    const budget = iterationBudget();
    const done = doWork(budget, 20);
    assert.equal(done(), 9);
    await nextIteration();
    assert.equal(done(), 18);
    await nextIteration();
    assert.equal(done(), 20);
    await nextIteration();
    assert.equal(budget.waiting, 0);
  });

  it('resumes tenants in turn, however many tasks of one tenant wait', async () => {
    const budget = iterationBudget();
    const log: string[] = [];
    budget.count(512 * KIB);
    for (let i = 0; i < 100; i++) budget.spend('greedy', 64 * KIB, () => log.push('greedy'));
    budget.spend('other', 64 * KIB, () => log.push('other'));
    await nextIteration();
    assert.deepEqual(log.slice(0, 2), ['greedy', 'other']);
    assert.equal(log.length, 8);
    while (budget.waiting > 0) await nextIteration();
    assert.equal(log.length, 101);
  });

  it('counts work that never waits', async () => {
    const budget = iterationBudget();
    budget.count(512 * KIB);
    const resumed = Promise.withResolvers<void>();
    assert.notEqual(budget.spend('a', 1, resumed.resolve), null);
    await resumed.promise;
  });

  it('resumes no more tasks in a period than it may, and all in the end', () => {
    const { budget, nextPeriod, isScheduled } = manualBudget(4, 4);
    budget.count(4);
    let resumed = 0;
    for (let i = 0; i < 9; i++) budget.spend('a', 1, () => resumed++);
    for (const expected of [4, 8, 9]) {
      nextPeriod();
      assert.equal(resumed, expected);
    }
    assert.equal(isScheduled(), false);
  });

  it('does not resume a task that was removed', () => {
    const { budget, nextPeriod } = manualBudget(4, 4);
    budget.count(4);
    budget.spend('a', 1, unexpected)!.remove();
    nextPeriod();
    assert.equal(budget.waiting, 0);
  });

  it('limits the work of each period to the budget and one piece of each flowing task, and forgets none', () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 10 }), pieces, (max, resumed, tasks) => {
        const { budget, nextPeriod, isScheduled } = manualBudget(max, resumed);
        const left = [...tasks];
        let doneInPeriod = 0;
        /** Tasks that read asynchronously, as sockets do: one piece each, in turn, until all wait or have ended. */
        let flowing: number[] = [];
        const flow = (): void => {
          while (flowing.length > 0) {
            flowing = flowing.filter((task) => {
              if (left[task] === 0) return false;
              left[task]!--;
              doneInPeriod++;
              return budget.spend(String(task % 3), 1, () => flowing.push(task)) === null;
            });
          }
        };
        flowing = tasks.map((_, task) => task);
        flow();
        assert.ok(doneInPeriod <= max + tasks.length);
        while (isScheduled()) {
          doneInPeriod = 0;
          nextPeriod();
          flow();
          assert.ok(doneInPeriod <= max + resumed);
        }
        assert.ok(left.every((count) => count === 0));
      }),
      { numRuns: propertyRuns(1_000) },
    );
  });
});
