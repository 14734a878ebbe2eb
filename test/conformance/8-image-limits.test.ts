import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import type { TestGateway } from '../support/gateway.ts';
import { json } from '../support/provider.ts';
import { openConnection, requestBytes } from '../support/raw.ts';
import {
  badRequest,
  EDITS,
  editForm,
  editParts,
  file,
  form,
  formType,
  gptImageModels,
  ImageCaller,
  imagesBody,
  imagesResponse,
  type Part,
  plainCostNano,
  png,
  STREAM_USAGE_NANO,
  startImageGateway,
  text,
  UNKNOWN_MODEL,
} from './images.ts';

/** The limits of image calls at both addresses: the last valid value and the first invalid one. */

const MEGABYTE = 2 ** 20;
const EDIT_BODY_BYTES_MAX = MEGABYTE;

describe('8 Limits of image calls', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway();
  });
  after(() => gateway.stop());

  /** Sends the same parameters to both addresses. */
  const both = (caller: ImageCaller, model: string, fields: Readonly<Record<string, string | number | boolean>>) => [
    () => caller.generate({ prompt: 'A boat', model, ...fields }),
    () => {
      const texts = Object.entries({ model, ...fields }).map(([name, value]) => [name, String(value)]);
      return caller.edit(editForm(Object.fromEntries(texts)));
    },
  ];

  for (const [name, model, rest, inside, outside] of [
    ['n', 'dall-e-2', {}, [1, 10], [0, 11]],
    ['n', UNKNOWN_MODEL, {}, [1, 10], [0, 11]],
    ['output_compression', 'gpt-image-1', { output_format: 'jpeg' }, [0, 100], [-1, 101]],
    ['output_compression', UNKNOWN_MODEL, { output_format: 'jpeg' }, [0, 100], [-1, 101]],
  ] as const) {
    it(`8 ${name} is ${inside[0]} to ${inside[1]} at both addresses, with ${model}`, async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      for (const value of inside) {
        for (const send of both(caller, model, { ...rest, [name]: value })) {
          await caller.taken(send(), plainCostNano(model));
        }
      }
      for (const value of outside) {
        for (const send of both(caller, model, { ...rest, [name]: value }))
          await caller.refused(send, badRequest(name));
      }
    });
  }

  it('8 partial_images is 0 to 3 at both addresses, only with stream true', async () => {
    const caller = await ImageCaller.create(gateway);
    const model = 'gpt-image-1';
    for (const value of [0, 3]) {
      const sends = both(caller, model, { stream: true, partial_images: value });
      for (const [index, send] of sends.entries()) {
        gateway.provider.respond = imagesResponse(index === 0 ? 'image_generation' : 'image_edit');
        await caller.taken(send(), STREAM_USAGE_NANO);
      }
    }
    for (const fields of [
      { stream: true, partial_images: -1 },
      { stream: true, partial_images: 4 },
      { stream: false, partial_images: 3 },
      { partial_images: 0 },
    ]) {
      for (const send of both(caller, model, fields)) await caller.refused(send, badRequest('partial_images'));
    }
  });

  for (const [model, charactersMax] of [
    ['dall-e-2', 1000],
    ...gptImageModels.map((each) => [each, 32_000] as const),
  ] as const) {
    it(`8 a prompt for ${model} has at most ${charactersMax} characters at both addresses`, async () => {
      const caller = await ImageCaller.create(gateway);
      gateway.provider.respond = json(200, imagesBody());
      for (const send of both(caller, model, { prompt: 'a'.repeat(charactersMax) })) {
        await caller.taken(send(), plainCostNano(model));
      }
      for (const send of both(caller, model, { prompt: 'a'.repeat(charactersMax + 1) })) {
        await caller.refused(send, badRequest('prompt'));
      }
    });
  }

  it('8 a prompt for dall-e-3, which cannot edit, has at most 4000 characters', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const send = (characters: number) => caller.generate({ model: 'dall-e-3', prompt: 'a'.repeat(characters) });
    await caller.taken(send(4000), plainCostNano('dall-e-3'));
    await caller.refused(() => send(4001), badRequest('prompt'));
  });

  it('8 an edit has 1 to 16 images, with dall-e-2 one', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const send = (model: string, count: number) => {
      const images = Array.from({ length: count }, () => file('image[]', png()));
      return caller.edit(form([text('model', model), text('prompt', 'p'), ...images]));
    };
    for (const [model, most] of [...gptImageModels.map((each) => [each, 16] as const), ['dall-e-2', 1]] as const) {
      await caller.taken(send(model, 1), plainCostNano(model));
      await caller.taken(send(model, most), plainCostNano(model));
      for (const count of [0, most + 1]) await caller.refused(() => send(model, count), badRequest('image'));
    }
  });

  it('8 an image or mask for dall-e-2 is under 4 MB', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const send = (...files: Part[]) => caller.edit(form([text('model', 'dall-e-2'), text('prompt', 'p'), ...files]));
    const [fits, exceeds] = [png(64, 64, 4 * MEGABYTE - 1), png(64, 64, 4 * MEGABYTE)];
    await caller.taken(send(file('image', fits), file('mask', fits)), plainCostNano('dall-e-2'));
    await caller.refused(() => send(file('image', exceeds)), badRequest('image[0]'));
    await caller.refused(() => send(file('image', fits), file('mask', exceeds)), badRequest('mask'));
  });

  it('8 the longest prompt fits into the body limit of a generation', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const body = { model: 'gpt-image-1', prompt: 'p', other: 'x'.repeat(3 * MEGABYTE) };
    await caller.taken(caller.generate(body), plainCostNano('gpt-image-1'));
  });
});

