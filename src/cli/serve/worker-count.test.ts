import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UsageError } from '../command.ts';
import { workersAsked, workersFor } from './worker-count.ts';

describe('the number of requested workers', () => {
  for (const [workers, variable, expected] of [
    [undefined, undefined, 1],
    [undefined, '', 1],
    [undefined, '4', 4],
    ['2', '4', 2],
    ['auto', undefined, 'auto'],
    [undefined, 'auto', 'auto'],
    ['1', 'auto', 1],
  ] as const) {
    it(`is ${expected} with --workers ${workers} and FAREGATE_WORKERS=${variable}`, () => {
      const environment = variable === undefined ? {} : { FAREGATE_WORKERS: variable };
      assert.equal(workersAsked(workers === undefined ? {} : { workers }, environment), expected);
    });
  }

  for (const text of ['0', '-1', '129', '1.5', 'two', '1e1', '']) {
    it(`is not "${text}"`, () => {
      assert.throws(() => workersAsked({ workers: text }, {}), UsageError);
    });
  }

  it('names the variable if its value is invalid', () => {
    assert.throws(() => workersAsked({}, { FAREGATE_WORKERS: 'all' }), /^UsageError: FAREGATE_WORKERS: Expected/);
  });
});

describe('the number of workers that serve', () => {
  const server = { isDemo: false, cores: 6 };

  it('is one per core for auto, if several can serve', () => {
    assert.equal(workersFor('auto', server), 6);
    assert.equal(workersFor('auto', { ...server, isDemo: true }), 1);
    assert.equal(workersFor(3, server), 3);
  });

  it('is 1 for the demo, which refuses more with advice', () => {
    assert.equal(workersFor(1, { ...server, isDemo: true }), 1);
    assert.throws(() => workersFor(2, { ...server, isDemo: true }), /The demo has one process/);
  });
});
