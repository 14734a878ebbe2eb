import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { captureResponse } from '../../../test/support/captured.ts';
import { assertRefused } from '../../../test/support/request-input.ts';
import { estimateTokens } from '../metering/estimate.ts';
import { imageEdit } from './image-edit.ts';
import type { CallInput, StoredBody, StoredUpload } from './operation.ts';

const BOUNDARY = 'b0undary';
const TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

const png = Buffer.alloc(24);
png.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x40\0\0\0\x40', 'latin1');

type Parts = readonly (readonly [name: string, content: string | Buffer])[];

const usual: Parts = [
  ['image', png],
  ['prompt', 'Add a boat'],
];

function formBytes(parts: Parts): Buffer {
  const pieces = parts.flatMap(([name, content]) => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

/** An upload in memory that is read in chunks of a few bytes. */
function storedOf(bytes: Buffer): StoredUpload {
  return {
    sizeBytes: bytes.length,
    async *read(start = 0, end = bytes.length) {
      for (let at = start; at < end; at += 5) yield bytes.subarray(at, Math.min(at + 5, end));
    },
  };
}

function inspect(parts: Parts): CallInput {
  const bytes = formBytes(parts);
  const reader = imageEdit.receive(TYPE);
  reader.push(bytes);
  return reader.finish(storedOf(bytes));
}

/** The body that the provider receives, after a check of its announced length. */
async function sent(input: CallInput, providerModel: string): Promise<Buffer> {
  const body = input.toProvider(providerModel) as StoredBody;
  const pieces: Buffer[] = [];
  for await (const piece of body.read()) pieces.push(piece);
  const bytes = Buffer.concat(pieces);
  assert.equal(body.sizeBytes, bytes.length);
  return bytes;
}

describe('an image edit', () => {
  it('accepts multipart/form-data with a boundary, and refuses other types before reading a byte', () => {
    for (const type of [undefined, '', 'application/json', 'multipart/form-data', 'multipart/mixed; boundary=b']) {
      assert.throws(() => imageEdit.receive(type), { kind: 'unsupportedMediaType' });
    }
  });

  it('is sent with its own content type, which has only the boundary from the client', () => {
    for (const [type, sentType] of [
      [TYPE, TYPE],
      [
        `multipart/form-data; charset=utf-16;  boundary="${BOUNDARY}"; x=y`,
        `multipart/form-data; boundary=${BOUNDARY}`,
      ],
    ]) {
      const reader = imageEdit.receive(type);
      const bytes = formBytes(usual);
      reader.push(bytes);
      assert.equal(reader.finish(storedOf(bytes)).contentType, sentType);
    }
  });

  it('is sent unchanged except for the model, wherever its part is', async () => {
    for (let place = 0; place <= usual.length; place++) {
      const parts = (model: string): Parts => usual.toSpliced(place, 0, ['model', model]);
      const input = inspect(parts('gpt-image-2'));
      assert.equal(input.model, 'gpt-image-2');
      for (const name of ['m', 'gpt-image-2', 'a-much-longer-name-of-the-model']) {
        assert.deepEqual(await sent(input, name), formBytes(parts(name)));
      }
    }
  });

  it('reserves the maximum number of images that any server may read in it', () => {
    assert.equal(inspect(usual).choices, 1);
    assert.equal(inspect([...usual, ['n', '2'], ['n[]', '4'], ['n[]', '3']]).choices, 4);
    assert.equal(inspect([...usual, ['n', '5'], ['n[]', '4']]).choices, 5);
    for (const text of ['0', '11', '1e1', '', ' 4', '04', '4'.repeat(100_000)]) {
      assertRefused(() => inspect([...usual, ['n[]', text]]), 'n');
    }
  });

  it('can be sent repeatedly', async () => {
    const input = inspect([['model', 'm'], ...usual]);
    for (const name of ['upstream', 'upstream', 'another']) {
      assert.deepEqual(await sent(input, name), formBytes([['model', name], ...usual]));
    }
  });

  it('uses the default model if it names none, in a part inserted at the beginning', async () => {
    const input = inspect(usual);
    assert.equal(input.model, 'gpt-image-1.5');
    for (const name of ['upstream', 'gpt-image-1.5']) {
      assert.deepEqual(await sent(input, name), formBytes([['model', name], ...usual]));
    }
  });

  it('is streamed only on request, with the requested number of images', () => {
    assert.deepEqual([inspect(usual).isStream, inspect(usual).choices], [false, 1]);
    const input = inspect([...usual, ['stream', 'true'], ['n', '4']]);
    assert.deepEqual([input.isStream, input.choices], [true, 4]);
    assert.equal(inspect([...usual, ['stream', 'false']]).isStream, false);
    assert.equal(input.demand.outputTokensLimit, null);
    assert.deepEqual(input.continuationKeys, []);
  });

  it('is reserved by its prompt and number of images, not by their bytes', () => {
    const prompt = '船'.repeat(400);
    const parts: Parts = [
      ['prompt', prompt],
      ['image[]', Buffer.concat([png, Buffer.alloc(100_000)])],
      ['image[]', png],
    ];
    assert.equal(inspect(parts).inputTokensEstimate, estimateTokens(1200) + 2 * 8_000);
  });

  it('is validated against its model', () => {
    const input = inspect([...usual, ['quality', 'high']]);
    input.checkFor('gpt-image-2');
    input.checkFor('some-other-model');
    assertRefused(() => input.checkFor('dall-e-2'), 'quality');
    assert.throws(() => input.checkFor('dall-e-3'), { kind: 'modelLacksOperation' });
  });

  it('is refused with the part that is wrong, as early as possible', () => {
    const reader = imageEdit.receive(TYPE);
    const twice = formBytes([['n', '1'], ...usual, ['n', '1']]);
    assertRefused(() => reader.push(twice), 'n');
    for (const [parts, param] of [
      [[['prompt', 'p']], 'image'],
      [[['image', png]], 'prompt'],
      [[...usual, ['n', '0']], 'n'],
    ] as const) {
      assertRefused(() => inspect(parts), param);
    }
  });

  it('is charged by the images that the response describes, or else by the request', () => {
    const usage = (parts: Parts) => {
      const { response } = inspect(parts);
      const body = JSON.stringify({ created: 1, usage: null, data: [{ b64_json: 'a' }, { url: 'b' }] });
      return response.usage(captureResponse(response, body), 'images')?.images;
    };
    assert.deepEqual(usage(usual), [{ quality: null, size: null, count: 2 }]);
    const images = usage([...usual, ['quality', 'low'], ['size', '1024x1024']]);
    assert.deepEqual(images, [{ quality: 'low', size: '1024x1024', count: 2 }]);
  });

  it('reads streams with the requested number of images', () => {
    const reading = inspect([...usual, ['n', '2'], ['quality', 'low'], ['stream', 'true']]).readStream('images');
    const completed = Buffer.from('event: image_edit.completed\ndata: {"b64_json":"aaaa"}\n\n');
    assert.equal(reading.read(completed), 'pass');
    assert.equal(reading.read(completed), 'terminal');
    assert.deepEqual(reading.usage()?.images, [{ quality: 'low', size: null, count: 2 }]);
  });
});
