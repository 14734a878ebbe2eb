import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { checkEdit, DEFAULT_EDIT_MODEL, type EditForm, type FormFile, partKind, readEdit } from './edit.ts';
import { familyOf } from './families.ts';

const MIB = 1_048_576;
const image: FormFile = { sizeBytes: 1000, format: 'png', width: 512, height: 512 };

type Texts = Readonly<Record<string, string | Buffer>>;

function form(texts: Texts = {}, files: Partial<EditForm> = {}): EditForm {
  const given = Object.entries({ prompt: 'Add a boat', ...texts });
  return {
    texts: new Map(given.map(([name, value]) => [name, Buffer.from(value)])),
    images: [image],
    mask: null,
    ...files,
  };
}

/** The part that a refusal blames; `null` if the form is accepted. */
function blame(edit: EditForm, model: string | null = null): string | null {
  try {
    checkEdit(readEdit(edit), edit, model === null ? null : familyOf(model)!);
    return null;
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    assert.equal(error.status, 400);
    assert.ok(error.message.length < 300, error.message);
    return error.param;
  }
}

const gptImage = ['gpt-image-1', 'gpt-image-1-mini', 'gpt-image-1.5', 'gpt-image-2', 'gpt-image-2.5-flare'];
const all = ['dall-e-2', ...gptImage];

describe('the parts of an edit', () => {
  it('are classified by name', () => {
    assert.equal(partKind('image'), 'image');
    assert.equal(partKind('image[]'), 'image');
    assert.equal(partKind('mask'), 'mask');
    assert.equal(partKind('n[]'), 'listedCount');
    const texts = [
      ...['prompt', 'model', 'background', 'input_fidelity', 'n', 'output_compression', 'output_format'],
      ...['partial_images', 'quality', 'response_format', 'size', 'stream', 'user'],
    ];
    for (const name of texts) assert.equal(partKind(name), 'text', name);
    const others = [
      '',
      'image[0]',
      'Image',
      'moderation',
      'style',
      'markup',
      'safety_identifier',
      'constructor',
      'n[0]',
    ];
    for (const name of others) assert.equal(partKind(name), 'other', name);
  });
});

describe('the text parts of an edit', () => {
  it('require only a prompt', () => {
    const fields = readEdit(form());
    assert.equal(fields.prompt, 'Add a boat');
    for (const [name, value] of Object.entries(fields)) if (name !== 'prompt') assert.equal(value, null, name);
    assert.equal(DEFAULT_EDIT_MODEL, 'gpt-image-1.5');
  });

  it('are converted to values', () => {
    const fields = readEdit(
      form({
        model: 'm',
        background: 'transparent',
        input_fidelity: 'high',
        n: '10',
        output_compression: '0',
        output_format: 'webp',
        partial_images: '3',
        quality: 'xhigh',
        response_format: 'url',
        size: '1024x640',
        stream: 'true',
        user: 'ü 1',
      }),
    );
    assert.deepEqual(fields, {
      prompt: 'Add a boat',
      model: 'm',
      background: 'transparent',
      input_fidelity: 'high',
      moderation: null,
      n: 10,
      output_compression: 0,
      output_format: 'webp',
      partial_images: 3,
      quality: 'xhigh',
      response_format: 'url',
      size: '1024x640',
      stream: true,
      style: null,
      user: 'ü 1',
    });
  });

  it('keep white space in the prompt, but refuse a blank one', () => {
    for (const prompt of [' a', 'a\n', '\r\n\ta b \n\n', '\ufeffa', '.']) {
      assert.equal(readEdit(form({ prompt })).prompt, prompt);
    }
    for (const prompt of ['', ' ', '\r\n\t', '\u00a0\u3000']) assert.equal(blame(form({ prompt })), 'prompt');
    assert.equal(blame({ ...form(), texts: new Map() }), 'prompt');
  });

  it('accept the text null as a model id', () => {
    assert.equal(readEdit(form({ model: 'null' })).model, 'null');
    assert.equal(blame(form({ model: '' })), 'model');
  });

  const rules: readonly [name: string, taken: readonly string[], refused: readonly string[]][] = [
    ['model', ['m', 'a b'], ['', ' m', 'm ', 'm\n', '\u00a0m', '\ufeffm']],
    ['background', ['transparent', 'opaque', 'auto'], ['', 'white', 'auto ', 'null']],
    ['input_fidelity', ['high', 'low'], ['', 'medium', 'null', 'HIGH']],
    [
      'n',
      ['1', '10'],
      ['', '0', '11', '-1', '+1', '01', '1.0', '1e0', ' 1', '1\n', '0x1', 'null', '١', '9'.repeat(400)],
    ],
    ['output_format', ['png', 'jpeg', 'webp', 'gif'], ['', 'jpg', 'svg', 'null']],
    ['quality', ['standard', 'low', 'medium', 'high', 'xhigh', 'max', 'auto'], ['', 'hd', 'best']],
    ['response_format', ['url', 'b64_json'], ['', 'b64']],
    ['size', ['auto', '1024x640', '2K'], ['', ' auto', 'x'.repeat(33)]],
    ['stream', ['true', 'false'], ['', 'True', '1', '0', 'null', 'true ']],
    ['user', ['u', '你好'], ['', ' u', 'u\t']],
  ];
  for (const [name, taken, refused] of rules) {
    it(`accept ${name} only within its limits`, () => {
      for (const value of taken) assert.equal(blame(form({ [name]: value })), null, JSON.stringify(value));
      for (const value of refused) assert.equal(blame(form({ [name]: value })), name, JSON.stringify(value));
    });
  }

  it('are validated in combination', () => {
    assert.equal(blame(form({ stream: 'true', partial_images: '3' })), null);
    assert.equal(blame(form({ stream: 'false', partial_images: '3' })), 'partial_images');
    assert.equal(blame(form({ output_compression: '50' })), 'output_compression');
    assert.equal(blame(form({ background: 'transparent', output_format: 'jpeg' })), 'background');
  });

  it('must be UTF-8', () => {
    for (const name of ['prompt', 'model', 'quality', 'n', 'user']) {
      for (const bytes of [[0xff], [0x61, 0xc3], [0xed, 0xa0, 0x80]]) {
        assert.equal(blame(form({ [name]: Buffer.from(bytes) })), name);
      }
    }
  });
});

