import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { noUsage, type Usage } from '../metering/usage-facts.ts';
import { imagesResponse, type RequestedImages } from './response.ts';

function usageOf(
  body: Record<string, unknown>,
  basis: 'tokens' | 'images',
  asked: RequestedImages = requestedLook,
): Usage | null {
  const reading = imagesResponse(asked);
  return reading.usage(captureResponse(reading, JSON.stringify(body)), basis);
}

const requestedLook = { quality: 'auto', size: '1024x1024' };
const unsaid = { quality: null, size: null };
const usage = { input_tokens: 10, output_tokens: 20, total_tokens: 30 };
const body = { created: 1_790_000_000, data: [{ b64_json: 'aaaa' }, { b64_json: 'bbbb' }], usage };
const requested = [{ quality: 'auto', size: '1024x1024', count: 2 }];
const tokens: Usage = { ...noUsage, inputTokens: 10, imageOutputTokens: 20 };

describe('a response with images', () => {
  it('keeps no image data', () => {
    const { keep, count } = imagesResponse(unsaid);
    assert.ok(![...keep, ...count].includes('data'));
  });

  it('reports tokens and images, whatever the charge is based on', () => {
    for (const basis of ['tokens', 'images'] as const) {
      assert.deepEqual(usageOf(body, basis), { ...tokens, images: requested });
    }
  });

  it('describes its images; the request counts only if the response has no description', () => {
    const images = (rest: object) => usageOf({ ...body, ...rest }, 'images')?.images;
    assert.deepEqual(images({ quality: 'high' }), [{ quality: 'high', size: '1024x1024', count: 2 }]);
    assert.deepEqual(images({ size: '1536x864' }), [{ quality: 'auto', size: '1536x864', count: 2 }]);
    assert.deepEqual(images({ quality: null, size: null }), requested);
    const named = usageOf({ ...body, size: '2496x1664' }, 'images', { quality: null, size: '2K' });
    assert.deepEqual(named?.images, [{ quality: null, size: '2496x1664', sizeName: '2K', count: 2 }]);
    assert.deepEqual(usageOf(body, 'images', unsaid)?.images, [{ ...unsaid, count: 2 }]);
  });

  it('requires usage if it is charged by tokens', () => {
    for (const broken of [undefined, null, {}, { ...usage, total_tokens: undefined }, { ...usage, input_tokens: -1 }]) {
      assert.equal(usageOf({ ...body, usage: broken }, 'tokens'), null);
      assert.deepEqual(usageOf({ ...body, usage: broken }, 'images'), { ...noUsage, images: requested });
    }
  });

  it('counts the tokens of an SVG, and requires them to be readable if they are reported', () => {
    const svg = { input_tokens: 1, output_tokens: 2 };
    const withSvg = { ...tokens, inputTokens: 11, outputTokens: 2, images: requested };
    for (const basis of ['tokens', 'images'] as const) {
      assert.deepEqual(usageOf({ ...body, svg_usage: svg }, basis), withSvg);
    }
    assert.equal(usageOf({ ...body, svg_usage: { output_tokens: 2 } }, 'tokens'), null);
    assert.deepEqual(usageOf({ ...body, svg_usage: {} }, 'images'), { ...tokens, images: requested });
  });

  it('counts items with an image, and ignores placeholders', () => {
    const counts: readonly [body: object, count: number][] = [
      [{ data: [{ url: 'a' }, { error: { code: 'OutputImageSensitiveContentDetected' } }, { b64_json: 'b' }] }, 2],
      [{ data: [{ url: 'a', b64_json: null }, { url: null, b64_json: null }, { url: '', b64_json: '' }, {}] }, 1],
      [{ data: [{ url: 'a', b64_json: 'b' }] }, 1],
      [{ data: [{ revised_prompt: 'url', other: { url: 'a' }, list: [{ b64_json: 'a' }] }, { '\u0075rl': 'a' }] }, 1],
      [{ data: [[{ url: 'a' }], 'url', 7, null, true, { url: 'a' }] }, 1],
      [{ data: [{ image: 'AAAA', finish_reason: 'success', seed: 1 }] }, 1],
      [{ images: [{ url: 'a' }, { url: 'b' }], data: [{ url: 'a' }, { url: 'b' }] }, 2],
      [{ images: [{ url: 'a' }], data: undefined }, 1],
      [{ data: { url: 'a' } }, 1],
    ];
    for (const [change, count] of counts) {
      assert.equal(usageOf({ ...body, ...change }, 'images')?.images[0]?.count, count, JSON.stringify(change));
    }
  });

  it('is free if all images failed, whatever it reports', () => {
    const failed = { code: 'OutputImageSensitiveContentDetected', message: 'no' };
    for (const basis of ['tokens', 'images'] as const) {
      assert.deepEqual(usageOf({ ...body, data: [{ error: failed }, { url: '', error: failed }] }, basis), noUsage);
      assert.equal(usageOf({ ...body, data: [], error: failed }, basis), null);
    }
  });

  it('has no usage without an image or a creation time', () => {
    const broken = [
      { data: [] },
      { data: undefined },
      { data: null },
      { data: {} },
      { data: [{}] },
      { data: [{ url: null, b64_json: null }, { url: '' }] },
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
