import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { imageSize } from 'image-size';
import { propertyRuns } from '../../test/support/scope.ts';
import { IMAGE_HEAD_BYTES_MAX, type ImageHead, readImageHead } from './image-head.ts';

function uint(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
}

function uintLE(value: number, bytes: number): Buffer {
  return uint(value, bytes).reverse();
}

function pngChunk(type: string, content: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), content]);
  return Buffer.concat([uint(content.length, 4), typed, uint(crc32(typed), 4)]);
}

/** A complete greyscale PNG. */
function png(width: number, height: number): Buffer {
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', Buffer.concat([uint(width, 4), uint(height, 4), Buffer.of(8, 0, 0, 0, 0)])),
    pngChunk('IDAT', deflateSync(Buffer.alloc(Math.min((width + 1) * height, 1000)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function segment(marker: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0xff, marker), uint(content.length + 2, 2), content]);
}

/** A JPEG up to its first scan. */
function jpeg(width: number, height: number, frame = 0xc0, metadata: readonly Buffer[] = []): Buffer {
  const size = Buffer.concat([Buffer.of(8), uint(height, 2), uint(width, 2), Buffer.of(1, 1, 0x11, 0)]);
  return Buffer.concat([
    Buffer.of(0xff, 0xd8),
    segment(0xe0, Buffer.from('JFIF\0\x01\x02\0\0\x01\0\x01\0\0', 'latin1')),
    ...metadata,
    segment(0xdb, Buffer.alloc(65, 1)),
    segment(frame, size),
    segment(0xda, Buffer.alloc(6)),
  ]);
}

function riff(type: string, content: Buffer): Buffer {
  const chunk = Buffer.concat([Buffer.from(type), uintLE(content.length, 4), content]);
  return Buffer.concat([Buffer.from('RIFF'), uintLE(chunk.length + 4, 4), Buffer.from('WEBP'), chunk]);
}

function webpLossy(width: number, height: number): Buffer {
  // The upper two bits of each size are a scale for viewers.
  const size = Buffer.concat([uintLE(width | 0x4000, 2), uintLE(height | 0xc000, 2)]);
  return riff('VP8 ', Buffer.concat([Buffer.of(0x30, 1, 0), Buffer.of(0x9d, 0x01, 0x2a), size, Buffer.alloc(20)]));
}

function webpLossless(width: number, height: number): Buffer {
  const bits = (((width - 1) | ((height - 1) << 14)) >>> 0) + 2 ** 28;
  return riff('VP8L', Buffer.concat([Buffer.of(0x2f), uintLE(bits, 4), Buffer.alloc(15)]));
}

function webpExtended(width: number, height: number): Buffer {
  return riff('VP8X', Buffer.concat([Buffer.of(0x10, 0, 0, 0), uintLE(width - 1, 3), uintLE(height - 1, 3)]));
}

/** A grey image of 37 by 21 pixels, baseline and progressive, written by the encoder of a Java runtime. */
const encodedJpegs = [
  '/9j/4AAQSkZJRgABAgAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wAALCAAVACUBAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/9oACAEBAAA/AKVFFFFFFFFFFFFFFf/Z',
  '/9j/4AAQSkZJRgABAgAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wgALCAAVACUBAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAP/2gAIAQEAAAABgAAf/8QAFBABAAAAAAAAAAAAAAAAAAAAMP/aAAgBAQABBQJ//8QAFBABAAAAAAAAAAAAAAAAAAAAMP/aAAgBAQAGPwJ//8QAFBABAAAAAAAAAAAAAAAAAAAAMP/aAAgBAQABPyF//9oACAEBAAAAEP8A/wD/xAAUEAEAAAAAAAAAAAAAAAAAAAAw/9oACAEBAAE/EH//2Q==',
].map((text) => Buffer.from(text, 'base64'));

const formats = { png, jpeg, webpLossy, webpLossless, webpExtended };

function unknownSize(format: ImageHead['format']): ImageHead {
  return { format, width: null, height: null };
}

describe('readImageHead', () => {
  for (const [name, encode] of Object.entries(formats)) {
    it(`reads the same size of ${name} as another reader`, () => {
      const side = fc.integer({ min: 1, max: 16_383 });
      fc.assert(
        fc.property(side, side, (width, height) => {
          const file = encode(width, height);
          const head = readImageHead(file);
          assert.deepEqual([head.width, head.height], [width, height]);
          assert.ok(name.startsWith(head.format));
          const other = imageSize(file);
          assert.deepEqual([other.width, other.height], [width, height]);
        }),
      );
    });

    it(`reads the same size of a truncated ${name}, or none`, () => {
      const file = encode(300, 200);
      let known = 0;
      for (let length = 0; length <= file.length; length++) {
        // Within a larger buffer, so that reading too far would find bytes.
        const { format, width, height } = readImageHead(Buffer.concat([file, file]).subarray(0, length));
        if (format === 'other') assert.ok(length < 12);
        if (width !== null) known++;
        assert.deepEqual([width, height], width === null ? [null, null] : [300, 200]);
      }
      assert.ok(known > 0 && known < file.length);
    });
  }

  it('reads images of an encoder', () => {
    for (const file of encodedJpegs) assert.deepEqual(readImageHead(file), { format: 'jpeg', width: 37, height: 21 });
  });

  it('reads every frame marker of JPEG, and no other marker', () => {
    for (let marker = 0xc0; marker <= 0xcf; marker++) {
      const isFrame = ![0xc4, 0xc8, 0xcc].includes(marker);
      const expected = isFrame ? { format: 'jpeg', width: 7, height: 9 } : unknownSize('jpeg');
      assert.deepEqual(readImageHead(jpeg(7, 9, marker)), expected);
    }
  });

  it('finds the size of a JPEG after metadata, fill bytes and markers without content', () => {
    const exif = segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), jpeg(1, 2), Buffer.alloc(60_000, 0xff)]));
    const profile = segment(0xe2, Buffer.alloc(65_533, 0xc0));
    const file = jpeg(640, 480, 0xc2, [exif, Buffer.of(0xff, 0xff), profile, Buffer.of(0xff, 0x01, 0xff, 0xd0), exif]);
    assert.ok(file.length < IMAGE_HEAD_BYTES_MAX);
    assert.deepEqual(readImageHead(file), { format: 'jpeg', width: 640, height: 480 });
  });

  it('returns only the format if the size is missing, invalid or beyond the head', () => {
    const brokenLength = Buffer.concat([Buffer.of(0xff, 0xd8, 0xff, 0xe0, 0, 0), jpeg(1, 1)]);
    for (const file of [jpeg(7, 0), brokenLength, Buffer.of(0xff, 0xd8, 0xff), Buffer.of(0xff, 0xd8, 0xff, 0xd9)]) {
      assert.deepEqual(readImageHead(file), unknownSize('jpeg'));
    }
    const otherFirst = Buffer.concat([png(1, 1).subarray(0, 8), pngChunk('CgBI', Buffer.alloc(4))]);
    for (const file of [png(0, 5), png(5, 0), png(2 ** 31, 1), otherFirst]) {
      assert.deepEqual(readImageHead(file), unknownSize('png'));
    }
    const interFrame = webpLossy(5, 5);
    interFrame[20] = 0x31;
    const noStartCode = webpLossy(5, 5);
    noStartCode[24] = 0;
    const noSignature = webpLossless(5, 5);
    noSignature[20] = 0;
    for (const file of [interFrame, noStartCode, noSignature, webpLossy(0, 5), riff('ICCP', Buffer.alloc(40))]) {
      assert.deepEqual(readImageHead(file), unknownSize('webp'));
    }
  });

  it('returns other for all other files', () => {
    for (const text of [
      '',
      'GIF89a\x01\0\x01\0',
      'RIFF\0\0\0\0WAVEfmt ',
      '<svg width="1" height="1"/>',
      'BM',
      '\xff\xd8',
    ]) {
      assert.deepEqual(readImageHead(Buffer.from(text, 'latin1')), unknownSize('other'));
    }
  });

  it('returns a valid result for any bytes', () => {
    const files = [...Object.values(formats).map((encode) => encode(300, 200)), ...encodedJpegs];
    const beginning = fc
      .constantFrom(...files)
      .chain((file) => fc.nat({ max: file.length }).map((n) => file.subarray(0, n)));
    const damage = fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }) });
    fc.assert(
      fc.property(
        beginning,
        fc.uint8Array({ maxLength: 300 }),
        fc.array(damage, { maxLength: 5 }),
        (start, rest, damages) => {
          const bytes = Buffer.concat([start, rest]);
          for (const { at, byte } of damages) if (bytes.length > 0) bytes[at % bytes.length] = byte;
          const { width, height } = readImageHead(bytes);
          assert.equal(width === null, height === null);
          for (const side of [width, height]) {
            assert.ok(side === null || (Number.isInteger(side) && side > 0 && side < 2 ** 31));
          }
        },
      ),
      { numRuns: propertyRuns(5000) },
    );
  });

  it('terminates for a JPEG of only fill bytes, or only empty segments', () => {
    for (const filler of [[0xff], [0xff, 0xe0, 0, 2], [0xff, 0xe0, 0, 0], [0xff, 0xd0], [0xff, 0xe0, 0xff, 0xff]]) {
      const file = Buffer.alloc(IMAGE_HEAD_BYTES_MAX, Buffer.from(filler));
      Buffer.of(0xff, 0xd8, 0xff, 0xff).copy(file);
      assert.deepEqual(readImageHead(file), unknownSize('jpeg'));
    }
  });
});
