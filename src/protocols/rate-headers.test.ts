import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chatRateHeaders, durationText } from './chat/rate-headers.ts';
import { messagesRateHeaders } from './messages/rate-headers.ts';

const NOW_MS = Date.UTC(2026, 10, 20, 4);
const requests = { limit: 60, remaining: 59, resetAtMs: NOW_MS + 1_000 };
const tokens = { limit: 1_000, remaining: 0, resetAtMs: NOW_MS + 61_001 };

describe('remaining per-minute limits', () => {
  it('are sent to clients of the chat family as durations', () => {
    assert.deepEqual(chatRateHeaders({ requests, tokens }, NOW_MS, ['compat']), {
      'x-ratelimit-limit-requests': '60',
      'x-ratelimit-remaining-requests': '59',
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '1m2s',
    });
    assert.deepEqual(chatRateHeaders({ requests: null, tokens: null }, NOW_MS, []), {});
  });

  for (const [ms, text] of [
    [0, '0s'],
    [1, '1ms'],
    [999, '999ms'],
    [1_000, '1s'],
    [1_001, '2s'],
    [59_001, '1m0s'],
    [360_000, '6m0s'],
    [3_600_000, '1h0m0s'],
    [3_725_000, '1h2m5s'],
  ] as const) {
    it(`reset after ${ms} ms, written ${text}`, () => assert.equal(durationText(ms), text));
  }

  it('are sent to clients of the messages family as timestamps, with the vendor and each mount name as prefix', () => {
    const rates = (name: string) => ({
      [`${name}-ratelimit-requests-limit`]: '60',
      [`${name}-ratelimit-requests-remaining`]: '59',
      [`${name}-ratelimit-requests-reset`]: '2026-11-20T04:00:01Z',
    });
    assert.deepEqual(messagesRateHeaders({ requests, tokens: null }, NOW_MS, ['altproto', 'anthropic']), {
      ...rates('anthropic'),
      ...rates('altproto'),
    });
    const { 'anthropic-ratelimit-tokens-reset': reset } = messagesRateHeaders({ requests: null, tokens }, NOW_MS, []);
    assert.equal(reset, '2026-11-20T04:01:02Z');
  });
});
