import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeFailures, hasFailed } from './failures.ts';
import { BARE, type ScenarioResult } from './report.ts';
import { parseScenarios } from './scenarios.ts';

const [chat] = parseScenarios('chat-64');
const run = (name: string, failures: number, version = ''): ScenarioResult => {
  const firstFailure = failures === 0 ? null : '503 {"error":{"code":"overloaded"}}';
  return { scenario: chat!, lines: [{ name, version, rounds: [{ cpuMicros: 1 }], failures, firstFailure }] };
};

describe('failed calls of a run', () => {
  it('are reported with target, scenario, number and the first one', () => {
    assert.deepEqual(describeFailures([run('local', 3), run(BARE, 0), run('PostgreSQL', 1, 'after')]), [
      'chat-64, local: 3 calls failed; error of the first: 503 {"error":{"code":"overloaded"}}',
      'chat-64, PostgreSQL, after: 1 calls failed; error of the first: 503 {"error":{"code":"overloaded"}}',
    ]);
  });

  it('fail the run if the gateway or the bare proxy has any, but not if a peer has', () => {
    for (const [name, failures, expected] of [
      ['PostgreSQL', 1, true],
      ['local', 1, true],
      [BARE, 1, true],
      ['Portkey 1', 1, false],
      ['local', 0, false],
    ] as const) {
      assert.equal(hasFailed([run('nginx', 0), run(name, failures)]), expected, name);
    }
  });
});
