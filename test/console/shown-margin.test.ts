import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type MarginSums, marginOrder, shownMargin } from '../../console/src/parts/usage/shown-margin.ts';

const known: MarginSums = {
  planRevenueYuan: '10',
  marginYuan: '3',
  marginBasisPoints: 1_500,
  balanceMarginYuan: '1',
  balanceMarginBasisPoints: 1_000,
  costedNetChargeYuan: '10',
  costedMarginBasisPoints: 1_000,
};
const uncosted = { marginYuan: null, marginBasisPoints: null, balanceMarginYuan: null, balanceMarginBasisPoints: null };

describe('the margin that a list shows', () => {
  it('is that of balance and plans, or of the balance if plan revenue is not known', () => {
    assert.deepEqual(shownMargin(known), { kind: 'known', basisPoints: 1_500 });
    const ofModel = { ...known, planRevenueYuan: null, marginYuan: null, marginBasisPoints: null };
    assert.deepEqual(shownMargin(ofModel), { kind: 'known', basisPoints: 1_000 });
  });

  it('is that of the charges with a known cost if other costs are unknown', () => {
    const sums = { ...known, ...uncosted };
    assert.deepEqual(shownMargin(sums), { kind: 'partly', basisPoints: 1_000, ofYuan: '10' });
    assert.deepEqual(shownMargin({ ...sums, costedMarginBasisPoints: null }), { kind: 'unknown' });
  });

  it('is no share of nothing', () => {
    assert.deepEqual(shownMargin({ ...known, marginYuan: '-3', marginBasisPoints: null }), { kind: 'noRevenue' });
  });

  it('sorts losses first and unknown margins last', () => {
    const loss = { ...known, marginYuan: '-1', marginBasisPoints: -500 };
    const lists = [undefined, known, { ...known, ...uncosted, costedMarginBasisPoints: null }, loss];
    const sorted = lists.toSorted((a, b) => marginOrder(a) - marginOrder(b));
    assert.deepEqual(sorted.slice(0, 2), [loss, known]);
  });
});
