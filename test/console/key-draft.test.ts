import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { changeOf, isComplete, limitsOf, NO_LIMITS } from '../../console/src/account/keys/key-draft.ts';
import { isYuan } from '../../console/src/parts/number-text.ts';

describe('the limits of a key in the form of the console', () => {
  const oneModel = { model: 'a', requestsPerMinute: '60', tokensPerMinute: '' };

  it('are not sent where nothing was entered', () => {
    assert.deepEqual(limitsOf(NO_LIMITS), {});
  });

  it('are sent as a change of what differs, and null takes one away', () => {
    const before = {
      ...NO_LIMITS,
      amounts: { ...NO_LIMITS.amounts, dailySpendCapYuan: '5', totalSpendCapYuan: '0.123456789' },
      modelLimits: [oneModel, { ...oneModel, model: 'b' }],
      allowedModels: ['a'],
      allowedNetworks: ['10.0.0.0/8'],
    };
    assert.deepEqual(changeOf(before, before), {});
    const after = {
      ...before,
      amounts: { ...before.amounts, dailySpendCapYuan: '' },
      counts: { ...before.counts, dailyCalls: '0' },
      modelLimits: [{ ...oneModel, tokensPerMinute: '1000' }],
      allowedModels: [],
      allowedNetworks: ['10.0.0.0/8', '::1'],
    };
    assert.deepEqual(changeOf(before, after), {
      dailySpendCapYuan: null,
      dailyCalls: 0,
      modelLimits: { a: { requestsPerMinute: 60, tokensPerMinute: 1000 }, b: null },
      allowedModels: null,
      allowedNetworks: ['10.0.0.0/8', '::1'],
    });
  });

  it('are complete where every field is empty or a number, and every model is named once', () => {
    const counts = (name: string, text: string) => ({ ...NO_LIMITS, counts: { ...NO_LIMITS.counts, [name]: text } });
    assert.ok(isComplete(NO_LIMITS));
    assert.ok(isComplete(counts('dailyCalls', '0')));
    assert.ok(!isComplete(counts('requestsPerMinute', '0')));
    assert.ok(!isComplete(counts('concurrency', '1.5')));
    assert.ok(isComplete({ ...NO_LIMITS, modelLimits: [oneModel] }));
    assert.ok(!isComplete({ ...NO_LIMITS, modelLimits: [oneModel, oneModel] }));
    assert.ok(!isComplete({ ...NO_LIMITS, modelLimits: [{ ...oneModel, model: '' }] }));
  });

  it('are amounts of plain decimals alone', () => {
    for (const right of ['0', '5', '0.5', '100000000', '0.000000001']) assert.ok(isYuan(right), right);
    for (const wrong of ['', '-1', '1e3', '.5', '5.', '1,000', '0.0000000001', '¥5', '٣']) {
      assert.ok(!isYuan(wrong), wrong);
    }
  });
});
