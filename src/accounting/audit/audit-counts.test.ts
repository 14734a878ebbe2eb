import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Counter, CounterCheck, type StoredCounter } from './audit-counts.ts';

/** Counters of one key: nothing is in flight, and two records are before the mark. */
function checkOf(counts: Partial<Record<Counter, string>>, mark = '2'): CounterCheck {
  const places: Partial<Record<Counter, string>> = { day: '1@0', calls: '1@0' };
  return new CounterCheck(
    Object.entries(counts).map(([name, stored]): StoredCounter => {
      const counter = name as Counter;
      return { account_id: 'a', owner_id: 'k', counter, place: places[counter] ?? '', stored, known: '0', mark };
    }),
  );
}

const details = (check: CounterCheck, useNo?: string): string[] =>
  check
    .findings(useNo === undefined ? [] : [{ account_id: 'a', owner_id: 'k', use_no: useNo }])
    .map(({ invariant, detail }) => `${invariant}: ${detail}`);

describe('counters against records', () => {
  it('are right if the records of all slices together are what they say, in the place that they count', () => {
    const check = checkOf({ day: '30', all: '40', calls: '2', uses: '2' });
    assert.deepEqual(check.marks, { entries: [], uses: [{ accountId: 'a', ownerId: 'k', counter: 'uses', mark: 2n }] });
    check.add([['a', 'k', 'day', '1@0', '10']], []);
    check.add(
      [
        ['a', 'k', 'day', '1@0', '20'],
        ['a', 'k', 'day', '0@0', '10'],
        ['a', 'k', 'all', '', '40'],
        ['a', 'k', 'calls', '1@0', '2'],
        ['a', 'k', 'uses', '', '2'],
        ['b', 'k', 'all', '', '5'],
      ],
      [],
    );
    assert.deepEqual(check.aboveMark, []);
    assert.deepEqual(details(check), []);
  });

  it('are named with what is stored and what records say', () => {
    const check = checkOf({ day: '31', calls: '0', uses: '3' });
    check.add(
      [
        ['a', 'k', 'day', '1@0', '30'],
        ['a', 'k', 'calls', '1@0', '2'],
        ['a', 'k', 'uses', '', '2'],
      ],
      [],
    );
    assert.deepEqual(details(check), [
      'key-spending: k counts 31 spent in the day since 1970-01-01T00:00:00.000Z, records 30',
      'key-calls: k counts 0 calls in the day since 1970-01-01T00:00:00.000Z, records 2',
      'use-numbers: k counts 3 records, records 2',
    ]);
  });

  it('leave records behind the mark to the next audit, as long as the owner has numbered them', () => {
    const check = checkOf({ calls: '2', uses: '2' });
    check.add(
      [
        ['a', 'k', 'calls', '1@0', '2'],
        ['a', 'k', 'uses', '', '2'],
      ],
      [['a', 'k', '4']],
    );
    check.add([], [['a', 'k', '3']]);
    assert.deepEqual(check.aboveMark, [{ accountId: 'a', ownerId: 'k', no: 4n }]);
    assert.deepEqual(details(check, '4'), []);
    assert.deepEqual(details(check, '3'), ['use-numbers: k counts 3 records, the last one has number 4']);
  });

  it('are not compared if the mark was set back, but for what the ledger says', () => {
    const check = checkOf({ day: '7', calls: '2', uses: '0' }, '0');
    check.add([], [['a', 'k', '2']]);
    assert.deepEqual(details(check, '0'), [
      'use-numbers: k counts 0 records, the last one has number 2',
      'key-spending: k counts 7 spent in the day since 1970-01-01T00:00:00.000Z, records 0',
    ]);
  });
});
