import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../../test/support/scope.ts';
import { IMAGE_HEAD_BYTES_MAX } from '../../lib/image-head.ts';
import { EDIT_IMAGES_MAX, type EditForm, TEXT_PART_BYTES_MAX } from '../image-rules/edit.ts';
import { EditFormReader, type FormModelPlace } from './edit-form.ts';

const BOUNDARY = 'b0undary';

interface Part {
  readonly name: string;
  readonly content: Buffer;
}

function part(name: string, content: Buffer | string): Part {
  return { name, content: Buffer.from(content) };
}

function partBytes({ name, content }: Part): Buffer {
  const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), content, Buffer.from('\r\n')]);
}

function formBytes(parts: readonly Part[], preamble = ''): Buffer {
  return Buffer.concat([Buffer.from(preamble), ...parts.map(partBytes), Buffer.from(`--${BOUNDARY}--\r\n`)]);
}

function read(chunks: readonly Buffer[]): { form: EditForm; modelPlace: FormModelPlace } {
  const reader = new EditFormReader(BOUNDARY);
  for (const chunk of chunks) reader.push(chunk);
  return reader.finish();
}

function readParts(parts: readonly Part[], preamble?: string) {
  return read([formBytes(parts, preamble)]);
}

function cutAt(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [0, ...positions.map((position) => position % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

function assertRefused(work: () => unknown, param: string | null, message = /./): void {
  assert.throws(work, { kind: 'invalidRequest', param, message });
}

/** The beginning of a PNG with this size. */
function png(width: number, height: number): Buffer {
  const head = Buffer.alloc(24);
  head.write('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1');
  head.writeUInt32BE(width, 16);
  head.writeUInt32BE(height, 20);
  return head;
}

/** The body that the provider receives if its name of the model is inserted here. */
function withModel(bytes: Buffer, { start, end, before, after }: FormModelPlace, name: string): Buffer {
  return Buffer.concat([bytes.subarray(0, start), Buffer.from(`${before}${name}${after}`), bytes.subarray(end)]);
}

describe('the form of an image edit', () => {
  it('consists of texts, images in order, and a mask; other parts are skipped', () => {
    const { form } = readParts([
      part('mask', png(7, 8)),
      part('image[]', png(1, 2)),
      part('other', 'x'),
      part('size', 'auto'),
      part('image', Buffer.concat([png(3, 4), Buffer.alloc(100)])),
      part('prompt', ' p\n'),
      part('other', Buffer.of(0xff)),
    ]);
    assert.deepEqual(form, {
      texts: new Map([
        ['size', Buffer.from('auto')],
        ['prompt', Buffer.from(' p\n')],
      ]),
      images: [
        { sizeBytes: 24, format: 'png', width: 1, height: 2 },
        { sizeBytes: 124, format: 'png', width: 3, height: 4 },
      ],
      mask: { sizeBytes: 24, format: 'png', width: 7, height: 8 },
    });
  });

  it('is the same however its bytes are cut', () => {
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.constantFrom(`\r\n--${BOUNDARY.slice(0, -1)}`, '\r', '\r\n--', '--', '').map((text) => Buffer.from(text)),
      fc.constant(png(10, 20)),
    );
    const anyPart = fc.record({ name: fc.constantFrom('image', 'image[]', 'other', 'x'), content });
    const texts = fc.uniqueArray(
      fc.record({ name: fc.constantFrom('prompt', 'model', 'size', 'mask', 'n', 'user'), content }),
      { selector: ({ name }) => name },
    );
    const parts = fc
      .tuple(fc.array(anyPart, { maxLength: 8 }), texts)
      .chain(([some, others]) => fc.shuffledSubarray([...some, ...others], { minLength: some.length + others.length }));
    fc.assert(
      fc.property(parts, fc.array(fc.nat(), { maxLength: 12 }), fc.boolean(), (given, cuts, isByteByByte) => {
        const bytes = formBytes(given);
        const whole = read([bytes]);
        const chunks = isByteByByte ? Array.from(bytes, (byte) => Buffer.of(byte)) : cutAt(bytes, cuts);
        assert.deepEqual(read(chunks), whole);
        const named = (pattern: RegExp) => given.filter(({ name }) => pattern.test(name));
        const { texts, images, mask } = whole.form;
        assert.deepEqual(
          [...texts],
          named(/^(prompt|model|size|n|user)$/).map(({ name, content }) => [name, content]),
        );
        for (const [files, expected] of [
          [images, named(/^image/)],
          [mask === null ? [] : [mask], named(/^mask$/)],
        ] as const) {
          assert.deepEqual(
            files.map(({ sizeBytes }) => sizeBytes),
            expected.map(({ content }) => content.length),
          );
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('does not keep the chunks that it received', () => {
    const reader = new EditFormReader(BOUNDARY);
    const bytes = formBytes([part('prompt', 'Add a boat'), part('image', png(5, 6))]);
    for (const byte of bytes) {
      const chunk = Buffer.of(byte);
      reader.push(chunk);
      chunk.fill(0x2d);
    }
    const { form } = reader.finish();
    assert.equal(form.texts.get('prompt')!.toString(), 'Add a boat');
    assert.equal(form.images[0]!.width, 5);
  });

  it('has the dimensions of an image only if its beginning contains them, and always its length', () => {
    const metadata = (sizeBytes: number) => {
      const segments: Buffer[] = [Buffer.of(0xff, 0xd8)];
      for (let left = sizeBytes; left > 0; left -= 60_000) {
        const segment = Buffer.alloc(2 + Math.min(left, 60_000));
        segment.writeUInt16BE(0xffe1);
        segment.writeUInt16BE(segment.length - 2, 2);
        segments.push(segment);
      }
      return Buffer.concat([...segments, Buffer.from('ffc0000b080100020001011100', 'hex')]);
    };
    for (const [content, width, height] of [
      [metadata(200_000), 512, 256],
      [metadata(IMAGE_HEAD_BYTES_MAX), null, null],
    ] as const) {
      const [image] = readParts([part('image', content)]).form.images;
      assert.deepEqual(image, { sizeBytes: content.length, format: 'jpeg', width, height });
    }
  });
});

describe('the place of the model in a form', () => {
  it('is the content of its part, wherever the part is', () => {
    const name = fc.constantFrom('model', 'm'.repeat(100), '', 'gpt\r\n--b0undar');
    const others = fc.array(fc.constantFrom(part('prompt2', ' p\n'), part('image', png(1, 1)), part('x', '')), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(others, name, others, fc.constantFrom('', 'preamble\r\n'), (before, given, after, preamble) => {
        const form = (model: string) => formBytes([...before, part('model', model), ...after], preamble);
        const { modelPlace } = read([form(given)]);
        for (const sent of ['upstream-model', 'm', given]) {
          assert.deepEqual(withModel(form(given), modelPlace, sent), form(sent));
        }
      }),
    );
  });

  it('is before the first part if there is no model part', () => {
    const parts = [part('image', png(1, 1)), part('prompt', 'p'), part('model_id', 'x'), part('models', 'y')];
    for (const preamble of ['', 'preamble\r\n', '\r\n']) {
      const bytes = formBytes(parts, preamble);
      const sent = withModel(bytes, read([bytes]).modelPlace, 'upstream-model');
      assert.deepEqual(sent, formBytes([part('model', 'upstream-model'), ...parts], preamble));
    }
  });
});

describe('a form that cannot become valid', () => {
  /** Pushes bytes one part at a time. Only the last push is refused. */
  function assertRefusedAt(parts: readonly Part[], lastBytes: number, param: string): void {
    const reader = new EditFormReader(BOUNDARY);
    for (const each of parts.slice(0, -1)) reader.push(partBytes(each));
    const last = partBytes(parts.at(-1)!);
    const head = last.length - 2 - parts.at(-1)!.content.length;
    reader.push(last.subarray(0, head - 1));
    assertRefused(() => reader.push(last.subarray(head - 1, head + lastBytes)), param);
  }

  it('is refused when a duplicate text or mask begins', () => {
    for (const name of ['prompt', 'model', 'n', 'size', 'stream', 'user', 'mask']) {
      assertRefusedAt([part(name, 'a'), part('image', 'a'), part(name, 'b')], 0, name);
    }
  });

  it('is refused when one image too many begins, however the images are named', () => {
    const images = Array.from({ length: EDIT_IMAGES_MAX + 1 }, (_, index) =>
      part(index % 2 ? 'image' : 'image[]', 'a'),
    );
    assertRefusedAt(images, 0, 'image');
    assert.equal(readParts(images.slice(1)).form.images.length, EDIT_IMAGES_MAX);
    assert.equal(readParts([...images.slice(1), part('images', 'a')]).form.images.length, EDIT_IMAGES_MAX);
  });

  it('is refused if a text is too long', () => {
    const longest = 'a'.repeat(TEXT_PART_BYTES_MAX);
    for (const name of ['prompt', 'user']) {
      assert.equal(
        readParts([part(name, longest)])
          .form.texts.get(name)!
          .toString(),
        longest,
      );
      assertRefusedAt([part(name, `${longest}aaa`)], TEXT_PART_BYTES_MAX + 1, name);
    }
    assert.equal(readParts([part('other', `${longest}a`)]).form.texts.size, 0);
  });

  it('is refused if other servers could mistake the name of a part for one that is read', () => {
    for (const [name, param] of [
      ['Model', 'model'],
      ['\u017fize', 'size'],
      ['N', 'n'],
      ['size[]', 'size'],
      ['n[0]', 'n'],
      ['model.x', 'model'],
      [' model', 'model'],
      ['\u0085model', 'model'],
      ['\u00a0model\u200b', 'model'],
      ['%6dodel', 'model'],
      ['Quality', 'quality'],
      ['output-format', 'output_format'],
      ['image[0]', 'image'],
      ['Image', 'image'],
      ['mask[]', 'mask'],
      ['_charset_', '_charset_'],
    ] as const) {
      assertRefusedAt([part('prompt', 'p'), part(name, 'x')], 0, param);
    }
  });

  it('is refused if a text has a file name, even an empty one', () => {
    for (const filename of ['filename=""', 'filename="a.txt"', "filename*=UTF-8''a"]) {
      for (const name of ['prompt', 'model', 'n', 'quality', 'stream']) {
        const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"; ${filename}\r\n\r\n`;
        assertRefused(() => read([Buffer.from(head)]), name, /must not have a file name/);
      }
    }
  });

  it('is refused if a text has a charset in which other servers read another text', () => {
    const headOf = (type: string) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="size"\r\nContent-Type: ${type}\r\n\r\n1\r\n--${BOUNDARY}--`;
    for (const type of [
      'text/plain; charset=utf-7',
      'text/plain; charset=utf-16',
      "text/plain; charset*=UTF-8''x",
      '"',
    ]) {
      assertRefused(() => read([Buffer.from(headOf(type))]), 'size', /charset other than UTF-8/);
    }
    for (const type of ['text/plain', 'text/plain; charset=UTF-8', 'text/plain;charset="iso-8859-1"', 'a/b; c=d']) {
      assert.equal(
        read([Buffer.from(headOf(type))])
          .form.texts.get('size')!
          .toString(),
        '1',
      );
    }
  });

  it('is refused with the offset of a syntax error', () => {
    const bytes = formBytes([part('prompt', 'p')]);
    assertRefused(() => read([Buffer.from(bytes.toString().replace('form-data', 'attachment'))]), null, /at byte 6\d/);
    assertRefused(() => read([]), null, /the boundary does not occur \(at byte 0\)/);
    const end = bytes.length - 6;
    assertRefused(() => read([bytes.subarray(0, end)]), null, new RegExp(`missing \\(at byte ${end}\\)`));
  });
});

describe('the digest of a form', () => {
  /** A part as a client may write it; `null`: without file name or type. */
  interface SentPart {
    readonly name: string;
    readonly filename: string | null;
    readonly contentType: string | null;
    /** An additional header that few clients send. */
    readonly language: string | null;
    readonly content: string;
  }

  function sentBytes(parts: readonly SentPart[], boundary: string, preamble: string, epilogue: string): Buffer {
    const pieces = parts.map(({ name, filename, contentType, language, content }) => {
      const file = filename === null ? '' : `; filename="${filename}"`;
      const type = contentType === null ? '' : `\r\nContent-Type: ${contentType}`;
      const more = language === null ? '' : `\r\nContent-Language: ${language}`;
      const head = `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}${type}${more}`;
      return `${head}\r\n\r\n${content}\r\n`;
    });
    return Buffer.from(`${preamble}${pieces.join('')}--${boundary}--\r\n${epilogue}`);
  }

  function digestOf(chunks: readonly Buffer[], boundary: string): string {
    const taken: Buffer[] = [];
    const reader = new EditFormReader(boundary, { add: (bytes) => taken.push(Buffer.from(bytes)) });
    for (const chunk of chunks) reader.push(chunk);
    reader.finish();
    return Buffer.concat(taken).toString('latin1');
  }

  // Texts that a digest of merely concatenated parts could not distinguish.
  const piece = fc.constantFrom(
    'a',
    '\n',
    '\n1',
    '\n["other",null,null]\n',
    '\n["image",null,null]\n',
    '0',
    '\r\n',
    ']',
  );
  const sentPart: fc.Arbitrary<SentPart> = fc.record({
    name: fc.constantFrom('image', 'image[]', 'other', 'another'),
    filename: fc.constantFrom(null, '', 'a.png'),
    contentType: fc.constantFrom(null, 'image/png'),
    language: fc.constantFrom(null, 'en'),
    content: fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join('')),
  });
  const sentParts = fc.array(sentPart, { minLength: 1, maxLength: 4 });
  const boundaries = fc.stringMatching(/^[a-z0-9]{8,20}-x$/);
  const cuts = fc.array(fc.nat(2_000), { maxLength: 8 });

  it('does not depend on the boundary, the text around the parts, or how the bytes are cut', () => {
    fc.assert(
      fc.property(sentParts, boundaries, boundaries, cuts, (parts, one, other, positions) => {
        const expected = digestOf([sentBytes(parts, one, '', '')], one);
        const bytes = sentBytes(parts, other, 'preamble\r\n', 'epilogue');
        assert.equal(digestOf(cutAt(bytes, positions), other), expected);
      }),
    );
  });

  it('differs for every other form', () => {
    const reordered = sentParts.chain((parts) => fc.tuple(fc.constant(parts), fc.shuffledSubarray(parts)));
    fc.assert(
      fc.property(fc.oneof(fc.tuple(sentParts, sentParts), reordered), ([one, other]) => {
        if (other.length === 0) return;
        const digests = [one, other].map((parts) => digestOf([sentBytes(parts, BOUNDARY, '', '')], BOUNDARY));
        assert.equal(digests[0] === digests[1], JSON.stringify(one) === JSON.stringify(other));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it('differs between one part and two, and between a file and a text', () => {
    const text: SentPart = { name: 'other', filename: null, contentType: null, language: null, content: 'ab' };
    const digests = [
      [text],
      [
        { ...text, content: 'a' },
        { ...text, content: 'b' },
      ],
      [{ ...text, filename: '' }],
      [{ ...text, contentType: 'text/plain' }],
      [{ ...text, language: 'en' }],
      [{ ...text, content: 'ac' }],
      [{ ...text, name: 'another' }],
      [text, { ...text, content: '' }],
    ].map((parts) => digestOf([sentBytes(parts, BOUNDARY, '', '')], BOUNDARY));
    assert.equal(new Set(digests).size, digests.length);
  });
});
