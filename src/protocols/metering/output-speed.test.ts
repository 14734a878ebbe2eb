import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutputSpeeds, TOKENS_PER_SECOND_DEFAULT } from './output-speed.ts';

/** 1,000 tokens in 10 s, of which 900 are reasoning that is not in the stream. */
const unseen = { outputTokens: 1_000, reasoningTokens: 900, visibleTextBytes: 400, durationMs: 10_000 };
/** The same, with its reasoning in the stream. */
const seen = { ...unseen, visibleTextBytes: 4_000 };

describe('the speed of a route', () => {
  it('is a usual one until something is learned', () => {
    const speeds = new OutputSpeeds();
    assert.equal(speeds.unseenTokens('r', 2_000, true), 2 * TOKENS_PER_SECOND_DEFAULT);
    assert.equal(speeds.unseenTokens('r', 2_000, null), 0);
    assert.equal(speeds.unseenTokens('r', 2_000, false), 0);
  });

  it('is that of its streams, the last ones above all', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', unseen);
    assert.equal(speeds.unseenTokens('r', 2_500, null), 250);
    for (let i = 0; i < 100; i++) speeds.note('r', { ...unseen, durationMs: 5_000 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), 200);
    assert.equal(speeds.unseenTokens('other', 1_000, true), TOKENS_PER_SECOND_DEFAULT);
  });

  it('is not learned from a stream that is too short', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', { ...unseen, durationMs: 3 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), TOKENS_PER_SECOND_DEFAULT);
  });

  it('matters only if the model reasons unseen, by the last stream with reasoning or by configuration', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', unseen);
    speeds.note('r', { ...unseen, reasoningTokens: 0 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), 100);
    assert.equal(speeds.unseenTokens('r', 1_000, false), 0);
    speeds.note('r', seen);
    assert.equal(speeds.unseenTokens('r', 1_000, null), 0);
    assert.equal(speeds.unseenTokens('r', 1_000, true), 100);
  });

  it('gives no negative count if a clock is set back', () => {
    assert.equal(new OutputSpeeds().unseenTokens('r', -5_000, true), 0);
  });
});
