import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { LoopBudget } from './loop-budget.ts';

const KIB = 1024;
const unexpected = (): void => assert.fail('it did not have to wait');

/** Does pieces of work whenever it may; returns how many are done. */
function doWork(budget: LoopBudget, pieces: number): () => number {
  let done = 0;
  const work = (): void => {
    while (done < pieces) {
      done++;
      if (!budget.mayContinue('a', 64 * KIB, work)) return;
    }
  };
  work();
  return () => done;
}

describe('the budget of an iteration of the event loop', () => {
  it('little work never waits', () => {
    const budget = new LoopBudget();
    for (let i = 0; i < 8; i++) assert.ok(budget.mayContinue('a', 64 * KIB, unexpected));
    assert.equal(budget.waiting, 0);
  });

  it('work beyond it waits for a later iteration', async () => {
    const budget = new LoopBudget();
    const done = doWork(budget, 20);
    assert.equal(done(), 9);
    await nextIteration();
    assert.equal(done(), 18);
    await nextIteration();
    assert.equal(done(), 20);
    await nextIteration();
    assert.equal(budget.waiting, 0);
  });

  it('accounts take turns, however much of one waits', async () => {
    const budget = new LoopBudget();
    const log: string[] = [];
    budget.count(512 * KIB);
    for (let i = 0; i < 100; i++) budget.mayContinue('greedy', 64 * KIB, () => log.push('greedy'));
    budget.mayContinue('other', 64 * KIB, () => log.push('other'));
    await nextIteration();
    assert.deepEqual(log.slice(0, 2), ['greedy', 'other']);
    assert.equal(log.length, 8);
    while (budget.waiting > 0) await nextIteration();
    assert.equal(log.length, 101);
  });

  it('work that never waits counts', async () => {
    const budget = new LoopBudget();
    budget.count(512 * KIB);
    const turn = Promise.withResolvers<void>();
    assert.ok(!budget.mayContinue('a', 1, turn.resolve));
    await turn.promise;
  });
});
