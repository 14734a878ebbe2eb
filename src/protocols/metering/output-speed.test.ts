import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { OutputSpeeds, TOKENS_PER_SECOND_DEFAULT } from './output-speed.ts';

/** 1,000 tokens in 10 s, of which 900 are reasoning that the stream does not contain. */
const unseen = { outputTokens: 1_000, reasoningTokens: 900, visibleTextBytes: 400, durationMs: 10_000 };
/** The same with reasoning in the stream. */
const seen = { ...unseen, visibleTextBytes: 4_000 };

describe('the speed of a route', () => {
  it('has a default until there is an observation', () => {
    const speeds = new OutputSpeeds();
    assert.equal(speeds.unseenTokens('r', 2_000, true), 2 * TOKENS_PER_SECOND_DEFAULT);
    assert.equal(speeds.unseenTokens('r', 2_000, null), 0);
    assert.equal(speeds.unseenTokens('r', 2_000, false), 0);
  });

  it('is an average of its streams, with more weight on recent ones', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', unseen);
    assert.equal(speeds.unseenTokens('r', 2_500, null), 250);
    for (let i = 0; i < 100; i++) speeds.note('r', { ...unseen, durationMs: 5_000 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), 200);
    assert.equal(speeds.unseenTokens('other', 1_000, true), TOKENS_PER_SECOND_DEFAULT);
  });

  it('is not affected by streams that are too short', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', { ...unseen, durationMs: 3 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), TOKENS_PER_SECOND_DEFAULT);
  });

  it('matters only if the model reasons without showing it, according to the latest stream with reasoning or the configuration', () => {
    const speeds = new OutputSpeeds();
    speeds.note('r', unseen);
    speeds.note('r', { ...unseen, reasoningTokens: 0 });
    assert.equal(speeds.unseenTokens('r', 1_000, null), 100);
    assert.equal(speeds.unseenTokens('r', 1_000, false), 0);
    speeds.note('r', seen);
    assert.equal(speeds.unseenTokens('r', 1_000, null), 0);
    assert.equal(speeds.unseenTokens('r', 1_000, true), 100);
  });

  it('never yields a negative count if a clock is set back', () => {
    assert.equal(new OutputSpeeds().unseenTokens('r', -5_000, true), 0);
  });
});
