import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { requestedRestMs } from './rest.ts';

const NOW_MS = Date.parse('2026-11-20T04:00:00Z');
const rest = (headers: Record<string, string>) => requestedRestMs(headers, NOW_MS);

describe('the rest that a provider asks for', () => {
  it('is in seconds or a date, or in milliseconds, which are more exact', () => {
    assert.equal(rest({ 'retry-after': '7' }), 7_000);
    assert.equal(rest({ 'retry-after': '0.5' }), 500);
    assert.equal(rest({ 'retry-after': 'Fri, 20 Nov 2026 04:00:09 GMT' }), 9_000);
    assert.equal(rest({ 'retry-after': '7', 'retry-after-ms': '6400' }), 6_400);
  });

  it('is none where it is over, not said, or not understood', () => {
    for (const headers of [
      {},
      { 'retry-after': '0' },
      { 'retry-after-ms': '0', 'retry-after': '7' },
      { 'retry-after': '-7' },
      { 'retry-after': 'soon' },
      { 'retry-after': '' },
      { 'retry-after': 'Fri, 20 Nov 2026 03:59:59 GMT' },
    ]) {
      assert.equal(rest(headers as Record<string, string>), null, JSON.stringify(headers));
    }
  });
});
