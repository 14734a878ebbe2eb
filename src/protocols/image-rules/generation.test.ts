import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { familyOf } from './families.ts';
import { checkFamily } from './family-rules.ts';
import { defaultGenerationModel, readGeneration } from './generation.ts';
import type { ImageParameters } from './parameters.ts';

type Body = Readonly<Record<string, unknown>>;

function read(body: Body): ImageParameters {
  return readGeneration((name) => (Object.hasOwn(body, name) ? body[name] : undefined));
}

/** The parameter that a refusal blames; `null` if the body is accepted. */
function blame(body: Body, model: string | null = null): string | null {
  try {
    checkFamily(read(body), model === null ? null : familyOf(model)!);
    return null;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.status, 400);
    assert.equal(error.code, 'invalid_request_error');
    assert.ok(error.message.length < 300, error.message);
    return error.param;
  }
}

const prompt = 'A lighthouse';

describe('a generation', () => {
  it('requires only a prompt', () => {
    const fields = read({ prompt });
    assert.equal(fields.prompt, prompt);
    for (const [name, value] of Object.entries(fields)) if (name !== 'prompt') assert.equal(value, null, name);
  });

  it('reads every parameter', () => {
    const body = {
      prompt: ' \n',
      model: 'm',
      background: 'transparent',
      moderation: 'low',
      n: 10,
      output_compression: 0,
      output_format: 'webp',
      partial_images: 3,
      quality: 'high',
      response_format: 'b64_json',
      size: '1536x864',
      stream: true,
      style: 'vivid',
      user: '',
    };
    assert.deepEqual(read(body), { ...body, input_fidelity: null });
  });

  it('treats null as absent', () => {
    const names = Object.keys(read({ prompt })).filter((name) => name !== 'prompt');
    assert.deepEqual(read({ prompt, ...Object.fromEntries(names.map((name) => [name, null])) }), read({ prompt }));
  });

  it('leaves unlisted members to the provider', () => {
    const body = { prompt, input_fidelity: 7, safety_identifier: {}, frame_count: 'x', svg: { model: 'm' } };
    assert.deepEqual(read(body), read({ prompt }));
    assert.equal(blame(body, 'gpt-image-2'), null);
  });

  const rules: readonly [name: string, taken: readonly unknown[], refused: readonly unknown[]][] = [
    ['prompt', ['a', ' ', '你'.repeat(100_000)], ['', null, undefined, 1, true, ['a'], { a: 1 }]],
    ['model', ['m', 'null'], ['', 1, ['m']]],
    ['background', ['transparent', 'opaque', 'auto'], ['', 'white', 'AUTO', 1, true, ['auto']]],
    ['moderation', ['low', 'auto'], ['high', '', false]],
    ['n', [1, 10, 1.0], [0, 11, -1, 1.5, '1', true, Number.POSITIVE_INFINITY, 2 ** 31, [1]]],
    ['output_format', ['png', 'jpeg', 'webp', 'gif', 'svg'], ['jpg', 'PNG', '', 1, 'a'.repeat(10_000)]],
    [
      'quality',
      ['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'],
      ['best', 'HD', '', 1, 'constructor'],
    ],
    ['response_format', ['url', 'b64_json'], ['b64', '', 0]],
    ['size', ['auto', '1x1', '2K', '1024*1024', 'a'.repeat(32)], ['', 1024, [1024, 1024], 'a'.repeat(33)]],
    ['stream', [true, false], ['true', 0, 1, '']],
    ['style', ['vivid', 'natural'], ['dull', '', 3]],
    ['user', ['u', '', 'u'.repeat(1000)], [1, true, {}, ['u']]],
  ];
  for (const [name, taken, refused] of rules) {
    it(`accepts ${name} only within its limits`, () => {
      for (const value of taken) assert.equal(blame({ prompt, [name]: value }), null, JSON.stringify(value));
      for (const value of refused) assert.equal(blame({ prompt, [name]: value }), name, JSON.stringify(value));
    });
  }

  it('accepts partial_images from 0 to 3 when streaming', () => {
    for (const value of [0, 3]) {
      assert.equal(blame({ prompt, stream: true, partial_images: value }), null);
      for (const stream of [false, null, undefined]) {
        assert.equal(blame({ prompt, stream, partial_images: value }), 'partial_images');
      }
    }
    for (const value of [-1, 4, '2', 0.5]) {
      assert.equal(blame({ prompt, stream: true, partial_images: value }), 'partial_images');
    }
    assert.equal(blame({ prompt, partial_images: null }), null);
  });

  it('accepts output_compression from 0 to 100 for JPEG and WebP', () => {
    for (const output_compression of [0, 100]) {
      for (const output_format of ['jpeg', 'webp']) {
        assert.equal(blame({ prompt, output_format, output_compression }), null);
      }
      for (const output_format of ['png', 'gif', 'svg', null, undefined]) {
        assert.equal(blame({ prompt, output_format, output_compression }), 'output_compression');
      }
    }
    for (const output_compression of [-1, 101, 50.5, '50']) {
      assert.equal(blame({ prompt, output_format: 'jpeg', output_compression }), 'output_compression');
    }
  });

  it('accepts a transparent background for PNG (the default) and WebP', () => {
    for (const output_format of ['png', 'webp', null, undefined]) {
      assert.equal(blame({ prompt, background: 'transparent', output_format }), null);
    }
    for (const output_format of ['jpeg', 'gif', 'svg']) {
      assert.equal(blame({ prompt, background: 'transparent', output_format }), 'background');
      assert.equal(blame({ prompt, background: 'opaque', output_format }), null);
    }
  });

  it('is accepted, or refused with 400 and the parameter that is wrong, for any values', () => {
    const values = fc.oneof(
      fc.jsonValue({ maxDepth: 2 }),
      fc.constantFrom(undefined, 1, 3, true, 'auto', 'webp', 'high', '1024x1024', 'transparent', '💡'.repeat(20_000)),
    );
    const names = fc.constantFrom(...Object.keys(read({ prompt })));
    const models = fc.constantFrom(null, 'dall-e-2', 'dall-e-3', 'gpt-image-1', 'gpt-image-2', 'gpt-image-2.5-flare');
    fc.assert(
      fc.property(fc.dictionary(names, values), models, fc.boolean(), (parameters, model, hasPrompt) => {
        const body = hasPrompt ? { prompt, ...parameters } : parameters;
        const param = blame(body, model);
        if (param !== null) assert.ok(param in read({ prompt }), param);
        else assert.equal(typeof body.prompt, 'string');
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});

describe('a generation with a known model', () => {
  const dallE = ['dall-e-2', 'dall-e-3'];
  const first = ['gpt-image-1', 'gpt-image-1-mini', 'gpt-image-1.5'];
  const sized = ['gpt-image-2', 'gpt-image-2-2026-04-21', 'gpt-image-2.5-sunburst', 'gpt-image-2.5-flare'];
  const newest = ['gpt-image-2.6-sunburst', 'chatgpt-image-latest'];
  const gptImage = [...first, ...sized, ...newest];
  const all = [...dallE, ...gptImage];

  /** Parameter values, and the models that support them; all other models refuse them. */
  const table: readonly [name: string, values: readonly unknown[], models: readonly string[], rest?: Body][] = [
    ['background', ['transparent', 'opaque', 'auto'], gptImage],
    ['moderation', ['low', 'auto'], gptImage],
    ['n', [1], all],
    ['n', [2, 10], all.filter((model) => model !== 'dall-e-3')],
    ['output_format', ['png', 'jpeg', 'webp', 'gif', 'svg'], gptImage],
    ['output_compression', [0, 100], gptImage, { output_format: 'jpeg' }],
    ['quality', ['auto'], all],
    ['quality', ['standard'], [...dallE, ...newest]],
    ['quality', ['hd'], ['dall-e-3', ...newest]],
    ['quality', ['low', 'medium', 'high'], gptImage],
    ['quality', ['xhigh', 'max'], ['gpt-image-2.5-sunburst', 'gpt-image-2.5-flare', ...newest]],
    ['response_format', ['url', 'b64_json'], dallE],
    ['size', ['1024x1024'], all],
    // The minimum number of pixels of gpt-image-2.5 is not documented, so its provider validates it.
    ['size', ['256x256', '512x512'], ['dall-e-2', 'gpt-image-2.5-sunburst', 'gpt-image-2.5-flare', ...newest]],
    ['size', ['1792x1024', '1024x1792'], ['dall-e-3', ...sized, ...newest]],
    ['size', ['1536x1024', '1024x1536', 'auto'], gptImage],
    ['size', ['2048x1152', '3840x2160', '1536x512', '1024x640'], [...sized, ...newest]],
    ['size', ['3856x2160', '3840x2176', '1552x512', '1024x1000', '2K', '1024X1024'], newest],
    ['stream', [true], gptImage],
    ['stream', [false], all],
    ['partial_images', [0, 3], gptImage, { stream: true }],
    ['style', ['vivid', 'natural'], ['dall-e-3']],
    ['user', ['u'], all],
  ];
  for (const [name, values, models, rest] of table) {
    it(`accepts ${name} ${values.join(', ')} for these models only: ${models === all ? 'all' : models.join(', ')}`, () => {
      for (const model of all) {
        for (const value of values) {
          const param = blame({ prompt, ...rest, [name]: value }, model);
          if (models.includes(model)) assert.equal(param, null, `${model} ${value}`);
          else assert.notEqual(param, null, `${model} ${value}`);
          if (param !== null && rest === undefined) assert.equal(param, name, `${model} ${value}`);
        }
      }
    });
  }

  const promptLimits: readonly [model: string, charactersMax: number][] = [
    ['dall-e-2', 1000],
    ['dall-e-3', 4000],
    ...gptImage.map((model): [string, number] => [model, 32_000]),
  ];
  for (const [model, charactersMax] of promptLimits) {
    it(`accepts prompts of up to ${charactersMax} characters for ${model}`, () => {
      for (const character of ['a', '你', '😀']) {
        assert.equal(blame({ prompt: character.repeat(charactersMax) }, model), null);
        assert.equal(blame({ prompt: character.repeat(charactersMax + 1) }, model), 'prompt');
      }
      assert.equal(blame({ prompt: '😀'.repeat(charactersMax * 3) }, model), 'prompt');
    });
  }

  it('lists the supported values in the error', () => {
    assert.throws(() => checkFamily(read({ prompt, size: '64x64' }), familyOf('dall-e-3')), {
      message: 'The parameter "size" must be one of 1024x1024, 1792x1024, 1024x1792 for dall-e-3; received "64x64".',
    });
    assert.throws(() => checkFamily(read({ prompt, size: '64x64' }), familyOf('gpt-image-2')), {
      message:
        'The parameter "size" must be WIDTHxHEIGHT with at least 655360 pixels for gpt-image-2; received "64x64".',
    });
    assert.throws(() => checkFamily(read({ prompt, style: 'vivid' }), familyOf('gpt-image-1')), {
      message: 'The parameter "style" is not supported by gpt-image-1.',
    });
    assert.throws(() => read({ prompt, n: 11 }), {
      message: 'The parameter "n" must be a whole number from 1 to 10; received 11.',
    });
  });
});

describe('the default model of a generation', () => {
  const plain: readonly Body[] = [
    {},
    { model: null, background: null, stream: null },
    { n: 10, response_format: 'url', user: 'u', size: '512x512', quality: 'standard', stream: false },
    { quality: 'auto' },
    { quality: 'hd' },
    { style: 'natural' },
    { size: '1792x1024' },
    { prompt: 'a'.repeat(30_000) },
    { safety_identifier: 'x', input_fidelity: 'high' },
  ];
  for (const body of plain) {
    it(`is dall-e-2 with plain parameters: ${JSON.stringify(body).slice(0, 80)}`, () => {
      assert.equal(defaultGenerationModel(read({ prompt, ...body })), 'dall-e-2');
    });
  }

  const forGptImage: readonly Body[] = [
    { background: 'auto' },
    { moderation: 'auto' },
    { output_format: 'png' },
    { output_format: 'jpeg', output_compression: 50 },
    { stream: true },
    { stream: true, partial_images: 0 },
    { quality: 'low' },
    { quality: 'max' },
    { size: 'auto' },
    { size: '1024x1536' },
    { size: '2048x2048' },
    { background: 'opaque', style: 'vivid', prompt: 'a'.repeat(5000) },
  ];
  for (const body of forGptImage) {
    it(`is gpt-image-2 with a parameter that only GPT Image supports: ${JSON.stringify(body).slice(0, 80)}`, () => {
      assert.equal(defaultGenerationModel(read({ prompt, ...body })), 'gpt-image-2');
    });
  }
});
