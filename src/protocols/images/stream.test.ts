import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventMeaning, StreamReading } from '../metering/stream-reading.ts';
import { type ImageCount, noUsage, type Usage } from '../metering/usage-facts.ts';
import { type RequestedStream, readImagesStream } from './stream.ts';

const one: RequestedStream = { count: 1, quality: null, size: null };
type Kind = 'image_generation' | 'image_edit';
const kinds: readonly Kind[] = ['image_generation', 'image_edit'];

function eventOf(type: string, rest: object = {}): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`);
}

const usage = {
  input_tokens: 50,
  input_tokens_details: { text_tokens: 20, image_tokens: 30 },
  output_tokens: 400,
  total_tokens: 450,
};
const tokens: Usage = { ...noUsage, inputTokens: 20, imageInputTokens: 30, imageOutputTokens: 400 };

const b64_json = 'iVBORw0KGgo+/error/completed='.repeat(10);
const look = { created_at: 1, size: '1024x1024', quality: 'high', background: 'opaque', output_format: 'png' };

const partial = (kind: Kind, index = 0): Buffer =>
  eventOf(`${kind}.partial_image`, { b64_json, ...look, partial_image_index: index });
const completed = (kind: Kind, rest: object = {}): Buffer =>
  eventOf(`${kind}.completed`, { b64_json, ...look, usage, ...rest });

const image = (count: number, quality: string | null = 'high', size: string | null = '1024x1024'): ImageCount => ({
  quality,
  size,
  count,
});

/** Reads an event like the tap, only if it matters. */
function read(reading: StreamReading, event: Buffer): EventMeaning | 'unread' {
  return reading.matters(event) ? reading.read(event) : 'unread';
}

describe('a stream of images', () => {
  for (const kind of kinds) {
    it(`ends with ${kind}.completed, which contains the usage`, () => {
      for (const basis of ['tokens', 'images'] as const) {
        const reading = readImagesStream(one, basis);
        assert.equal(read(reading, partial(kind)), 'pass');
        assert.equal(read(reading, Buffer.from(': ping\n\n')), 'pass');
        assert.equal(reading.usage(), null);
        assert.equal(reading.canEndHere, false);
        assert.equal(read(reading, completed(kind)), 'terminal');
        assert.deepEqual(reading.usage(), { ...tokens, images: [image(1)] });
        assert.equal(reading.canEndHere, true);
      }
    });

    it(`uses the event name or the type if ${kind} has only one of them`, () => {
      const data = JSON.stringify({ b64_json, usage });
      const typed = JSON.stringify({ b64_json, usage, type: `${kind}.completed` });
      for (const event of [
        `event: ${kind}.completed\ndata: ${data}\n\n`,
        `data: ${typed}\n\n`,
        `event: message\r\ndata: ${typed}\r\n\r\n`,
        `\ufeffdata:${typed}\n\n`,
        `: comment\ndata: ${typed}`,
        `event:${kind}.completed\ndata: {\ndata: "b64_json":"a",\ndata: "usage":${JSON.stringify(usage)}}\n\n`,
      ]) {
        const reading = readImagesStream(one, 'tokens');
        assert.equal(read(reading, Buffer.from(event)), 'terminal', event);
        assert.deepEqual(reading.usage(), { ...tokens, images: [image(1, null, null)] });
      }
    });
  }

  it('counts the images of every event, whatever its name and the position of the image', () => {
    const cases: readonly [event: string, count: number][] = [
      [
        'event: image_generation.partial_succeeded\ndata: {"type":"image_generation.partial_succeeded","url":"a"}\n\n',
        1,
      ],
      ['data: {"type":"image_edit.partial_succeeded","image_index":0,"b64_json":"aaaa"}\n\n', 1],
      ['event: picture\ndata: {"url":"a","b64_json":"b"}\n\n', 1],
      ['data: {"object":"image.generation.chunk","data":[{"b64_json":"a"},{"url":"b"},{"error":{"code":"c"}}]}\n\n', 2],
      ['data: {"data":{"url":"a"}}\n\n', 1],
      ['data: {"image":{"url":"a"}}\n\n', 1],
      ['data: {"images":[{"url":"a"}]}\n\n', 1],
      ['data: {"url":null,"b64_json":""}\n\n', 0],
      ['data: {"input":{"image":{"url":"a"}},"image":"a","usage":{"url":"a"}}\n\n', 0],
      ['data: {"type":"response.image_generation_call.partial_image","partial_image_b64":"a"}\n\n', 0],
      ['data: {"type":"a.preview","b64_json":"a","partial_image_index":0}\n\n', 0],
      ['data: {"type":"image_edit.partial_image","b64_json":"a"}\n\n', 0],
      ['event: message\ndata: {"b64_json":"a","type":"image_generation.partial_image"}\n\n', 0],
    ];
    for (const [event, count] of cases) {
      const reading = readImagesStream({ ...one, count: 4 }, 'images');
      assert.equal(read(reading, Buffer.from(event)), 'pass', event);
      assert.deepEqual(reading.usage()?.images ?? [], count === 0 ? [] : [image(count, null, null)], event);
      assert.equal(reading.canEndHere, count > 0, event);
    }
  });

  it('ends with an event with only usage, or with [DONE], after at least one result', () => {
    const failed = '{"type":"image_generation.partial_failed","image_index":1,"error":{"code":"c","message":"m"}}';
    const url = '{"type":"image_generation.partial_succeeded","url":"a"}';
    const ark = { generated_images: 1, output_tokens: 16_384, total_tokens: 16_384 };
    for (const end of [`{"type":"image_generation.completed","usage":${JSON.stringify(ark)}}`, '[DONE]']) {
      const reading = readImagesStream({ ...one, count: 15 }, 'images');
      assert.equal(read(reading, Buffer.from(`data: ${end}\n\n`)), 'pass');
      assert.equal(reading.canEndHere, false);
      for (const data of [url, failed, url]) assert.equal(read(reading, Buffer.from(`data: ${data}\n\n`)), 'pass');
      assert.equal(read(reading, Buffer.from(`data: ${end}\n\n`)), 'terminal');
      assert.deepEqual(reading.usage()?.images, [image(2, null, null)]);
      const failing = readImagesStream({ ...one, count: 15 }, 'tokens');
      assert.equal(read(failing, Buffer.from(`data: ${failed}\n\n`)), 'pass');
      assert.equal(read(failing, Buffer.from(`data: ${end}\n\n`)), 'terminal');
      assert.deepEqual(failing.usage(), noUsage, 'failed pictures cost nothing');
    }
  });

  it('forwards partial images in the same chunk as an event to be parsed', () => {
    const reading = readImagesStream(one, 'tokens');
    assert.equal(reading.matters(Buffer.concat([partial('image_edit'), completed('image_edit')])), true);
    assert.equal(reading.read(partial('image_edit')), 'pass');
    assert.equal(reading.read(Buffer.from('\n')), 'pass');
  });

  it('estimates nothing from text or from a partly read report', () => {
    const reading = readImagesStream(one, 'tokens');
    assert.equal(reading.isNeverEstimated, true);
    assert.equal(reading.written, null);
    assert.equal(reading.partialUsage(), null);
  });
});

describe('a stream of several images', () => {
  it('ends with the last one requested, and adds the usage of each', () => {
    const reading = readImagesStream({ ...one, count: 3 }, 'tokens');
    assert.equal(read(reading, completed('image_generation')), 'pass');
    assert.deepEqual(reading.usage(), { ...tokens, images: [image(1)] });
    assert.equal(read(reading, partial('image_generation')), 'pass');
    assert.equal(read(reading, completed('image_generation', { quality: 'low' })), 'pass');
    const text = { output_tokens_details: { text_tokens: 100, image_tokens: 300 } };
    assert.equal(read(reading, completed('image_generation', { usage: { ...usage, ...text } })), 'terminal');
    assert.deepEqual(reading.usage(), {
      ...noUsage,
      inputTokens: 60,
      imageInputTokens: 90,
      outputTokens: 100,
      imageOutputTokens: 1100,
      images: [image(2), image(1, 'low')],
    });
  });

  it('can end cleanly after any image', () => {
    const reading = readImagesStream({ ...one, count: 4 }, 'images');
    assert.equal(reading.canEndHere, false);
    read(reading, completed('image_edit'));
    assert.equal(reading.canEndHere, true);
    assert.deepEqual(reading.usage(), { ...tokens, images: [image(1)] });
  });

  it('estimates the tokens of an image that was delivered without them', () => {
    for (const broken of [undefined, null, {}, { ...usage, total_tokens: undefined }, 'a'.repeat(70_000)]) {
      const byTokens = readImagesStream({ ...one, count: 3 }, 'tokens');
      const byImage = readImagesStream({ ...one, count: 3 }, 'images');
      for (const reading of [byTokens, byImage]) {
        assert.equal(read(reading, completed('image_edit')), 'pass');
        assert.equal(read(reading, completed('image_edit', { usage: broken })), 'pass');
        assert.equal(read(reading, completed('image_edit')), 'terminal');
      }
      assert.equal(byTokens.usage(), null);
      assert.equal(byTokens.isNeverEstimated, false);
      const estimate = { inputTokens: 40, imageInputTokens: 60, imageOutputTokens: 800 + 4_160 };
      assert.deepEqual(byTokens.partialUsage(), { ...noUsage, ...estimate, images: [image(3)] });
      const twice = { inputTokens: 40, imageInputTokens: 60, imageOutputTokens: 800 };
      assert.deepEqual(byImage.usage(), { ...noUsage, ...twice, images: [image(3)] });
    }
  });
});

describe('a completion event', () => {
  it('describes its image; the request counts only if the event has no description', () => {
    const request = { count: 1, quality: 'auto', size: '1536x864' };
    const cases: readonly [rest: object, image: ImageCount][] = [
      [{}, image(1)],
      [{ quality: null, size: undefined }, image(1, 'auto', '1536x864')],
      [{ quality: 7, size: {} }, image(1, 'auto', '1536x864')],
      [{ size: 's'.repeat(100_000) }, image(1, 'high', '1536x864')],
    ];
    const named = readImagesStream({ ...one, size: '2K' }, 'images');
    read(named, completed('image_edit', { size: '2496x1664' }));
    assert.deepEqual(named.usage()?.images, [{ ...image(1, 'high', '2496x1664'), sizeName: '2K' }]);
    for (const [rest, expected] of cases) {
      const reading = readImagesStream(request, 'images');
      assert.equal(read(reading, completed('image_edit', rest)), 'terminal');
      assert.deepEqual(reading.usage()?.images, [expected]);
    }
  });

  it('counts as an image only if it has the image or its address', () => {
    const cases: readonly [rest: object, isImage: boolean][] = [
      [{ b64_json: 'a' }, true],
      [{ b64_json: null, url: 'https://images.example/1' }, true],
      [{ b64_json: null }, false],
      [{ b64_json: '' }, false],
      [{ b64_json: undefined, url: null }, false],
      [{ b64_json: false }, false],
    ];
    for (const [rest, isImage] of cases) {
      const byImage = readImagesStream(one, 'images');
      assert.equal(read(byImage, completed('image_edit', rest)), 'terminal');
      assert.equal(byImage.usage() !== null, isImage, JSON.stringify(rest));
      const byTokens = readImagesStream(one, 'tokens');
      read(byTokens, completed('image_edit', rest));
      assert.deepEqual(byTokens.usage(), isImage ? { ...tokens, images: [image(1)] } : null);
    }
  });

  it('is ignored if its data is not the expected JSON object', () => {
    for (const data of [
      '',
      'null',
      '[]',
      '{"usage":',
      '"image_edit.completed"',
      '{"b64_json":"a"}}',
      '{"b64_json":"a',
    ]) {
      for (const basis of ['tokens', 'images'] as const) {
        const reading = readImagesStream(one, basis);
        assert.equal(read(reading, Buffer.from(`event: image_edit.completed\ndata: ${data}\n\n`)), 'pass');
        assert.equal(reading.usage(), null, data);
        assert.equal(reading.canEndHere, false);
      }
    }
    const dataless = readImagesStream(one, 'images');
    assert.equal(read(dataless, Buffer.from('event: image_edit.completed\n\n')), 'pass');
  });

  it('is interpreted like a JSON parser does if a key is duplicated or has escapes', () => {
    const reading = readImagesStream(one, 'tokens');
    const data = `{"type":"x","usage":1,"b64_json":"a","\\u0075sage":${JSON.stringify(usage)},"type":"image_edit.completed"}`;
    assert.equal(read(reading, Buffer.from(`data: ${data}\n\n`)), 'terminal');
    assert.deepEqual(reading.usage(), { ...tokens, images: [image(1, null, null)] });
  });

  it('is read even with a large image, wherever the usage is', () => {
    const large = 'iVBORw0KGgo+/'.repeat(600_000);
    for (const body of [
      { b64_json: large, usage },
      { usage, b64_json: large },
    ]) {
      const reading = readImagesStream(one, 'tokens');
      assert.equal(read(reading, eventOf('image_edit.completed', body)), 'terminal');
      assert.deepEqual(reading.usage(), { ...tokens, images: [image(1, null, null)] });
    }
  });
});

describe('a stream of images that fails', () => {
  const errors = [
    'event: error\ndata: {"type":"error","error":{"message":"overloaded"}}\n\n',
    'event:error\r\ndata: overloaded\r\n\r\n',
    'data: {"type":"error","message":"overloaded"}\n\n',
    'data: {"error":{"message":"overloaded"}}\n\n',
    'data: {"error":"overloaded"}\n\n',
    `event: message\ndata: {"error":{"message":"${'o'.repeat(100_000)}"}}\n\n`,
  ];
  for (const text of errors) {
    it(`is recognized: ${JSON.stringify(text.slice(0, 70))}`, () => {
      const reading = readImagesStream(one, 'images');
      assert.equal(read(reading, Buffer.from(text)), 'failed');
      assert.equal(reading.usage(), null);
      assert.equal(reading.canEndHere, false);
    });
  }

  it('keeps the usage of the images before the failure', () => {
    const reading = readImagesStream({ ...one, count: 2 }, 'tokens');
    read(reading, completed('image_generation'));
    assert.equal(read(reading, Buffer.from(errors[0]!)), 'failed');
    assert.deepEqual(reading.usage(), { ...tokens, images: [image(1)] });
  });

  it('is not recognized by text that merely mentions errors', () => {
    for (const text of [
      'event: errors\ndata: {"type":"x"}\n\n',
      'event: error\n\n',
      'data: {"error":null}\n\n',
      'data: {"error":false}\n\n',
      'data: {"error":""}\n\n',
      'data: {"a":{"error":"x"}}\n\n',
      'data: ["error"]\n\n',
      'data: "error"\n\n',
      'data: {"error"\n\n',
    ]) {
      const reading = readImagesStream(one, 'images');
      assert.equal(read(reading, Buffer.from(text)), 'pass', text);
    }
    const finished = readImagesStream(one, 'tokens');
    assert.equal(read(finished, completed('image_generation', { error: null })), 'terminal');
  });
});

describe('a large event', () => {
  const isNeeded = (beginning: string): boolean | undefined =>
    readImagesStream(one, 'tokens').isNeededWhole?.(Buffer.from(beginning));

  it('is forwarded in chunks if it begins like a partial image', () => {
    assert.equal(isNeeded(partial('image_edit').toString().slice(0, 200)), false);
    assert.equal(isNeeded('event: image_edit.partial_image\r\ndata: {"b64_json":"aaaa'), false);
    assert.equal(isNeeded('\nevent:image_edit.partial_image\n'), false);
    assert.equal(isNeeded('data: {"type":"image_edit.partial_image","b64_json":"aaaa'), false);
    assert.equal(isNeeded(': ping\ndata:  { "type" : "image_edit.partial_image" ,'), false);
  });

  it('counts as an image if it is too large to be parsed and not a preview', () => {
    const reading = readImagesStream({ ...one, size: '2K' }, 'images');
    reading.noteLarge?.(partial('image_edit').subarray(0, 200));
    assert.equal(reading.usage(), null);
    reading.noteLarge?.(Buffer.from('data: {"b64_json":"aaaa'));
    assert.deepEqual(reading.usage()?.images, [image(1, null, '2K')]);
  });

  it('is buffered as a whole if it may be anything else', () => {
    assert.equal(isNeeded(completed('image_edit').toString().slice(0, 200)), true);
    assert.equal(isNeeded('data: {"type":"image_edit.completed","b64_json":"aaaa'), true);
    assert.equal(isNeeded('event: error\ndata: {"message":"aaaa'), true);
    assert.equal(isNeeded('data: {"b64_json":"aaaa'), true);
    assert.equal(
      isNeeded('data: {"revised_prompt":"\\"type\\":\\"image_edit.partial_image\\"","b64_json":"aaaa'),
      true,
    );
    assert.equal(isNeeded('data: {"type":"image_edit.partial_image\\u0020'), true);
    assert.equal(isNeeded(`: ${'p'.repeat(1000)}`), true);
    assert.equal(isNeeded(''), true);
  });
});