describe('the files of an edit', () => {
  it('must be 1 to 16 images', () => {
    for (const [count, param] of [
      [0, 'image'],
      [1, null],
      [16, null],
      [17, 'image'],
    ] as const) {
      for (const model of [null, ...gptImage]) {
        assert.equal(blame(form({}, { images: Array.from({ length: count }, () => image) }), model), param);
      }
    }
  });

  it('must be one image for dall-e-2', () => {
    assert.equal(blame(form(), 'dall-e-2'), null);
    assert.equal(blame(form({}, { images: [image, image] }), 'dall-e-2'), 'image');
  });

  it('must not be empty', () => {
    assert.equal(blame(form({}, { images: [image, { ...image, sizeBytes: 0 }] })), 'image[1]');
    const empty: FormFile = { sizeBytes: 0, format: 'other', width: null, height: null };
    assert.equal(blame(form({}, { images: [empty] })), 'image[0]');
    assert.equal(blame(form({}, { mask: empty })), 'mask');
  });

  it('must be PNG, WebP or JPEG under 50 MB for GPT Image, with any aspect ratio', () => {
    for (const model of gptImage) {
      for (const format of ['png', 'webp', 'jpeg'] as const) {
        const largest: FormFile = { format, sizeBytes: 50 * MIB - 1, width: 10, height: 4000 };
        assert.equal(blame(form({}, { images: [image, largest] }), model), null);
        assert.equal(blame(form({}, { images: [image, { ...largest, sizeBytes: 50 * MIB }] }), model), 'image[1]');
        assert.equal(blame(form({}, { images: [{ ...largest, width: null, height: null }] }), model), null);
      }
      assert.equal(blame(form({}, { images: [{ ...image, format: 'other' }] }), model), 'image[0]');
    }
  });

  it('must be a square PNG under 4 MB for dall-e-2', () => {
    const cases: readonly [change: Partial<FormFile>, param: string | null][] = [
      [{ sizeBytes: 4 * MIB - 1 }, null],
      [{ sizeBytes: 4 * MIB }, 'image[0]'],
      [{ format: 'jpeg' }, 'image[0]'],
      [{ format: 'webp' }, 'image[0]'],
      [{ width: 513 }, 'image[0]'],
      [{ width: null, height: null }, 'image[0]'],
    ];
    for (const [change, param] of cases) {
      assert.equal(blame(form({}, { images: [{ ...image, ...change }] }), 'dall-e-2'), param, JSON.stringify(change));
    }
  });

  it('are validated by the provider if the model is unknown', () => {
    assert.equal(blame(form({}, { images: [{ ...image, format: 'other', sizeBytes: 100 * MIB }] })), null);
  });

  it('may include a mask, a PNG under 4 MB with the size of the first image', () => {
    const other: FormFile = { ...image, width: 300, height: 200 };
    const cases: readonly [mask: FormFile, param: string | null, first?: FormFile][] = [
      [image, null],
      [{ ...image, sizeBytes: 4 * MIB - 1 }, null],
      [{ ...image, sizeBytes: 4 * MIB }, 'mask'],
      [{ ...image, format: 'jpeg' }, 'mask'],
      [{ ...image, format: 'other' }, 'mask'],
      [{ ...image, width: null, height: null }, 'mask'],
      [{ ...image, height: null }, 'mask'],
      [{ ...image, width: 511 }, 'mask'],
      [{ ...image, height: 513 }, 'mask'],
      [other, null, other],
      [{ ...other, width: 200, height: 300 }, 'mask', other],
    ];
    for (const model of [null, ...all]) {
      for (const [mask, param, first] of cases) {
        if (first !== undefined && model === 'dall-e-2') continue;
        assert.equal(
          blame(form({}, { images: [first ?? image, other].slice(0, model === 'dall-e-2' ? 1 : 2), mask }), model),
          param,
        );
      }
    }
  });

  // Phones store portrait photos rotated, while the mask is drawn on the displayed photo.
  it('may include a mask rotated relative to a JPEG or WebP', () => {
    for (const format of ['jpeg', 'webp'] as const) {
      const photograph: FormFile = { ...image, format, width: 300, height: 200 };
      const mask = (width: number, height: number): FormFile => ({ ...image, width, height });
      assert.equal(blame(form({}, { images: [photograph], mask: mask(300, 200) })), null);
      assert.equal(blame(form({}, { images: [photograph], mask: mask(200, 300) })), null);
      assert.equal(blame(form({}, { images: [photograph], mask: mask(200, 301) })), 'mask');
      assert.equal(blame(form({}, { images: [photograph], mask: mask(300, 300) })), 'mask');
    }
  });

  it('may include a mask of any size if the size of the image is unknown', () => {
    for (const change of [{ width: null }, { height: null }]) {
      assert.equal(blame(form({}, { images: [{ ...image, ...change }], mask: image })), null);
    }
  });
});

