import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { budgetIdsOf, ownerIdOf, ownersWithBudgets } from './budget-ids.ts';
import type { ModelBudget } from './key-limit-tables.ts';
import { changedBudgets, NO_BUDGET } from './model-budget-store.ts';

const daily = (nano: bigint): ModelBudget => ({ ...NO_BUDGET, dailySpendCapNano: nano });
const renamed = { id: 'new', aliases: ['old', 'older'] };

describe('changed budgets for models', () => {
  const changed = (stored: Record<string, ModelBudget>, caps: Partial<ModelBudget>, model = renamed) =>
    Object.fromEntries(changedBudgets(new Map(Object.entries(stored)), [{ model, caps }]));

  it('keep the budgets that a change does not name', () => {
    assert.deepEqual(changed({ new: daily(1n) }, { totalSpendCapNano: 2n }), {
      new: { ...daily(1n), totalSpendCapNano: 2n },
    });
    assert.deepEqual(changed({}, { dailySpendCapNano: 1n }), { new: daily(1n) });
  });

  it('stay in the row of an earlier name, and end under the other names', () => {
    assert.deepEqual(changed({ old: daily(1n) }, { dailySpendCapNano: 2n }), { old: daily(2n) });
    const both = { old: daily(1n), older: daily(3n) };
    assert.deepEqual(changed(both, { dailySpendCapNano: 2n }), { old: daily(2n), older: NO_BUDGET });
    assert.deepEqual(changed({ new: daily(1n), ...both }, NO_BUDGET), {
      new: NO_BUDGET,
      old: NO_BUDGET,
      older: NO_BUDGET,
    });
  });

  it('make no row without a budget', () => {
    assert.deepEqual(changed({}, NO_BUDGET), {});
  });

  it('are combined if a request names a model twice', () => {
    const changes = [
      { model: renamed, caps: { dailySpendCapNano: 1n } },
      { model: renamed, caps: { totalSpendCapNano: 2n } },
    ];
    const both = new Map([['new', { ...daily(1n), totalSpendCapNano: 2n }]]);
    assert.deepEqual(changedBudgets(new Map(), changes), both);
  });
});

describe('the budgets of a call', () => {
  const key = { ownerId: 'key_1', models: new Set(['new', 'old']) };
  const member = { ownerId: 'usr_1', models: new Set(['older']) };

  it('are found by the id of the model, or else by an alias', () => {
    assert.deepEqual(budgetIdsOf(ownersWithBudgets(key, member)!, renamed), {
      key: 'key_1 new',
      member: 'usr_1 older',
    });
    assert.deepEqual(budgetIdsOf(ownersWithBudgets(null, member)!, renamed), { key: null, member: 'usr_1 older' });
    assert.equal(ownerIdOf('usr_1 older'), 'usr_1');
    assert.equal(ownerIdOf('usr_1'), 'usr_1');
  });

  it('are absent for other models, and for owners without budgets', () => {
    assert.equal(budgetIdsOf(ownersWithBudgets(key, member)!, { id: 'other', aliases: [] }), null);
    assert.equal(ownersWithBudgets(null, null), null);
  });
});
