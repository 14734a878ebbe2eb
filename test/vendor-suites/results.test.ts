import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readExpected } from './expected.ts';
import { differences, judge, type Refusals, summarize, type TestResult } from './results.ts';

const known: Refusals = {
  background: { status: 400, code: 'invalid_request_error', documented: 'docs/sdks.md', leaveOut: ['background'] },
  model: { status: 400, code: 'invalid_request_error', documented: 'docs/sdks.md', put: { model: 'm' } },
  'unknown address': { status: 404, code: 'not_found', documented: 'docs/sdks.md' },
};

const result = (test: string, more: Partial<TestResult> = {}): TestResult => ({
  id: `tests/api_resources/test_responses.py::TestResponses::test_${test}`,
  outcome: 'passed',
  refusals: [],
  error: null,
  ...more,
});

const outcome = (more: Partial<TestResult>): string => judge(result('method_create[loose]', more), known).outcome;

describe('a result of a vendor’s test', () => {
  it('is passed only if the gateway refused nothing', () => {
    assert.equal(outcome({}), 'passed');
    assert.equal(outcome({ refusals: ['model', 'background', 'model'] }), 'refused (model, background)');
  });

  it('is not served if the last refusal has no remedy', () => {
    assert.equal(
      outcome({ outcome: 'failed', refusals: ['model', 'unknown address'], error: 'Error code: 404' }),
      'not served (unknown address)',
    );
  });

  it('is failed, with its error, if it fails otherwise, or is not run', () => {
    const error = 'Expected int\nbut got str';
    assert.equal(outcome({ outcome: 'failed', error }), 'failed: Expected int');
    assert.equal(outcome({ outcome: 'failed', refusals: ['background'], error }), 'failed: Expected int');
    assert.equal(outcome({ outcome: 'skipped', error: 'no network' }), 'skipped: no network');
  });
});

describe('results of a vendor’s suite', () => {
  const seen = summarize(
    [
      result('method_create[loose]'),
      result('raw_response_create[strict]'),
      result('streaming_response_create[aiohttp]', { refusals: ['model'] }),
      result('deprecated_warning[loose]'),
    ].map((each) => judge(each, known)),
  );

  it('are counted by outcome for each file and subject, over all clients and ways to read a response', () => {
    assert.deepEqual(seen, {
      'test_responses.py': { create: '1 refused (model); 2 passed', deprecated_warning: '1 passed' },
    });
  });

  it('match the list if both have the same lines', () => {
    assert.deepEqual(differences(seen, seen), []);
  });

  it('differ if a test is new, missing, or has another outcome', () => {
    const listed = {
      'test_responses.py': { create: '3 passed', cancel: '1 not served (unknown address)' },
      'test_models.py': { list: '1 passed' },
    };
    assert.deepEqual(differences(listed, seen), [
      'test_responses.py, create: 1 refused (model); 2 passed (listed: 3 passed)',
      'test_responses.py, cancel: no test (listed: 1 not served (unknown address))',
      'test_responses.py, deprecated_warning: 1 passed (listed: nothing)',
      'test_models.py, list: no test (listed: 1 passed)',
    ]);
  });
});

describe('the list of results', () => {
  it('has every refusal in its results, and no other', () => {
    const { refusals, results } = readExpected();
    const outcomes = Object.values(results).flatMap((files) =>
      Object.values(files).flatMap((file) => Object.values(file)),
    );
    const named = outcomes.flatMap((text) =>
      [...text.matchAll(/\((.*)\)/g)].flatMap(([, names]) => names!.split(', ')),
    );
    assert.deepEqual([...new Set(named)].sort(), Object.keys(refusals).sort());
  });
});
