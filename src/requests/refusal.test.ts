import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RECORDED_A_MINUTE, RefusalMinute } from './refusal.ts';

const fates = (minute: RefusalMinute, accountId: string | null, code: string, times: number): string[] =>
  Array.from({ length: times }, () => minute.decide(accountId, code));

const over = RECORDED_A_MINUTE + 3;

describe('refusals of a minute', () => {
  it('are recorded up to a hundred per account and code, and counted beyond that', () => {
    const minute = new RefusalMinute();
    minute.takeCounts(120_000);
    const decided = fates(minute, 'a', 'x', over);
    assert.equal(decided.filter((fate) => fate === 'recorded').length, RECORDED_A_MINUTE);
    assert.deepEqual(decided.slice(RECORDED_A_MINUTE), ['counted', 'counted', 'counted']);
    assert.equal(minute.decide('a', 'y'), 'recorded');
    assert.equal(minute.decide('b', 'x'), 'recorded');
    assert.deepEqual(minute.takeCounts(179_999), []);
    assert.deepEqual(minute.takeCounts(180_000), [{ minuteMs: 120_000, accountId: 'a', code: 'x', count: 3 }]);
    assert.equal(minute.decide('a', 'x'), 'recorded');
  });

  it('share one allowance if their account is unknown, whatever their codes', () => {
    const minute = new RefusalMinute();
    minute.takeCounts(0);
    fates(minute, null, 'invalid_api_key', RECORDED_A_MINUTE);
    assert.equal(minute.decide(null, 'not_found'), 'counted');
    assert.equal(minute.decide('a', 'not_found'), 'recorded');
  });

  it('use bounded memory, however many accounts and codes there are', () => {
    const minute = new RefusalMinute();
    minute.takeCounts(0);
    const decided = Array.from({ length: 20_001 }, (_, n) => minute.decide(`account ${n}`, 'x'));
    assert.equal(decided[9_999], 'recorded');
    assert.equal(decided[10_000], 'counted');
    assert.equal(decided[20_000], 'dropped');
    assert.equal(minute.takeCounts(60_000).length, 10_000);
  });
});
