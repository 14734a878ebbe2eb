import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GuessLimit } from './guess-limit.ts';

describe('the limit of wrong codes', () => {
  it('allows an account ten attempts, and one more every six seconds', () => {
    let nowMs = 1_000;
    const limit = new GuessLimit(() => nowMs);
    for (let n = 0; n < 10; n++) assert.equal(limit.take('acct_a'), 0);
    assert.equal(limit.take('acct_a'), 6_000);
    assert.equal(limit.take('acct_b'), 0);
    nowMs += 5_000;
    assert.equal(limit.take('acct_a'), 1_000);
    nowMs += 1_000;
    assert.equal(limit.take('acct_a'), 0);
    assert.equal(limit.take('acct_a'), 6_000);
    nowMs += 3_600_000;
    for (let n = 0; n < 10; n++) assert.equal(limit.take('acct_a'), 0);
    assert.equal(limit.take('acct_a'), 6_000);
  });

  it('does not count attempts that are given back', () => {
    const limit = new GuessLimit(() => 0);
    for (let n = 0; n < 100; n++) {
      assert.equal(limit.take('acct_a'), 0);
      limit.giveBack('acct_a');
    }
  });
});