describe('an edit with a known model', () => {
  it('is refused if the model cannot edit images', () => {
    const edit = form();
    assert.throws(() => checkEdit(readEdit(edit), edit, familyOf('dall-e-3')), {
      code: 'model_not_found',
      status: 400,
      param: 'model',
    });
  });

  const table: readonly [name: string, values: readonly string[], models: readonly string[], rest?: Texts][] = [
    ['input_fidelity', ['low'], ['gpt-image-1', 'gpt-image-1-mini', 'gpt-image-1.5', 'gpt-image-2.5-flare']],
    ['input_fidelity', ['high'], ['gpt-image-1', 'gpt-image-1.5', 'gpt-image-2.5-flare']],
    ['output_compression', ['0', '100'], gptImage, { output_format: 'webp' }],
    ['partial_images', ['0', '3'], gptImage, { stream: 'true' }],
    ['quality', ['xhigh', 'max'], ['gpt-image-2.5-flare']],
    ['size', ['1536x865', '64K'], []],
  ];
  for (const [name, values, models, rest] of table) {
    it(`accepts ${name} ${values.join(', ')} for these models only: ${models.join(', ') || 'none'}`, () => {
      for (const model of all) {
        for (const value of values) {
          const param = blame(form({ ...rest, [name]: value }), model);
          assert.equal(param === null, models.includes(model), `${model} ${value}`);
          if (param !== null && rest === undefined) assert.equal(param, name, `${model} ${value}`);
        }
      }
    });
  }
});

describe('any form', () => {
  it('is accepted, or refused with 400 and the part that is wrong', () => {
    const names = fc.constantFrom(
      'prompt',
      'model',
      'n',
      'size',
      'stream',
      'quality',
      'partial_images',
      'user',
      'other',
    );
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((value) => Buffer.from(value)),
      fc.constantFrom('1', 'true', 'auto', 'low', 'a ', '1024x1024').map((value) => Buffer.from(value)),
    );
    const edge = fc.constantFrom(null, 1, 512, 1024);
    const file: fc.Arbitrary<FormFile> = fc.record({
      sizeBytes: fc.constantFrom(0, 1, 4 * MIB, 50 * MIB),
      format: fc.constantFrom('png', 'jpeg', 'webp', 'other'),
      width: edge,
      height: edge,
    });
    const forms: fc.Arbitrary<EditForm> = fc.record({
      texts: fc.array(fc.tuple(names, bytes), { maxLength: 6 }).map((texts) => new Map(texts)),
      images: fc.array(file, { maxLength: 18 }),
      mask: fc.option(file),
    });
    fc.assert(
      fc.property(forms, fc.constantFrom(null, 'dall-e-3', ...all), fc.boolean(), (edit, model, hasPrompt) => {
        const texts = hasPrompt ? new Map([...edit.texts, ...form().texts]) : edit.texts;
        const param = blame({ ...edit, texts }, model);
        if (param === null) assert.ok(edit.images.length > 0);
        else assert.match(param, /^(image|image\[\d+\]|mask|[a-z_]+)$/);
      }),
      { numRuns: propertyRuns(2000) },
    );
  });
});
