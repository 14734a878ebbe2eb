import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readCount, TOKEN_COUNT_MAX } from './usage-facts.ts';

describe('readCount', () => {
  it('reads integers from zero to the limit', () => {
    for (const value of [0, 1, 17, TOKEN_COUNT_MAX]) assert.equal(readCount(value), value);
  });

  it('treats null as absent', () => {
    assert.equal(readCount(null), null);
    assert.equal(readCount(undefined), null);
  });

  it('reads strings of digits, which some relays send', () => {
    for (const value of ['0', '17', String(TOKEN_COUNT_MAX)]) assert.equal(readCount(value), Number(value));
  });

  for (const value of [
    -1,
    0.5,
    TOKEN_COUNT_MAX + 1,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '',
    ' 1',
    '-1',
    '1e3',
    '2147483648',
    '99999999999999999999',
    true,
    [],
    {},
    1n,
  ]) {
    it(`rejects ${typeof value === 'object' ? JSON.stringify(value) : `the ${typeof value} ${String(value)}`}`, () => {
      assert.equal(readCount(value), undefined);
    });
  }
});
