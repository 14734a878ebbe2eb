import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Answer } from '../metering/answer.ts';
import { noUsage, type Usage } from '../metering/usage-facts.ts';
import { imagesAnswer } from './answer.ts';

/** What is kept of a body, of which the members that are not asked for are gone. */
function answerOf(body: Record<string, unknown>): Answer {
  const reading = imagesAnswer({ quality: null, size: null });
  return {
    member: (name) => (reading.keep.includes(name) ? body[name] : undefined),
    count(name) {
      const value = reading.count.includes(name) ? body[name] : undefined;
      return Array.isArray(value) ? value.length : null;
    },
  };
}

function usageOf(body: Record<string, unknown>, basis: 'tokens' | 'images'): Usage | null {
  return imagesAnswer({ quality: 'auto', size: '1024x1024' }).usage(answerOf(body), basis);
}

const usage = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };
const body = { created: 1_790_000_000, data: [{ b64_json: 'aaaa' }, { b64_json: 'bbbb' }], usage };
const requested = [{ quality: 'auto', size: '1024x1024', count: 2 }];
const tokens: Usage = { ...noUsage, inputTokens: 10, imageOutputTokens: 20 };

describe('a response with images', () => {
  it('keeps no image', () => {
    const reading = imagesAnswer({ quality: null, size: null });
    assert.deepEqual(reading.count, ['data']);
    assert.ok(!reading.keep.includes('data'));
  });

  it('reports tokens and images, whatever it is charged by', () => {
    for (const basis of ['tokens', 'images'] as const) {
      assert.deepEqual(usageOf(body, basis), { ...tokens, images: requested });
    }
  });

  it('describes its images; the request counts only where the response says nothing', () => {
    const images = (rest: object) => usageOf({ ...body, ...rest }, 'images')?.images;
    assert.deepEqual(images({ quality: 'high' }), [{ quality: 'high', size: '1024x1024', count: 2 }]);
    assert.deepEqual(images({ size: '1536x864' }), [{ quality: 'auto', size: '1536x864', count: 2 }]);
    assert.deepEqual(images({ quality: null, size: null }), requested);
    const unsaid = imagesAnswer({ quality: null, size: null }).usage(answerOf(body), 'images');
    assert.deepEqual(unsaid?.images, [{ quality: null, size: null, count: 2 }]);
  });

  it('needs its usage where it is charged by tokens', () => {
    for (const broken of [undefined, null, {}, { ...usage, total_tokens: undefined }, { ...usage, input_tokens: -1 }]) {
      assert.equal(usageOf({ ...body, usage: broken }, 'tokens'), null);
      assert.deepEqual(usageOf({ ...body, usage: broken }, 'images'), { ...noUsage, images: requested });
    }
  });

  it('counts the tokens of an SVG, and needs them where they are reported', () => {
    const svg = { input_tokens: 1, output_tokens: 2 };
    const withSvg = { ...tokens, inputTokens: 11, outputTokens: 2, images: requested };
    for (const basis of ['tokens', 'images'] as const) {
      assert.deepEqual(usageOf({ ...body, svg_usage: svg }, basis), withSvg);
    }
    assert.equal(usageOf({ ...body, svg_usage: { output_tokens: 2 } }, 'tokens'), null);
    assert.deepEqual(usageOf({ ...body, svg_usage: {} }, 'images'), { ...tokens, images: requested });
  });

  it('has no facts without an image, or without a time of creation', () => {
    const broken = [
      { data: [] },
      { data: undefined },
      { data: null },
      { data: {} },
      { data: 'image' },
      { created: undefined },
      { created: null },
      { created: '1790000000' },
    ];
    for (const change of broken) {
      for (const basis of ['tokens', 'images'] as const) {
        assert.equal(usageOf({ ...body, ...change }, basis), null, JSON.stringify(change));
      }
    }
  });
});
