import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COUNTS_VALID_MS, OthersUse } from './others-use.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');
const row = (nodeId: string, requests: number, tokens = 0, inFlight = 0) => ({
  ...{ nodeId, subject: 'provider a', requests, tokens, inFlight },
});

describe('what other processes have used', () => {
  it('is what their totals have grown by since the last reading, and their calls in flight', () => {
    const others = new OthersUse();
    assert.deepEqual(others.read([row('n1', 50, 500, 2)], NOW_MS)('provider a'), {
      requests: 0,
      tokens: 0,
      inFlight: 2,
    });
    const next = others.read([row('n1', 53, 540, 1), row('n2', 9, 90, 4)], NOW_MS + 1_000);
    assert.deepEqual(next('provider a'), { requests: 3, tokens: 40, inFlight: 5 });
    assert.deepEqual(next('provider b'), { requests: 0, tokens: 0, inFlight: 0 });
  });

  it('falls with the tokens of calls that used less than was estimated', () => {
    const others = new OthersUse();
    others.read([row('n1', 1, 900), row('n2', 1, 10)], NOW_MS);
    const { tokens } = others.read([row('n1', 1, 100), row('n2', 2, 60)], NOW_MS + 1_000)('provider a');
    assert.equal(tokens, -750);
  });

  it('leaves out what was used while nothing was read for long', () => {
    const others = new OthersUse();
    others.read([row('n1', 5)], NOW_MS);
    assert.ok(!others.isOutdated(NOW_MS + COUNTS_VALID_MS));
    const laterMs = NOW_MS + COUNTS_VALID_MS + 1;
    assert.ok(others.isOutdated(laterMs));
    assert.equal(others.read([row('n1', 900)], laterMs)('provider a').requests, 0);
    assert.equal(others.read([row('n1', 901)], laterMs + 1_000)('provider a').requests, 1);
  });

  it('begins again with totals that begin again, without hiding those of others', () => {
    const others = new OthersUse();
    others.read([row('n1', 500), row('n2', 10)], NOW_MS);
    assert.equal(others.read([row('n1', 3), row('n2', 12)], NOW_MS + 1_000)('provider a').requests, 2);
    assert.equal(others.read([row('n1', 4), row('n2', 12)], NOW_MS + 2_000)('provider a').requests, 1);
  });
});
