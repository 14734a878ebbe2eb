import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addUsage, inputTokensOf, noUsage, outputTokensOf, totalTokens } from './usage-facts.ts';
import { byUnit, pricedUnits, shownUnits, type UnitCounts, unitColumns, unitNames } from './usage-units.ts';

/** A power of two for each unit, so that a sum shows its components. */
const counts: UnitCounts = byUnit((name) => 2 ** unitNames.indexOf(name));

function summed(sum: number): string[] {
  return unitNames.filter((_, place) => (sum & (2 ** place)) !== 0);
}

describe('usage units', () => {
  it('have a column and a price of their own', () => {
    assert.equal(new Set(unitColumns.map(({ column }) => column)).size, unitColumns.length);
    assert.equal(new Set(pricedUnits.map(({ field }) => field)).size, pricedUnits.length);
    assert.deepEqual(
      pricedUnits.map(({ name, field }) => `${name}: ${field}`),
      [
        'inputTokens: inputNanoPerMillion',
        'cachedInputTokens: cachedInputNanoPerMillion',
        'cacheWriteTokens: cacheWriteNanoPerMillion',
        'cacheWrite1hTokens: cacheWrite1hNanoPerMillion',
        'imageInputTokens: imageInputNanoPerMillion',
        'audioInputTokens: audioInputNanoPerMillion',
        'citationTokens: citationsNanoPerMillion',
        'outputTokens: outputNanoPerMillion',
        'imageOutputTokens: imageOutputNanoPerMillion',
        'audioOutputTokens: audioOutputNanoPerMillion',
        'separateReasoningTokens: reasoningNanoPerMillion',
        'searchUnits: perSearchUnitNano',
        'webSearches: perWebSearchNano',
        'webFetches: perWebFetchNano',
        'fileSearches: perFileSearchNano',
        'codeExecutions: perCodeExecutionNano',
        'containers: perContainerNano',
        'otherToolUses: perToolUseNano',
      ],
    );
  });

  it('are input tokens, output tokens or neither; output includes reasoning', () => {
    const input = [
      ...['inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'cacheWrite1hTokens'],
      ...['imageInputTokens', 'audioInputTokens', 'citationTokens'],
    ];
    const output = ['outputTokens', 'imageOutputTokens', 'audioOutputTokens', 'separateReasoningTokens'];
    assert.deepEqual(summed(inputTokensOf(counts)), input);
    assert.deepEqual(summed(outputTokensOf(counts)), output);
    assert.deepEqual(summed(totalTokens(counts)), [...input, ...output]);
  });

  it('are added one by one, including images and excluding the usage of single models', () => {
    const image = { quality: null, size: null, count: 1 };
    const part = { model: null, isInside: true, usage: noUsage };
    const sum = addUsage({ ...counts, images: [image], parts: [part] }, { ...counts, images: [image] });
    assert.deepEqual(sum, { ...byUnit((name) => 2 * counts[name]), images: [image, image] });
  });

  it('are added with the service terms of the first part that has some', () => {
    const part = { ...noUsage, servedOn: { serviceTier: 'flex' } };
    assert.deepEqual(addUsage(noUsage, part).servedOn, part.servedOn);
    assert.deepEqual(addUsage(part, { ...noUsage, servedOn: { speed: 'fast' } }).servedOn, part.servedOn);
  });

  it('are shown to administrators if they have a column or a price', () => {
    assert.deepEqual(
      unitNames.filter((name) => !shownUnits.includes(name)),
      ['serverToolUses', 'compactions'],
    );
  });
});
