import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { assertRefused as assertCallRefused, readInput, refusalsOf } from '../../../test/support/request-input.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { imageGeneration } from './image-generation.ts';

const inspect = (text: string) => readInput(imageGeneration, text);
const assertRefused = refusalsOf(imageGeneration);

describe('an image generation', () => {
  it('sends the default model to the provider, also in place of a null model', () => {
    for (const [given, sent, model] of [
      ['{"prompt":"p"}', '{"model":"up","prompt":"p"}', 'dall-e-2'],
      [' { "prompt":"p" , "n":1 }\n', ' {"model":"up", "prompt":"p" , "n":1 }\n', 'dall-e-2'],
      ['{"model": null ,"prompt":"p"}', '{"model": "up" ,"prompt":"p"}', 'dall-e-2'],
      ['{"prompt":"p","moderation":"low"}', '{"model":"up","prompt":"p","moderation":"low"}', 'gpt-image-2'],
    ] as const) {
      const input = inspect(given);
      assert.equal(input.model, model);
      assert.equal(input.toProvider('up').toString(), sent);
      assert.equal(input.toProvider(model).toString(), sent.replace('"up"', `"${model}"`));
    }
  });

  it('refuses a body that is not a JSON object with a prompt', () => {
    for (const text of ['', '[]', '{', 'null', '{"prompt":"p"}}']) assertRefused(text, null);
    for (const text of ['{}', '{"prompt":null}', '{"prompt":""}', '{"prompt":[]}']) assertRefused(text, 'prompt');
    assertRefused('{"prompt":"p","n":11}', 'n');
  });

  it('determines the number of images, with an unlimited number of tokens', () => {
    assert.equal(inspect('{"prompt":"p"}').choices, 1);
    assert.equal(inspect('{"prompt":"p","n":null}').choices, 1);
    assert.equal(inspect('{"prompt":"p","n":4}').choices, 4);
    assert.equal(inspect('{"prompt":"p","n":4}').demand.outputTokensLimit, null);
  });

  it('determines the maximum number of images of a sequence, which the model chooses', () => {
    const sequence = '"prompt":"p","sequential_image_generation"';
    const options = '"sequential_image_generation_options"';
    for (const [text, choices] of [
      [`{${sequence}:"auto"}`, 15],
      [`{${sequence}:"auto",${options}:null}`, 15],
      [`{${sequence}:"auto",${options}:{"max_images":4}}`, 4],
      [`{${sequence}:"auto",${options}:{"max_images":4},"n":2}`, 8],
      [`{${sequence}:"disabled"}`, 1],
      [`{${sequence}:null}`, 1],
      [`{"prompt":"p",${options}:{"max_images":3}}`, 3],
    ] as const) {
      const input = inspect(text);
      assert.equal(input.choices, choices, text);
      const reading = input.readStream('images');
      for (let left = choices; left > 0; left--) {
        const event = Buffer.from('data: {"type":"image_generation.completed","url":"a"}\n\n');
        assert.equal(reading.read(event), left === 1 ? 'terminal' : 'pass');
      }
    }
    assertRefused(`{${sequence}:"on"}`, 'sequential_image_generation');
    assertRefused(`{${sequence}:true}`, 'sequential_image_generation');
    assertRefused('{"prompt":"p","sequentialImageGeneration":"auto"}', 'sequential_image_generation');
    for (const limit of ['0', '16', '"4"', '1.5']) {
      assertRefused(
        `{"prompt":"p",${options}:{"max_images":${limit}}}`,
        'sequential_image_generation_options.max_images',
      );
    }
    assertRefused(`{"prompt":"p",${options}:[]}`, 'sequential_image_generation_options');
  });

  it('is reserved by its size, and refers to no earlier call', () => {
    const body = JSON.stringify({ prompt: 'p'.repeat(10_000) });
    assert.equal(inspect(body).inputTokensEstimate, estimateTokens(body.length));
    assert.deepEqual(inspect(body).continuationKeys, []);
    assert.equal(inspect(body).contentType, 'application/json');
  });

  it('is validated against its model', () => {
    const input = inspect('{"prompt":"p","style":"vivid"}');
    input.checkFor('dall-e-3');
    input.checkFor('some-other-model');
    assertCallRefused(() => input.checkFor('gpt-image-2'), 'style');
  });

  it('is charged by the images that the response describes, or else by the request', () => {
    const usage = (text: string) => {
      const { response } = inspect(text);
      const body = { created: 1, usage: null, size: '512x512', data: Array(3).fill({ b64_json: 'a' }) };
      return response.usage(captureResponse(response, JSON.stringify(body)), 'images')?.images;
    };
    assert.deepEqual(usage('{"prompt":"p"}'), [{ quality: null, size: '512x512', count: 3 }]);
    const images = usage('{"prompt":"p","quality":"hd","size":"1024x1024"}');
    assert.deepEqual(images, [{ quality: 'hd', size: '512x512', count: 3 }]);
  });

  it('reads streams with the requested number of images', () => {
    const reading = inspect('{"prompt":"p","n":2,"stream":true,"size":"auto"}').readStream('images');
    const completed = Buffer.from('event: image_generation.completed\ndata: {"b64_json":"aaaa"}\n\n');
    assert.equal(reading.read(completed), 'pass');
    assert.equal(reading.read(completed), 'terminal');
    assert.deepEqual(reading.usage()?.images, [{ quality: null, size: 'auto', count: 2 }]);
  });
});
