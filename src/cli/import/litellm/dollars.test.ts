import assert from 'node:assert/strict';
import { it } from 'node:test';
import { dollarsToNano, minus, parseDollars } from './dollars.ts';

const RATE = { digits: 715n, scale: 2 };
const nano = (text: string): bigint => dollarsToNano(parseDollars(text)!, RATE);

it('reads every format of a double precision of PostgreSQL', () => {
  for (const [text, yuanNano] of [
    ['0', 0n],
    ['12.345678', 88_271_597_700n],
    ['1.5e-07', 1_073n],
    ['-0.25', -1_787_500_000n],
    ['1e+22', 71_500_000_000_000_000_000_000_000_000_000n],
    ['5e-324', 0n],
  ] as const) {
    assert.equal(nano(text), yuanNano, text);
  }
  for (const text of ['NaN', 'Infinity', '-Infinity', '', '1,5', ' 1']) assert.equal(parseDollars(text), null, text);
});

it('rounds to the nearest nano-yuan, halves away from zero', () => {
  const one = { digits: 1n, scale: 0 };
  for (const [digits, expected] of [
    [4n, 0n],
    [5n, 1n],
    [14n, 1n],
    [15n, 2n],
    [-4n, 0n],
    [-5n, -1n],
  ] as const) {
    assert.equal(dollarsToNano({ digits, scale: 10 }, one), expected);
  }
});

it('subtracts exactly, unlike binary fractions', () => {
  assert.deepEqual(minus(parseDollars('100')!, parseDollars('0.30000015')!), { digits: 9_969_999_985n, scale: 8 });
  assert.equal(
    dollarsToNano(minus(parseDollars('0.3')!, parseDollars('0.1')!), { digits: 1n, scale: 0 }),
    200_000_000n,
  );
});
