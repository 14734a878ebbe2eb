import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { BudgetWatch, type WatchedBudget } from './budget-watch.ts';

const YUAN = 1_000_000_000n;
const END_MS = Date.UTC(2026, 10, 20, 16);

const budget = (usedYuan: bigint, changes: Partial<WatchedBudget> = {}): WatchedBudget => ({
  of: 'credential',
  provider: 'acme',
  model: null,
  providerModel: null,
  credential: 'apiKeys.0',
  id: 'credential acme secret:one',
  period: 'day',
  usedNano: usedYuan * YUAN,
  maxNano: 100n * YUAN,
  endsAtMs: END_MS,
  ...changes,
});

describe('the watch of budgets of providers', () => {
  it('notifies each share once in a period, and again if the budget is another', () => {
    const watch = new BudgetWatch();
    const levels = (...budgets: readonly WatchedBudget[]) => {
      const due = watch.findDue(budgets, [80, 100]);
      watch.markStored(due);
      return due.notices.map(({ data }) => data.percent);
    };
    const tomorrow = { endsAtMs: END_MS + 86_400_000 };
    const raised = { ...tomorrow, maxNano: 200n * YUAN };
    assert.deepEqual(
      [
        levels(budget(79n)),
        levels(budget(80n)),
        levels(budget(99n)),
        levels(budget(130n)),
        levels(budget(130n), budget(85n, { period: 'month' })),
        levels(budget(10n, tomorrow)),
        levels(budget(100n, tomorrow)),
        levels(budget(170n, raised)),
        levels(budget(170n, raised)),
        levels(budget(5n, { maxNano: 0n })),
      ],
      [[], [80], [], [100], [80], [], [100], [80], [], []],
    );
  });

  it('repeats what was not stored, with a key that is the same on every node', () => {
    const [one, other] = [new BudgetWatch(), new BudgetWatch()];
    const { notices } = one.findDue([budget(85n)], [80, 100]);
    assert.deepEqual(one.findDue([budget(85n)], [80, 100]).notices, notices);
    const [notice] = other.findDue([budget(99n)], [80, 100]).notices;
    assert.equal(notice!.dedupeKey, notices[0]!.dedupeKey);
    assert.deepEqual(notice!.data, {
      of: 'credential',
      provider: 'acme',
      model: null,
      providerModel: null,
      credential: 'apiKeys.0',
      period: 'day',
      percent: 80,
      usedYuan: '99',
      limitYuan: '100',
      resetsAt: '2026-11-20T16:00:00.000Z',
    });
  });
});