describe('8 The body gate of edits, at a lower limit than its own', () => {
  let gateway: TestGateway;
  before(async () => {
    gateway = await startImageGateway({ server: `editBodyLimit: ${EDIT_BODY_BYTES_MAX}` });
  });
  after(() => gateway.stop());

  const tooLarge = { status: 413, code: 'request_too_large' };

  /** A form of exactly this size, padded in an unknown part. */
  function formOf(sizeBytes: number): Buffer {
    const parts = (padding: number) =>
      form([text('model', UNKNOWN_MODEL), ...editParts, text('x', 'a'.repeat(padding))]);
    const body = parts(sizeBytes - parts(0).length);
    assert.equal(body.length, sizeBytes);
    return body;
  }

  it('8 a form of exactly the limit is accepted, and one byte more is 413', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const request = await caller.taken(caller.edit(formOf(EDIT_BODY_BYTES_MAX)), plainCostNano(UNKNOWN_MODEL));
    assert.deepEqual(request.body, formOf(EDIT_BODY_BYTES_MAX));
    await caller.refused(() => caller.edit(formOf(EDIT_BODY_BYTES_MAX + 1)), tooLarge);
  });

  it('8 the limit applies to the decoded form', async () => {
    const caller = await ImageCaller.create(gateway);
    gateway.provider.respond = json(200, imagesBody());
    const send = (sizeBytes: number) => caller.edit(gzipSync(formOf(sizeBytes)), { 'content-encoding': 'gzip' });
    await caller.taken(send(EDIT_BODY_BYTES_MAX), plainCostNano(UNKNOWN_MODEL));
    await caller.refused(() => send(EDIT_BODY_BYTES_MAX + 1), tooLarge);
  });

  it('8 a length over the limit is 413 before a byte of the form is sent, and without asking for it', async () => {
    const caller = await ImageCaller.create(gateway);
    for (const expectation of [[], [['expect', '100-continue']]] as const) {
      const connection = await openConnection(gateway.url);
      const headers = [
        ['authorization', `Bearer ${caller.account.key}`],
        ['content-type', formType()],
        ['content-length', String(EDIT_BODY_BYTES_MAX + 1)],
        ...expectation,
      ] as const;
      connection.write(requestBytes({ path: EDITS, headers }));
      const response = await connection.response();
      assert.deepEqual([response.status, response.headers.connection], [413, 'close']);
      assert.equal(JSON.parse(response.body.toString()).error.code, 'request_too_large');
      await connection.closed();
    }
    await caller.unpaid();
  });

  it('8 a form in chunks is 413 as soon as it is over the limit, and is read no further', async () => {
    const caller = await ImageCaller.create(gateway);
    const before = gateway.provider.requests.length;
    const connection = await openConnection(gateway.url);
    const headers = [
      ['authorization', `Bearer ${caller.account.key}`],
      ['content-type', formType()],
      ['transfer-encoding', 'chunked'],
    ] as const;
    connection.write(requestBytes({ path: EDITS, headers }));
    const bytes = formOf(EDIT_BODY_BYTES_MAX + 1);
    for (let at = 0; at < bytes.length; at += 65_536) {
      const chunk = bytes.subarray(at, at + 65_536);
      connection.write(Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]));
    }
    // The last chunk, which would end the body, is never sent.
    const response = await connection.response();
    assert.deepEqual([response.status, response.headers.connection], [413, 'close']);
    await connection.closed();
    assert.equal(gateway.provider.requests.length, before);
    await caller.unpaid();
  });
});
