import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import OpenAI, { toFile } from 'openai';
import { call } from '../support/client.ts';
import { assertSpent, type TestGateway } from '../support/gateway.ts';
import { json, sse } from '../support/provider.ts';
import { openConnection, requestBytes, sendRaw } from '../support/raw.ts';
import { inFullRunsOnly, propertyRuns } from '../support/scope.ts';
import {
  assertRefusal,
  BOUNDARY,
  badRequest,
  completedEvent,
  EDITS,
  editForm,
  editParts,
  file,
  form,
  formType,
  gptImageModels,
  ImageCaller,
  imageNano,
  imagesBody,
  imagesResponse,
  jpeg,
  type Part,
  PRICED_BY_IMAGE,
  PRICED_BY_TOKEN,
  partBytes,
  partialEvent,
  plainCostNano,
  png,
  type Refusal,
  STREAM_USAGE_NANO,
  startImageGateway,
  text,
  UNKNOWN_MODEL,
  USAGE_NANO,
  webp,
} from './images.ts';

const editModels = ['dall-e-2', ...gptImageModels] as const;
const MEGABYTE = 2 ** 20;

describe('4.6 POST /v1/images/edits', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  type Texts = Readonly<Record<string, Buffer | string>>;

  /** Asserts that each of these forms is forwarded unchanged, except for the model's name, and charged. */
  async function assertTaken(model: string, forms: readonly Texts[], files = editParts) {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = imagesResponse('image_edit');
    for (const texts of forms) {
      const request = await caller.taken(caller.edit(editForm({ model, ...texts }, files)), priceNano(model, texts));
      const { body } = request;
      const upstream = /name="model"\r\n\r\n([^\r]*)\r\n/.exec(body.toString('latin1'))?.[1];
      assert.ok(upstream !== undefined);
      assert.deepEqual(body, editForm({ model: upstream, ...texts }, files));
    }
  }

  /** Asserts that each of these forms is refused with 400 and names the part. */
  async function assertRefused(model: string | null, param: string | null, forms: readonly Texts[], files = editParts) {
    const caller = await ImageCaller.create(gateway);
    for (const texts of forms) {
      const body = editForm({ ...(model === null ? {} : { model }), ...texts }, files);
      await caller.refused(() => caller.edit(body), badRequest(param));
    }
  }

  /** Sends the same values of one part to every model: some accept them, the others refuse them. */
  async function assertByModel(name: string, values: readonly string[], takers: readonly string[], rest: Texts = {}) {
    const forms = values.map((value) => ({ ...rest, [name]: value }));
    for (const model of [...editModels, UNKNOWN_MODEL]) {
      if (takers.includes(model) || model === UNKNOWN_MODEL) await assertTaken(model, forms);
      else await assertRefused(model, name, forms);
    }
  }

  /** The response leaves quality and size to the request, which matters for models that are charged by them. */
  function priceNano(model: string, { quality, size, stream }: Texts): bigint {
    if (stream === 'true') return model === 'gpt-image-2' ? imageNano.high1024x1024 : STREAM_USAGE_NANO;
    if (model === 'gpt-image-2' && quality === 'low') return imageNano.low;
    if (model === 'gpt-image-2' && quality === 'high') {
      return size === '1024x1024' ? imageNano.high1024x1024 : imageNano.highOther;
    }
    return plainCostNano(model);
  }

  const files = (count: number, content = png(), name = 'image[]'): Part[] =>
    Array.from({ length: count }, (_, index) => file(name, content, `${index}.png`));
  const withPrompt = (...parts: Part[]): Part[] => [...parts, text('prompt', 'Add a boat')];

  describe('the form', () => {
    it('4.6 Content-Type must be multipart/form-data: a JSON body, or any other, is 415', async () => {
      const caller = await ImageCaller.create(gateway);
      const unsupported: Refusal = { status: 415, code: 'unsupported_media_type' };
      const body = Buffer.from(JSON.stringify({ prompt: 'p', images: [{ image_url: 'https://images.example/1' }] }));
      for (const type of [
        'application/json',
        'text/plain',
        'application/x-www-form-urlencoded',
        '',
        'multipart/mixed; boundary=b',
      ]) {
        await caller.refused(() => caller.edit(body, { 'content-type': type }), unsupported);
      }
    });

    it('4.6 the boundary is the one that the client generated: without a valid one the form is 415', async () => {
      const caller = await ImageCaller.create(gateway);
      const types = [
        'multipart/form-data',
        'multipart/form-data; boundary=',
        `multipart/form-data; boundary=${'b'.repeat(71)}`,
        `${formType()}; boundary*=UTF-8''b`,
        `${formType()}; charset*=UTF-8''utf-16`,
      ];
      for (const type of types) {
        const expected = { status: 415, code: 'unsupported_media_type' };
        await caller.refused(() => caller.edit(form(editParts), { 'content-type': type }), expected);
      }
    });

    it('4.6 any boundary of a client is accepted, quoted or not, and reaches the provider', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const parts = [text('model', PRICED_BY_IMAGE), ...editParts];
      for (const [boundary, type, sentType] of [
        ['b', 'multipart/form-data; boundary=b', 'multipart/form-data; boundary=b'],
        [
          '----=_Part_1',
          'multipart/form-data; charset=utf-8; boundary=----=_Part_1',
          'multipart/form-data; boundary="----=_Part_1"',
        ],
        [
          "a'()+_,-./:=? z",
          `Multipart/Form-Data; boundary="a'()+_,-./:=? z"`,
          `multipart/form-data; boundary="a'()+_,-./:=? z"`,
        ],
        [
          'c'.repeat(70),
          `multipart/form-data;BOUNDARY="${'c'.repeat(70)}"`,
          `multipart/form-data; boundary=${'c'.repeat(70)}`,
        ],
      ] as const) {
        const body = form(parts, boundary);
        const request = await caller.taken(caller.edit(body, { 'content-type': type }), imageNano.other);
        assert.deepEqual(request.body, body);
        assert.equal(request.headers['content-type'], sentType);
        assert.equal(request.headers['content-length'], String(body.length));
      }
    });

    it('4.6 a form that is broken or ends early is 400', async () => {
      const caller = await ImageCaller.create(gateway);
      const whole = form([text('model', PRICED_BY_IMAGE), ...editParts]).toString('latin1');
      const broken = [
        '',
        'nothing of a form',
        whole.slice(0, -8),
        whole.slice(0, whole.length / 2),
        whole.replaceAll('\r\n', '\n'),
        whole.replace('Content-Disposition: form-data; name="prompt"', 'X: y'),
        whole.replace('form-data; name="prompt"', 'attachment; name="prompt"'),
        whole.replace('form-data; name="prompt"', 'form-data'),
        whole.replace('form-data; name="prompt"', 'form-data; name="prompt"; name="user"'),
        whole.replace('name="prompt"\r\n', 'name="prompt"\r\nContent-Transfer-Encoding: base64\r\n'),
        whole.replace(`--${BOUNDARY}\r\n`, `--${BOUNDARY}x\r\n`),
        whole.replace('Add a boat', `Add\n--${BOUNDARY}\na boat`),
        whole.replace('Add a boat', `Add\r--${BOUNDARY}--`),
        whole.replace('form-data; name="prompt"', 'form-data; name="prompt"; name*=UTF-8\'\'user'),
        whole.replace('name="prompt"', 'name="pro\\mpt"'),
      ];
      for (const body of broken) {
        assert.notEqual(body, whole);
        await caller.refused(() => caller.edit(Buffer.from(body, 'latin1')), badRequest(null));
      }
    });

    it('4.6 every listed text part, and the mask, may appear at most once', async () => {
      const caller = await ImageCaller.create(gateway);
      const values: Record<string, string> = {
        ...{ prompt: 'p', model: UNKNOWN_MODEL, background: 'auto', input_fidelity: 'low', n: '1', size: 'auto' },
        ...{ output_compression: '1', output_format: 'webp', partial_images: '1', quality: 'auto' },
        ...{ response_format: 'url', stream: 'true', user: 'u' },
      };
      for (const [name, value] of Object.entries(values)) {
        const parts = [text(name, value), ...editParts, text(name, value)];
        await caller.refused(
          () => caller.edit(form(name === 'prompt' ? [...editParts, text(name, value)] : parts)),
          badRequest(name),
        );
      }
      const mask = file('mask', png());
      await caller.refused(() => caller.edit(form([mask, ...editParts, mask])), badRequest('mask'));
    });

    it('4.6 unknown parts pass, texts and files, however often they come', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const others = [
        ...[
          text('safety_identifier', ' x '),
          text('safety_identifier', ''),
          text('frame_count', Buffer.of(0xff, 0xfe)),
        ],
        ...[
          file('markup', Buffer.from([0, 13, 10, 45, 45, 1])),
          text('moderation', 'none'),
          text('style', ''),
          text('n[]', '4'),
        ],
      ];
      const body = form([...others, text('model', PRICED_BY_IMAGE), ...editParts, ...others]);
      const request = await caller.taken(caller.edit(body), imageNano.other);
      assert.deepEqual(request.body, body);
    });
  });

  describe('image', () => {
    it('4.6 image is required', async () => {
      const caller = await ImageCaller.create(gateway);
      await caller.refused(() => caller.edit(form([text('prompt', 'p')])), badRequest('image'));
      await caller.refused(() => caller.edit(form([file('images', png()), text('prompt', 'p')])), badRequest('image'));
    });

    it('4.6 image is repeated as image or image[], 1 to 16 parts', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      for (const images of [
        ...[files(1), files(16), files(2, png(), 'image'), files(16, png(), 'image')],
        [...files(1, png(), 'image'), ...files(3)],
      ]) {
        const body = form(withPrompt(text('model', PRICED_BY_IMAGE), ...images));
        assert.deepEqual((await caller.taken(caller.edit(body), imageNano.other)).body, body);
      }
    });

    it('4.6 a form with 17 images is 400, whatever the model', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const model of [...gptImageModels, UNKNOWN_MODEL, 'no-such-model']) {
        for (const name of ['image', 'image[]']) {
          const body = form(withPrompt(text('model', model), ...files(17, png(), name)));
          await caller.refused(() => caller.edit(body), badRequest('image'));
        }
      }
    });

    it('4.6 the 17th image is refused when it begins, before the rest of the form arrives', async () => {
      const { account } = await ImageCaller.create(gateway);
      const connection = await openConnection(gateway.url);
      const headers = [
        ['authorization', `Bearer ${account.key}`],
        ['content-type', formType()],
        ['content-length', String(800 * MEGABYTE)],
      ] as const;
      connection.write(requestBytes({ path: EDITS, headers }));
      connection.write(Buffer.concat(files(16).map((part) => partBytes(part))));
      connection.write(partBytes(file('image[]', Buffer.alloc(0))).subarray(0, -2));
      const response = await connection.response();
      assert.equal(response.status, 400);
      assert.equal(JSON.parse(response.body.toString()).error.param, 'image');
      assert.equal(response.headers.connection, 'close');
      await connection.closed();
    });

    it('4.6 dall-e-2 allows one image', async () => {
      const caller = await ImageCaller.create(gateway);
      const body = form(withPrompt(text('model', 'dall-e-2'), ...files(2)));
      await caller.refused(() => caller.edit(body), badRequest('image'));
    });

    it('4.6 GPT Image accepts PNG, WebP and JPEG files, identified by their bytes and not by their declared type', async () => {
      for (const model of gptImageModels) {
        for (const content of [png(30, 400), jpeg(30, 400), webp(30, 400)]) {
          await assertTaken(model, [{}], withPrompt(file('image', content, 'blob', 'application/octet-stream')));
          await assertTaken(model, [{}], withPrompt(text('image', content)));
        }
        for (const content of [Buffer.from('GIF89a..................'), Buffer.from('<svg/>'), Buffer.of(0)]) {
          await assertRefused(model, 'image[0]', [{}], withPrompt(file('image', content)));
        }
      }
    });

    it('4.6 an error names the index of the invalid image', async () => {
      const images = [...files(2), file('image', Buffer.from('no image')), ...files(1)];
      await assertRefused(PRICED_BY_IMAGE, 'image[2]', [{}], withPrompt(...images));
    });

    it('4.6 an empty image is 400, whatever the model', async () => {
      const images = [...files(1), file('image[]', Buffer.alloc(0))];
      for (const model of [PRICED_BY_IMAGE, UNKNOWN_MODEL]) {
        await assertRefused(model, 'image[1]', [{}], withPrompt(...images));
      }
    });

    it('4.6 dall-e-2 needs one square PNG under 4 MB', async () => {
      const model = 'dall-e-2';
      await assertTaken(model, [{}], withPrompt(file('image', png(64, 64, 4 * MEGABYTE - 1))));
      const refused = [png(64, 64, 4 * MEGABYTE), png(64, 63), png(63, 64), jpeg(), webp(), png().subarray(0, 20)];
      for (const content of refused) await assertRefused(model, 'image[0]', [{}], withPrompt(file('image', content)));
    });

    // `8-edit-body-gate.test.ts` sends sixteen that are one byte smaller.
    it('4.6 GPT Image files are each under 50 MB', { skip: inFullRunsOnly }, async () => {
      const caller = await ImageCaller.create(gateway);
      const images = [file('image', png()), file('image', png(64, 64, 50 * MEGABYTE))];
      const body = form(withPrompt(text('model', PRICED_BY_IMAGE), ...images));
      await caller.refused(() => caller.edit(body), badRequest('image[1]'));
    });
  });

  describe('mask', () => {
    it('4.6 mask is an optional PNG of the same size as the first image', async () => {
      const second = file('image[]', png(20, 10));
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        const parts = (mask: Buffer) => withPrompt(file('image[]', png(30, 40)), second, file('mask', mask));
        await assertTaken(model, [{}], parts(png(30, 40)));
        for (const mask of [
          png(40, 30),
          png(30, 41),
          png(20, 10),
          jpeg(30, 40),
          webp(30, 40),
          Buffer.from('mask'),
          Buffer.alloc(0),
        ]) {
          await assertRefused(model, 'mask', [{}], parts(mask));
        }
      }
      await assertTaken('dall-e-2', [{}], withPrompt(file('mask', png(64)), file('image', png(64))));
      await assertRefused('dall-e-2', 'mask', [{}], withPrompt(file('mask', png(65)), file('image', png(64))));
    });

    it('4.6 mask is under 4 MB', async () => {
      const parts = (sizeBytes: number) => withPrompt(file('image', png()), file('mask', png(64, 64, sizeBytes)));
      await assertTaken(PRICED_BY_IMAGE, [{}], parts(4 * MEGABYTE - 1));
      for (const model of ['dall-e-2', PRICED_BY_IMAGE, UNKNOWN_MODEL]) {
        await assertRefused(model, 'mask', [{}], parts(4 * MEGABYTE));
      }
    });
  });

  describe('prompt', () => {
    it('4.6 prompt is required', async () => {
      const caller = await ImageCaller.create(gateway);
      await caller.refused(() => caller.edit(form(files(1))), badRequest('prompt'));
    });

    it('4.6 leading and trailing white space and newlines of the prompt are kept byte for byte', async () => {
      const prompts = [' a', 'a\n', '\r\n\t a b \r\n\r\n', '\ufeffp', '--', `\r\n--${BOUNDARY.slice(0, -1)}`, '船\n'];
      await assertTaken(
        PRICED_BY_IMAGE,
        prompts.map((prompt) => ({ prompt })),
      );
    });

    it('4.6 only a prompt that is all white space is 400', async () => {
      const forms = ['', ' ', '\n', '\r\n\t ', '\u3000\u00a0'].map((prompt) => ({ prompt }));
      for (const model of [null, UNKNOWN_MODEL]) await assertRefused(model, 'prompt', forms);
    });

    for (const [model, charactersMax] of [
      ['dall-e-2', 1000],
      ...gptImageModels.map((each) => [each, 32_000] as const),
    ] as const) {
      it(`4.6 a prompt for ${model} has at most ${charactersMax} characters`, async () => {
        for (const character of ['a', '船', '😀']) {
          await assertTaken(model, [{ prompt: character.repeat(charactersMax) }]);
          await assertRefused(model, 'prompt', [{ prompt: `${character.repeat(charactersMax)}.` }]);
        }
      });
    }

    it('4.6 a text part that is read has a limit whatever the model, so that it fits in memory', async () => {
      await assertTaken(UNKNOWN_MODEL, [{ prompt: 'a'.repeat(131_072) }]);
      for (const name of ['prompt', 'user', 'model']) {
        await assertRefused(name === 'model' ? null : UNKNOWN_MODEL, name, [{ [name]: 'a'.repeat(131_073) }]);
      }
    });
  });

  describe('model', () => {
    it('4.6 an omitted model part is gpt-image-1.5, and the gateway inserts it before the first part', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const preamble = Buffer.from('a preamble\r\n');
      const body = Buffer.concat([preamble, form(editParts)]);
      const request = await caller.taken(caller.edit(body), USAGE_NANO);
      const inserted = partBytes(text('model', 'upstream-gpt-image-1.5'));
      assert.deepEqual(request.body, Buffer.concat([preamble, inserted, form(editParts)]));
      assert.equal(request.headers['content-length'], String(request.body.length));
    });

    it('4.6 the literal text null is a model id, and there is no such model', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const model of ['null', 'no-such-model', 'undefined']) {
        const expected = { status: 404, code: 'model_not_found', param: 'model' };
        await caller.refused(() => caller.edit(editForm({ model })), expected);
      }
    });

    it('4.6 model must not be empty, nor begin or end with white space', async () => {
      const models = ['', ' ', ' gpt-image-2', 'gpt-image-2\n'];
      await assertRefused(
        null,
        'model',
        models.map((model) => ({ model })),
      );
    });

    it('4.6 dall-e-3 cannot edit: 400 model_not_found', async () => {
      const caller = await ImageCaller.create(gateway);
      const expected = { status: 400, code: 'model_not_found', param: 'model' };
      await caller.refused(() => caller.edit(editForm({ model: 'dall-e-3' })), expected);
    });

    it('4.6 a model without this operation is 400 model_not_found', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const model of ['generate-only', 'test-chat']) {
        const expected = { status: 400, code: 'model_not_found', param: 'model' };
        await caller.refused(() => caller.edit(editForm({ model })), expected);
      }
    });
  });

  describe('parameters', () => {
    const withFidelity = ['gpt-image-1', 'gpt-image-1.5', 'gpt-image-2.5-sunburst'];
    const choices: readonly [name: string, values: readonly string[], takers: readonly string[], rest?: Texts][] = [
      ['background', ['transparent', 'opaque', 'auto'], gptImageModels],
      ['input_fidelity', ['high', 'low'], withFidelity],
      ['output_format', ['png', 'jpeg', 'webp'], gptImageModels],
      ['quality', ['standard'], ['dall-e-2']],
      ['quality', ['low', 'medium', 'high'], gptImageModels],
      ['quality', ['auto'], editModels],
      ['response_format', ['url', 'b64_json'], ['dall-e-2']],
      ['size', ['256x256', '512x512'], ['dall-e-2', 'gpt-image-2.5-sunburst']],
      ['size', ['1024x1024'], editModels],
      ['size', ['1536x1024', '1024x1536', 'auto'], gptImageModels],
      ['size', ['2048x1152', '1024x640'], ['gpt-image-2', 'gpt-image-2.5-sunburst']],
      ['stream', ['true'], gptImageModels],
      ['stream', ['false'], editModels],
      ['user', ['someone 船'], editModels],
    ];
    for (const [name, values, takers, rest] of choices) {
      it(`4.6 ${name} ${values.join(', ')} is for ${takers === editModels ? 'all models' : takers.join(', ')}`, async () => {
        await assertByModel(name, values, takers, rest);
      });
    }

    it('4.6 gpt-image-2 accepts WIDTHxHEIGHT only within the limits of sides, pixels and aspect ratio', async () => {
      const taken = ['1024x640', '3840x2160', '2160x3840', '3840x1280'].map((size) => ({ size }));
      await assertTaken('gpt-image-2', taken);
      const refused = [
        '1024x639',
        '1000x1000',
        '3856x1600',
        '3840x1264',
        '1008x640',
        '3840x2176',
        '512x512',
        '1024X1024',
      ];
      await assertRefused(
        'gpt-image-2',
        'size',
        refused.map((size) => ({ size })),
      );
    });

    it('4.6 n is an integer from 1 to 10, and all images in the response are charged', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const count of [1, 10]) {
        gateway.provider.respond = json(200, imagesBody(count));
        const body = editForm({ model: 'dall-e-2', n: String(count) });
        await caller.taken(caller.edit(body), BigInt(count) * imageNano.dallE2);
      }
      const forms = ['0', '-1', '11', '1.0', '01', '1e0', 'one', 'null', '٣'].map((n) => ({ n }));
      for (const model of [...editModels, UNKNOWN_MODEL]) await assertRefused(model, 'n', forms);
    });

    it('4.6 output_compression is an integer from 0 to 100, with output_format jpeg or webp only', async () => {
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        const formats = ['jpeg', 'webp'].map((output_format) => ({ output_format }));
        await assertTaken(
          model,
          formats.flatMap((each) => ['0', '100'].map((value) => ({ ...each, output_compression: value }))),
        );
        const refused = ['-1', '101', '5.5', 'x'].map((value) => ({
          output_format: 'webp',
          output_compression: value,
        }));
        const others = [{ output_compression: '50' }, { output_compression: '50', output_format: 'png' }];
        await assertRefused(model, 'output_compression', [...refused, ...others]);
      }
      await assertRefused('dall-e-2', 'output_format', [{ output_format: 'webp', output_compression: '50' }]);
    });

    it('4.6 background transparent goes with output_format png or webp only', async () => {
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        await assertTaken(
          model,
          ['png', 'webp'].map((output_format) => ({ background: 'transparent', output_format })),
        );
        await assertRefused(model, 'background', [{ background: 'transparent', output_format: 'jpeg' }]);
      }
    });

    it('4.6 partial_images is an integer from 0 to 3, together with stream true only', async () => {
      for (const model of [...gptImageModels, UNKNOWN_MODEL]) {
        const streamed = (value: string) => ({ stream: 'true', partial_images: value });
        await assertTaken(model, ['0', '3'].map(streamed));
        const refused = ['-1', '4', '1.5', 'x'].map(streamed);
        const others = [{ partial_images: '0' }, { partial_images: '1', stream: 'false' }];
        await assertRefused(model, 'partial_images', [...refused, ...others]);
      }
    });

    const words: readonly [name: string, refused: readonly string[]][] = [
      ['background', ['white', 'null', 'AUTO']],
      ['input_fidelity', ['medium', 'null', 'HIGH']],
      ['output_format', ['jpg', 'svg', 'null']],
      ['quality', ['hd', 'best', 'null']],
      ['response_format', ['b64', 'null']],
      ['stream', ['True', '1', '0', 'null', 'yes']],
    ];
    for (const [name, refused] of words) {
      it(`4.6 ${name} is one of its values, whatever the model`, async () => {
        const forms = refused.map((value) => ({ [name]: value }));
        for (const model of [null, UNKNOWN_MODEL]) await assertRefused(model, name, forms);
      });
    }

    it('4.6 scalar text parts other than the prompt must not be empty, nor begin or end with white space', async () => {
      const names = ['background', 'input_fidelity', 'n', 'output_compression', 'output_format', 'partial_images'];
      names.push('quality', 'response_format', 'size', 'stream', 'user', 'model');
      for (const name of names) {
        const value = { n: '1', stream: 'true', output_compression: '1', partial_images: '1' }[name] ?? 'auto';
        const forms = ['', ' ', ` ${value}`, `${value} `, `${value}\n`, `\u00a0${value}`, `${value}\u3000`];
        await assertRefused(
          null,
          name,
          forms.map((each) => ({ [name]: each })),
        );
      }
    });

    it('4.6 scalar text parts and the prompt must be UTF-8', async () => {
      for (const name of ['prompt', 'user', 'size', 'n', 'model', 'stream']) {
        const forms = [Buffer.of(0xff), Buffer.of(0x61, 0xc3), Buffer.of(0xed, 0xa0, 0x80)];
        await assertRefused(
          null,
          name,
          forms.map((each) => ({ [name]: each })),
        );
      }
    });
  });

  describe('forwarding', () => {
    it('4.6 images, mask and all parts are forwarded unchanged in their order; only the model part is replaced', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const content = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
      const unknown = fc.record({
        name: fc.constantFrom('other', 'x[]', 'große', 'markup'),
        content,
        filename: fc.constantFrom('a.bin', 'ü %22.png', ''),
      });
      const image = fc.record({
        name: fc.constantFrom('image', 'image[]'),
        content: content.map((tail) => Buffer.concat([png(8), tail])),
        filename: fc.constantFrom('a.png', 'photo 船.png', 'C:\\\\x.png'),
        type: fc.constantFrom('image/png', 'application/octet-stream'),
      });
      const forms = fc.record({
        parts: fc.array(fc.oneof(unknown, image), { maxLength: 8 }),
        first: image,
        order: fc.array(fc.nat(), { minLength: 4, maxLength: 4 }),
        hasMask: fc.boolean(),
        preamble: fc.constantFrom('', '\r\n', 'preamble\r\n'),
        epilogue: fc.constantFrom('', '\r\n', 'epilogue'),
      });
      let calls = 0;
      await fc.assert(
        fc.asyncProperty(forms, async ({ parts, first, order, hasMask, preamble, epilogue }) => {
          const body = (model: string): Buffer => {
            const needed = [first, text('model', model), text('prompt', ' p\n')];
            if (hasMask) needed.push(file('mask', png(8)));
            const all: Part[] = [...parts];
            for (const [index, part] of needed.entries()) all.splice(order[index]! % (all.length + 1), 0, part);
            return Buffer.concat([Buffer.from(preamble), form(all), Buffer.from(epilogue)]);
          };
          const response = await caller.edit(body(PRICED_BY_TOKEN));
          assert.equal(response.status, 200, response.text);
          assert.deepEqual(gateway.provider.requests.at(-1)!.body, body('upstream-gpt-image-1.5'));
          calls++;
        }),
        { numRuns: propertyRuns(60) },
      );
      await assertSpent(caller.account, BigInt(calls) * USAGE_NANO);
    });

    it('4.6 a form whose model has the same name at the provider arrives as it is, boundary and all', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const body = form(withPrompt(...files(3), text('model', PRICED_BY_IMAGE), file('mask', png())));
      const request = await caller.taken(caller.edit(body), imageNano.other);
      assert.deepEqual(request.body, body);
      assert.equal(request.headers['content-type'], formType());
      assert.equal(request.path, '/v1/images/edits');
    });

    it('4.6 a compressed or chunked form arrives as the original', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const body = form(withPrompt(text('model', PRICED_BY_IMAGE), file('image', png(64, 64, 300_000))));
      const zipped = caller.edit(gzipSync(body), { 'content-encoding': 'gzip' });
      const request = await caller.taken(zipped, imageNano.other);
      assert.deepEqual(request.body, body);
      assert.equal(request.headers['content-encoding'], undefined);
      for (const chunkBytes of [1, 7, 4096]) {
        const small = form([text('model', PRICED_BY_IMAGE), ...editParts]);
        const headers = [
          ['authorization', `Bearer ${caller.account.key}`],
          ['content-type', formType()],
        ] as const;
        const raw = await sendRaw(gateway.url, { path: EDITS, headers, body: small, chunkBytes });
        assert.equal(raw.status, 200, raw.body.toString());
        assert.deepEqual(gateway.provider.requests.at(-1)!.body, small);
      }
      await assertSpent(caller.account, 4n * imageNano.other);
    });

    it('4.6 a body that cannot be decoded by its Content-Encoding is 400, and an unknown encoding 415', async () => {
      const caller = await ImageCaller.create(gateway);
      await caller.refused(() => caller.edit(form(editParts), { 'content-encoding': 'gzip' }), badRequest(null));
      const expected = { status: 415, code: 'unsupported_media_type' };
      await caller.refused(() => caller.edit(form(editParts), { 'content-encoding': 'lzma' }), expected);
    });

    it('4.6 a client that waits for 100 Continue is asked for its form only once its key and type are right', async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      const body = form([text('model', PRICED_BY_IMAGE), ...editParts]);
      const head = (key: string, type: string) =>
        requestBytes({
          path: EDITS,
          headers: [
            ['authorization', `Bearer ${key}`],
            ['content-type', type],
            ['content-length', String(body.length)],
            ['expect', '100-continue'],
          ],
        });
      for (const [key, type, status] of [
        ['sk-fg-wrong', formType(), 401],
        [caller.account.key, 'application/json', 415],
      ] as const) {
        const refused = await openConnection(gateway.url);
        refused.write(head(key, type));
        assert.equal((await refused.response()).status, status);
        await refused.closed();
      }
      const connection = await openConnection(gateway.url);
      connection.write(head(caller.account.key, formType()));
      assert.equal((await connection.response()).status, 100);
      connection.write(body);
      const response = await connection.response();
      assert.equal(response.status, 200, response.body.toString());
      assert.deepEqual(gateway.provider.requests.at(-1)!.body, body);
      connection.destroy();
      await assertSpent(caller.account, imageNano.other);
    });

    it('4.6 a client that leaves in the middle of its upload pays nothing, and no provider is called', async () => {
      const caller = await ImageCaller.create(gateway);
      const before = gateway.provider.requests.length;
      const body = form([text('model', PRICED_BY_IMAGE), ...editParts]);
      const connection = await openConnection(gateway.url);
      const headers = [
        ['authorization', `Bearer ${caller.account.key}`],
        ['content-type', formType()],
        ['content-length', String(body.length)],
        ['expect', '100-continue'],
      ] as const;
      connection.write(requestBytes({ path: EDITS, headers }));
      assert.equal((await connection.response()).status, 100);
      connection.write(body.subarray(0, -1));
      connection.halfClose();
      const response = await connection.response();
      assert.deepEqual(
        [response.status, JSON.parse(response.body.toString()).error.code],
        [400, 'invalid_request_error'],
      );
      await connection.closed();
      assert.equal(gateway.provider.requests.length, before);
      await caller.unpaid();
    });
  });

  describe('the response', () => {
    it('4.6 success is JSON, or an event stream of image_edit.partial_image and image_edit.completed', async () => {
      const caller = await ImageCaller.create(gateway);
      const model = PRICED_BY_TOKEN;
      gateway.provider.respond = json(200, imagesBody());
      const whole = caller.edit(editForm({ model, stream: 'false' }));
      await caller.taken(whole, USAGE_NANO);
      assert.match((await whole).headers['content-type']!, /^application\/json/);
      const events = [partialEvent('image_edit'), partialEvent('image_edit', 1), completedEvent('image_edit')];
      gateway.provider.respond = sse(events);
      const stream = caller.edit(editForm({ model, stream: 'true', partial_images: '2' }));
      await caller.taken(stream, STREAM_USAGE_NANO);
      assert.match((await stream).headers['content-type']!, /^text\/event-stream/);
      assert.equal((await stream).text, events.join(''));
    });

    it('4.6 success must carry trusted usage facts: without them it is 502, and nothing is charged', async () => {
      for (const [model, rest] of [
        [PRICED_BY_TOKEN, { usage: null }],
        [PRICED_BY_IMAGE, { data: [] }],
      ] as const) {
        const caller = await ImageCaller.create(gateway);
        gateway.provider.respond = json(200, imagesBody(1, rest));
        const response = await caller.edit(editForm({ model }));
        assertRefusal(response, { status: 502, code: 'upstream_error', type: 'api_error' });
        await caller.unpaid();
      }
    });

    it('4.6 a refusal of the provider keeps its status and words, and costs nothing', async () => {
      const caller = await ImageCaller.create(gateway);
      for (const stream of ['true', 'false']) {
        gateway.provider.respond = json(400, { error: { message: 'No boats today.' } });
        const response = await caller.edit(editForm({ model: PRICED_BY_TOKEN, stream }));
        assertRefusal(response, badRequest(null));
        assert.equal(response.json.error.message, 'No boats today.');
        await caller.unpaid();
      }
    });

    it('4.6 a call without money is 429 insufficient_balance', async () => {
      const account = await gateway.createAccount({ balanceYuan: '0' });
      const before = gateway.provider.requests.length;
      const response = await call(gateway.url + EDITS, account.key, form(editParts), {
        headers: { 'content-type': formType() },
      });
      assertRefusal(response, { status: 429, code: 'insufficient_balance', type: 'insufficient_quota' });
      assert.equal(gateway.provider.requests.length, before);
    });

    it('4.6 the official client edits images, with the model after them', async () => {
      const caller = await ImageCaller.create(gateway);
      const client = new OpenAI({ apiKey: caller.account.key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
      gateway.provider.respond = imagesResponse('image_edit');
      const image = [await toFile(png(), 'a.png'), await toFile(jpeg(), 'b.jpg')];
      const edited = await client.images.edit({ image, prompt: ' p ', n: 1, model: PRICED_BY_TOKEN });
      assert.equal(edited.data?.length, 1);
      const sent = gateway.provider.requests.at(-1)!.body.toString('latin1');
      assert.match(sent, /name="model"\r\n\r\nupstream-gpt-image-1\.5\r\n/);
      const stream = await client.images.edit({ image: image[0]!, prompt: 'p', model: PRICED_BY_TOKEN, stream: true });
      const types: string[] = [];
      for await (const event of stream) types.push(event.type);
      assert.deepEqual(types, ['image_edit.completed']);
      await assertSpent(caller.account, USAGE_NANO + STREAM_USAGE_NANO);
    });
  });
});
