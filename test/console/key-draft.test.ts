import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isYuan } from '../../console/src/parts/forms/number-text.ts';
import {
  changeOf,
  draftOf,
  isComplete,
  limitsOf,
  NO_LIMITS,
  type RatesDraft,
} from '../../console/src/parts/limits/limit-draft.ts';

describe('the limits of a key in the form of the console', () => {
  const budget = { model: 'a', amounts: { ...NO_LIMITS.amounts, monthlySpendCapYuan: '5' } };
  const oneModel = { model: 'a', requestsPerMinute: '60', tokensPerMinute: '' };

  it('are not sent if the form is empty', () => {
    assert.deepEqual(limitsOf(NO_LIMITS), {});
  });

  it('are sent as a change of the differences, and null removes a limit', () => {
    const before = {
      ...NO_LIMITS,
      amounts: { ...NO_LIMITS.amounts, dailySpendCapYuan: '5', totalSpendCapYuan: '0.123456789' },
      modelBudgets: [budget, { ...budget, model: 'b' }, { ...budget, model: 'c' }],
      rates: { ...NO_LIMITS.rates, modelLimits: [oneModel, { ...oneModel, model: 'b' }, { ...oneModel, model: 'c' }] },
      allowedModels: ['a'],
      allowedNetworks: ['10.0.0.0/8'],
    };
    assert.deepEqual(changeOf(before, before), {});
    const after = {
      ...before,
      amounts: { ...before.amounts, dailySpendCapYuan: '' },
      modelBudgets: [
        { ...budget, model: 'c' },
        { ...budget, amounts: { ...budget.amounts, totalSpendCapYuan: '9' } },
      ],
      counts: { ...before.counts, dailyCalls: '0' },
      rates: {
        ...before.rates,
        tokensPerMinute: '5',
        modelLimits: [
          { ...oneModel, model: 'c' },
          { ...oneModel, tokensPerMinute: '1000' },
        ],
      },
      allowedModels: [],
      allowedNetworks: ['10.0.0.0/8', '::1'],
    };
    assert.deepEqual(changeOf(before, after), {
      dailySpendCapYuan: null,
      modelBudgets: {
        a: { dailySpendCapYuan: null, weeklySpendCapYuan: null, monthlySpendCapYuan: '5', totalSpendCapYuan: '9' },
        b: null,
      },
      dailyCalls: 0,
      tokensPerMinute: 5,
      modelLimits: { a: { requestsPerMinute: 60, tokensPerMinute: 1000 }, b: null },
      allowedModels: null,
      allowedNetworks: ['10.0.0.0/8', '::1'],
    });
  });

  it('keep their stored values until they are edited', () => {
    const stored = {
      dailySpendCapYuan: '0.5',
      weeklySpendCapYuan: null,
      monthlySpendCapYuan: '3',
      totalSpendCapYuan: null,
      modelBudgets: {
        a: { dailySpendCapYuan: null, weeklySpendCapYuan: '2', monthlySpendCapYuan: null, totalSpendCapYuan: null },
      },
      dailyCalls: 0,
      concurrency: null,
      requestsPerMinute: 60,
      tokensPerMinute: null,
      modelLimits: { a: { requestsPerMinute: null, tokensPerMinute: 1 } },
      allowedModels: ['a'],
      allowedNetworks: null,
    };
    assert.deepEqual(changeOf(draftOf(stored), draftOf(stored)), {});
    const { allowedNetworks, weeklySpendCapYuan, totalSpendCapYuan, concurrency, tokensPerMinute, ...limits } = stored;
    const modelLimits = { a: { requestsPerMinute: null, tokensPerMinute: 1 } };
    assert.deepEqual(changeOf(NO_LIMITS, draftOf(stored)), { ...limits, modelLimits });
  });

  it('are complete if every field is empty or a number and no model is repeated', () => {
    const counts = (name: string, text: string) => ({ ...NO_LIMITS, counts: { ...NO_LIMITS.counts, [name]: text } });
    const rates = (changed: Partial<RatesDraft>) => ({ ...NO_LIMITS, rates: { ...NO_LIMITS.rates, ...changed } });
    assert.ok(isComplete(NO_LIMITS));
    assert.ok(isComplete(counts('dailyCalls', '0')));
    assert.ok(!isComplete(rates({ requestsPerMinute: '0' })));
    assert.ok(!isComplete(counts('concurrency', '1.5')));
    assert.ok(isComplete(rates({ modelLimits: [oneModel] })));
    assert.ok(!isComplete(rates({ modelLimits: [oneModel, oneModel] })));
    assert.ok(!isComplete(rates({ modelLimits: [{ ...oneModel, model: '' }] })));
    const budgets = (...modelBudgets: (typeof budget)[]) => ({ ...NO_LIMITS, modelBudgets });
    assert.ok(isComplete(budgets(budget, { ...budget, model: 'b' })));
    assert.ok(!isComplete(budgets(budget, budget)));
    assert.ok(!isComplete(budgets({ ...budget, model: '' })));
    assert.ok(!isComplete(budgets({ ...budget, amounts: { ...budget.amounts, dailySpendCapYuan: 'x' } })));
  });

  it('accept plain decimal amounts only', () => {
    for (const right of ['0', '5', '0.5', '100000000', '0.000000001']) assert.ok(isYuan(right), right);
    for (const wrong of ['', '-1', '1e3', '.5', '5.', '1,000', '0.0000000001', '¥5', '٣']) {
      assert.ok(!isYuan(wrong), wrong);
    }
  });
});
