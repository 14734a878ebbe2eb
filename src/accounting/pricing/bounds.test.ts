import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  inputTokensOf,
  noUsage,
  outputTokensOf,
  TOKEN_COUNT_MAX,
  type Usage,
} from '../../protocols/metering/usage-facts.ts';
import { byUnit } from '../../protocols/metering/usage-units.ts';
import { type BoundingFacts, boundUsage, COUNT_MAX, usageBounds } from './bounds.ts';

const facts: BoundingFacts = {
  contextTokensMax: 1_000,
  outputTokensMax: 100,
  choices: 1,
  inputs: 1,
  moreOutputTokens: 0,
  searchUnitsMax: 1,
};

const bound = (usage: Partial<Usage>, more: Partial<BoundingFacts> = {}) => {
  const reported = { ...noUsage, ...usage };
  return boundUsage(reported, usageBounds({ ...facts, ...more }, reported));
};

describe('usage bounds', () => {
  it('are the context and output limits of the model', () => {
    assert.equal(bound({ inputTokens: 1_000, outputTokens: 100 }).excess, null);
    const { usage, excess } = bound({ inputTokens: 1_001, outputTokens: TOKEN_COUNT_MAX });
    assert.deepEqual([usage.inputTokens, usage.outputTokens], [1_000, 100]);
    assert.deepEqual(excess, { inputTokens: 1, outputTokens: TOKEN_COUNT_MAX - 100 });
  });

  it('are ten million if the model has no limits', () => {
    const none = { contextTokensMax: null, outputTokensMax: null };
    assert.equal(bound({ inputTokens: COUNT_MAX, outputTokens: COUNT_MAX }, none).excess, null);
    assert.deepEqual(bound({ outputTokens: TOKEN_COUNT_MAX }, none).usage.outputTokens, COUNT_MAX);
  });

  it('apply to each choice and to each separately read input', () => {
    assert.equal(bound({ outputTokens: 300 }, { choices: 3 }).excess, null);
    assert.equal(bound({ inputTokens: 5_000 }, { inputs: 5 }).excess, null);
    assert.deepEqual(bound({ inputTokens: 5_001 }, { inputs: 5 }).excess, { inputTokens: 1 });
  });

  it('allow output that does not count against the limit of the model', () => {
    assert.equal(bound({ outputTokens: 1_200 }, { choices: 2, moreOutputTokens: 500 }).excess, null);
    assert.deepEqual(bound({ outputTokens: 1_201 }, { choices: 2, moreOutputTokens: 500 }).excess, { outputTokens: 1 });
  });

  it('grow with each round at the provider, which reads a context and writes an output', () => {
    const transcript: readonly [usage: Partial<Usage>, inputTokens: number, outputTokens: number][] = [
      [{}, 1_000, 100],
      [{ serverToolUses: 1 }, 2_000, 200],
      [{ serverToolUses: 3 }, 4_000, 400],
      [{ compactions: 1 }, 2_000, 200],
      [{ serverToolUses: 3, compactions: 2 }, 6_000, 600],
      // Tool uses alone are not rounds: the reader of a report decides what counts as a round.
      [{ webSearches: 9 }, 1_000, 100],
      // The number of rounds is limited, too.
      [{ serverToolUses: 100 }, 101_000, 10_100],
      [{ serverToolUses: TOKEN_COUNT_MAX }, 101_000, 10_100],
      [{ compactions: TOKEN_COUNT_MAX }, 101_000, 10_100],
    ];
    for (const [shown, inputTokens, outputTokens] of transcript) {
      assert.equal(bound({ ...shown, inputTokens, outputTokens }).excess, null, JSON.stringify(shown));
      const more = bound({ ...shown, inputTokens: inputTokens + 1, outputTokens: outputTokens + 2 }).excess;
      assert.deepEqual(more, { inputTokens: 1, outputTokens: 2 }, JSON.stringify(shown));
    }
  });

  it('allow thinking in each round of each choice', () => {
    const asked = { choices: 2, moreOutputTokens: 500 };
    assert.equal(bound({ outputTokens: 2_400, serverToolUses: 1 }, asked).excess, null);
    assert.deepEqual(bound({ outputTokens: 2_401, serverToolUses: 1 }, asked).excess, { outputTokens: 1 });
  });

  it('are shared by all kinds of input, and cached input is cut first', () => {
    const { usage, excess } = bound({ inputTokens: 600, cacheWriteTokens: 300, cachedInputTokens: 700 });
    assert.deepEqual([usage.inputTokens, usage.cacheWriteTokens, usage.cachedInputTokens], [600, 300, 100]);
    assert.deepEqual(excess, { inputTokens: 600 });
  });

  it('are the requested images and the search units that the request can cause', () => {
    const images = [
      { quality: 'high', size: null, count: 2 },
      { quality: 'low', size: null, count: 2 },
    ];
    const { usage, excess } = bound({ images, searchUnits: 9 }, { choices: 3 });
    assert.deepEqual(
      usage.images.map(({ count }) => count),
      [2, 1],
    );
    assert.deepEqual([usage.searchUnits, excess], [1, { images: 1, searchUnits: 8 }]);
  });

  it('are never exceeded by the charged usage; charged usage and excess add up to the report', () => {
    const count = fc.nat(TOKEN_COUNT_MAX);
    const usage: fc.Arbitrary<Usage> = fc.record({
      ...byUnit(() => count),
      images: fc.array(fc.record({ quality: fc.constant(null), size: fc.constant(null), count: fc.nat(20) })),
    });
    const limit = fc.option(fc.integer({ min: 1, max: 2_000_000 }));
    const given = fc.record({
      contextTokensMax: limit,
      outputTokensMax: limit,
      choices: fc.integer({ min: 1, max: 128 }),
      inputs: fc.integer({ min: 1, max: 2_048 }),
      moreOutputTokens: count,
      searchUnitsMax: fc.integer({ min: 1, max: 100 }),
    });
    const toolUsesOf = (u: Usage): number =>
      u.webSearches + u.webFetches + u.fileSearches + u.codeExecutions + u.containers + u.otherToolUses;
    const imagesOf = (u: Usage): number => u.images.reduce((sum, image) => sum + image.count, 0);
    // Separate reasoning is output that shares the bound of the input.
    const boundInputOf = (u: Usage): number => inputTokensOf(u) + u.separateReasoningTokens;
    const boundOutputOf = (u: Usage): number => outputTokensOf(u) - u.separateReasoningTokens;
    fc.assert(
      fc.property(usage, given, (reported, boundingFacts) => {
        const bounds = usageBounds(boundingFacts, reported);
        const { usage: charged, excess } = boundUsage(reported, bounds);
        assert.ok(boundInputOf(charged) <= bounds.inputTokensMax && boundOutputOf(charged) <= bounds.outputTokensMax);
        assert.ok(imagesOf(charged) <= bounds.imagesMax && charged.searchUnits <= bounds.searchUnitsMax);
        assert.equal(boundInputOf(charged) + (excess?.inputTokens ?? 0), boundInputOf(reported));
        assert.equal(boundOutputOf(charged) + (excess?.outputTokens ?? 0), boundOutputOf(reported));
        assert.equal(imagesOf(charged) + (excess?.images ?? 0), imagesOf(reported));
        assert.ok(toolUsesOf(charged) <= bounds.toolUsesMax);
        assert.equal(toolUsesOf(charged) + (excess?.toolUses ?? 0), toolUsesOf(reported));
        assert.equal(charged.searchUnits + (excess?.searchUnits ?? 0), reported.searchUnits);
      }),
    );
  });
});
