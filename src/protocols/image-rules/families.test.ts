import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { familyOf, imageFamilies } from './families.ts';

describe('familyOf', () => {
  const known: readonly [id: string, family: string][] = [
    ['dall-e-2', 'dall-e-2'],
    ['dall-e-3', 'dall-e-3'],
    ['gpt-image-1', 'gpt-image-1'],
    ['gpt-image-1-mini', 'gpt-image-1-mini'],
    ['gpt-image-1.5', 'gpt-image-1.5'],
    ['gpt-image-2', 'gpt-image-2'],
    ['gpt-image-2-2026-04-21', 'gpt-image-2'],
    ['gpt-image-2.5-sunburst', 'gpt-image-2.5'],
    ['gpt-image-2.5-flare', 'gpt-image-2.5'],
    ['gpt-image-2.5-sunburst-2026-09-08', 'gpt-image-2.5'],
    ['gpt-image-2.5-flare-2026-09-08', 'gpt-image-2.5'],
    ['gpt-image-2.6-sunburst', 'newer GPT Image models'],
    ['gpt-image-2.6-flare', 'newer GPT Image models'],
    ['chatgpt-image-latest', 'newer GPT Image models'],
    ['openai/gpt-image-1.5', 'gpt-image-1.5'],
  ];
  for (const [id, name] of known) {
    it(`knows ${id}`, () => assert.equal(familyOf(id)?.name, name));
  }

  for (const id of [
    ...['', 'null', 'gpt-4o', 'dall-e', 'dall-e-4', 'dall-e-22', 'my-dall-e-2', 'gpt-image', 'gpt-image-3'],
    ...['gpt-image-1-max', 'gpt-image-1x5', 'gpt-image-2-preview', 'gpt-image-2-2026-04', 'gpt-image-2.5', 'DALL-E-2'],
    ...['gpt-image-2\n', 'a/b/gpt-image-2', 'qwen-image', 'seedream-4'],
  ]) {
    it(`does not know ${JSON.stringify(id)}`, () => assert.equal(familyOf(id), null));
  }

  it('matches every id with only one family', () => {
    for (const [id] of known) assert.equal(imageFamilies.filter(({ ids }) => ids.test(id)).length, 1, id);
  });

  it('takes linear time for an id as long as a body', () => {
    assert.equal(familyOf('gpt-image-2.5-'.repeat(100_000)), null);
    assert.equal(familyOf('/'.repeat(1_000_000)), null);
  });
});
