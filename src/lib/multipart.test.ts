import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { propertyRuns } from '../../test/support/scope.ts';
import {
  MultipartParser,
  MultipartSyntaxError,
  multipartBoundary,
  multipartContentType,
  type PartHead,
} from './multipart.ts';

interface Part extends PartHead {
  readonly content: Buffer;
  readonly contentEnd: number;
}

interface Reading {
  readonly parts: readonly Part[];
  readonly firstBoundaryStart: number | null;
}

/** Parses the chunks, and checks the order of the calls of the sink. */
function read(chunks: readonly Buffer[], boundary = 'b'): Reading {
  const parts: Part[] = [];
  let head: PartHead | null = null;
  let content: Buffer[] = [];
  const parser = new MultipartParser(boundary, {
    partBegin(next) {
      assert.equal(head, null);
      head = next;
      content = [];
    },
    partData(bytes) {
      assert.notEqual(head, null);
      assert.ok(bytes.length > 0);
      content.push(Buffer.from(bytes));
    },
    partEnd(contentEnd) {
      assert.ok(head !== null);
      parts.push({ ...head, content: Buffer.concat(content), contentEnd });
      head = null;
    },
  });
  for (const chunk of chunks) parser.push(chunk);
  parser.end();
  assert.equal(head, null);
  return { parts, firstBoundaryStart: parser.firstBoundaryStart };
}

function readText(text: string, boundary?: string): Reading {
  return read([Buffer.from(text)], boundary);
}

function eachByte(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (byte) => Buffer.of(byte));
}

function cutAt(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const cuts = [0, ...positions.map((position) => position % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, i) => bytes.subarray(cuts[i], end));
}

/** A body of one part with these header lines. */
function withHeaders(...lines: readonly string[]): string {
  return `--b\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\ncontent\r\n--b--\r\n`;
}

function withDisposition(value: string): string {
  return withHeaders(`Content-Disposition: ${value}`);
}

/** A body of one part with this content. */
function inPart(content: string): string {
  return `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${content}\r\n--b--\r\n`;
}

/** The body must be refused as a whole and byte by byte, with the same offset. */
function assertSyntaxError(text: string, message: RegExp): void {
  const offsets = [[Buffer.from(text)], eachByte(Buffer.from(text))].map((chunks) => {
    let offset = -1;
    assert.throws(
      () => read(chunks),
      (error) => {
        assert.ok(error instanceof MultipartSyntaxError, String(error));
        assert.match(error.message, message);
        assert.ok(error.offset >= 0 && error.offset <= text.length);
        offset = error.offset;
        return true;
      },
    );
    return offset;
  });
  assert.equal(offsets[0], offsets[1]);
}

const form = [
  'preamble\r\n--b\r\n',
  'Content-Disposition: form-data; name="prompt"\r\n\r\n',
  ' two\r\nlines \r\n--b\r\n',
  'content-disposition:form-data; filename="a.png"; name="image[]"\r\nContent-Type: image/png\r\nX-Note:  one \r\n\r\n',
  '\r\n--\r\n--a\r\n\r\n--b\r\n',
  'Content-Disposition: form-data; name="empty"\r\n\r\n',
  '\r\n--b--\r\nepilogue\r\n-b\r\n',
].join('');

describe('MultipartParser', () => {
  it('reads heads, contents and offsets in any chunks', () => {
    const bytes = Buffer.from(form);
    for (let at = 0; at <= bytes.length; at++) {
      const { parts, firstBoundaryStart } = read([bytes.subarray(0, at), bytes.subarray(at)]);
      assert.deepEqual(
        parts.map(({ name, filename, contentType, headers, content }) => [
          name,
          filename,
          contentType,
          [...headers],
          content.toString(),
        ]),
        [
          ['prompt', null, null, [], ' two\r\nlines '],
          ['image[]', 'a.png', 'image/png', [['x-note', 'one']], '\r\n--\r\n--a\r\n'],
          ['empty', null, null, [], ''],
        ],
      );
      for (const { contentStart, contentEnd, content } of parts) {
        assert.deepEqual(bytes.subarray(contentStart, contentEnd), content);
      }
      assert.equal(firstBoundaryStart, 'preamble\r\n'.length);
    }
    assert.equal(read(eachByte(bytes)).parts.length, 3);
  });

  it('finds the parts of generated bodies in any chunks', () => {
    const boundary = fc.constantFrom('b', '--', "----WebKitFormBoundary'x", '=_ _=', 'a'.repeat(70));
    const piece = fc.constantFrom('\r\n', '\r', '\n', '-', '--', 'a', 'b', '\r\n-', '\r\n--', '\r\n\r\n--', '\0', '你');
    const content = fc.oneof(
      fc.array(piece, { maxLength: 20 }).map((pieces) => Buffer.from(pieces.join(''))),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    );
    const name = fc.string({ unit: 'grapheme', maxLength: 10 }).filter((text) => !/[\p{Cc}"\\%]/u.test(text));
    const part = fc.record({ name, filename: fc.option(name), content }, { noNullPrototype: true });
    fc.assert(
      fc.property(
        boundary,
        fc.array(part, { maxLength: 5 }),
        fc.constantFrom('', 'preamble', '\r\n', '--'),
        fc.constantFrom('', '\r\n', '\r\nepilogue\n-\r\n'),
        fc.array(fc.nat({ max: 1500 }), { maxLength: 10 }),
        (text, parts, preamble, epilogue, positions) => {
          const dashBoundary = `--${text}`;
          const isFree = (latin: string) => !latin.includes(dashBoundary);
          fc.pre(
            parts.every(({ content, name, filename }) => isFree(`${content.toString('latin1')}"${name}"${filename}`)),
          );
          const pieces = [Buffer.from(preamble === '' ? '' : `${preamble}\r\n`)];
          for (const each of parts) {
            const filename = each.filename === null ? '' : `; filename="${each.filename}"`;
            const head = `Content-Disposition: form-data; name="${each.name}"${filename}\r\n\r\n`;
            pieces.push(Buffer.from(`--${text}\r\n${head}`), each.content, Buffer.from('\r\n'));
          }
          const bytes = Buffer.concat([...pieces, Buffer.from(`--${text}--${epilogue}`)]);
          const reading = read(cutAt(bytes, positions), text);
          assert.deepEqual(
            reading.parts.map((each) => ({ name: each.name, filename: each.filename, content: each.content })),
            parts,
          );
          for (const each of reading.parts) {
            assert.deepEqual(bytes.subarray(each.contentStart, each.contentEnd), each.content);
          }
          assert.equal(reading.firstBoundaryStart, pieces[0]!.length);
        },
      ),
      { numRuns: propertyRuns(2000) },
    );
  });

  it('treats a damaged body in the same way in any chunks', () => {
    const outcome = (chunks: readonly Buffer[]): unknown => {
      try {
        return read(chunks);
      } catch (error) {
        assert.ok(error instanceof MultipartSyntaxError, String(error));
        return [error.message, error.offset];
      }
    };
    const splinter = fc.oneof(
      fc.constantFrom('\r\n', '\n', '\r', '--', '--b', '\r\n--b', '--b--', '"', ';', ':', '\\', 'name=', '=', '*', '%'),
      fc.string({ maxLength: 3 }),
    );
    const change = fc.record({ at: fc.nat(), removed: fc.nat({ max: 12 }), added: splinter });
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat({ max: 700 }), { maxLength: 8 }),
        (changes, positions) => {
          let text = form;
          for (const { at, removed, added } of changes) {
            const start = at % (text.length + 1);
            text = text.slice(0, start) + added + text.slice(start + removed);
          }
          const bytes = Buffer.from(text);
          assert.deepEqual(outcome(cutAt(bytes, positions)), outcome([bytes]));
        },
      ),
      { numRuns: propertyRuns(3000) },
    );
  });

  it('reports where a part can be inserted before the first one', () => {
    const inserted = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nm\r\n';
    for (const body of [form, `--b--`, `--b--\r\n`, withDisposition('form-data; name="a"')]) {
      const before = readText(body);
      const at = before.firstBoundaryStart!;
      const after = readText(body.slice(0, at) + inserted + body.slice(at));
      assert.deepEqual(
        after.parts.map(({ name }) => name),
        ['model', ...before.parts.map(({ name }) => name)],
      );
      assert.equal(after.parts[0]!.content.toString(), 'm');
    }
  });

  it('passes content on at once unless it may belong to a boundary', () => {
    let received = 0;
    const parser = new MultipartParser('boundary', {
      partBegin: () => undefined,
      partData: (bytes) => {
        received += bytes.length;
      },
      partEnd: () => undefined,
    });
    parser.push(Buffer.from('--boundary\r\nContent-Disposition: form-data; name="a"\r\n\r\n'));
    const expect = (text: string, bytes: number): void => {
      parser.push(Buffer.from(text));
      assert.equal(received, bytes);
    };
    expect('0123456789', 10);
    expect('0123456789\r', 20);
    expect('\n', 20);
    expect('--boundar', 20);
    expect('\r\n', 31);
    expect('a', 34);
    expect('\r\r\n--b\r', 40);
  });

  // A search that restarts at every line would take minutes, and exceed the time limit of the run.
  it('reads megabytes of partial boundaries', () => {
    const boundary = 'a'.repeat(70);
    for (const content of ['\r', '\r\n', '\r\n--', 'a', `\r\n--${'a'.repeat(69)}`, `${'a'.repeat(69)}-`]) {
      const filler = Buffer.from(content.repeat(Math.ceil((4 * 1024 * 1024) / content.length)));
      const bytes = Buffer.concat([
        Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n`),
        filler,
        Buffer.from(`\r\n--${boundary}--`),
      ]);
      const chunks = Array.from({ length: Math.ceil(bytes.length / 65_521) }, (_, i) =>
        bytes.subarray(i * 65_521, (i + 1) * 65_521),
      );
      assert.ok(read(chunks, boundary).parts[0]?.content.equals(filler));
    }
  });

  describe('reads the names that clients write', () => {
    const cases: readonly [client: string, disposition: string, name: string, filename: string | null][] = [
      ['browsers and undici', 'form-data; name="a%22b%0D%0Ac"; filename="%22.png"', 'a"b\r\nc', '".png'],
      ['a browser with a backslash in the name', 'form-data; name="a"; filename="a\\b.png"', 'a', 'a\\b.png'],
      ['a browser with other escapes, which are text', 'form-data; name="a%20b%6d"', 'a%20b%6d', null],
      ['curl, in UTF-8', 'form-data; name="image"; filename="图.png"', 'image', '图.png'],
      ['older curl and Go', 'form-data; name="ab"; filename="c\\\\d;e=\\".png"', 'ab', 'c\\d;e=".png'],
      ['old Internet Explorer', 'form-data; name="a"; filename="C:\\dir\\b.png"', 'a', 'C:\\dir\\b.png'],
      ['.NET', "form-data; name=model; filename=a.png; filename*=utf-8''a.png", 'model', 'a.png'],
      [
        '.NET and aiohttp, not in ASCII',
        'form-data; name="image[]"; filename*=UTF-8\'\'%e5%9b%be.png',
        'image[]',
        '图.png',
      ],
      ['RFC 8187 in Latin-1', "form-data; name=a; filename=e; filename*=iso-8859-1'en'%E9", 'a', 'é'],
      ['no spaces', 'form-data;name="a";filename="b"', 'a', 'b'],
      ['capitals and spaces', 'Form-Data ; NAME="A" ;\tFileName="" ', 'A', ''],
      ['an empty name', 'form-data; name=""', '', null],
    ];
    for (const [client, disposition, name, filename] of cases) {
      it(`${client}: ${disposition}`, () => {
        const part = readText(withDisposition(disposition)).parts[0]!;
        assert.deepEqual([part.name, part.filename], [name, filename]);
      });
    }
  });

  it('accepts a Content-Transfer-Encoding that does not encode', () => {
    for (const encoding of ['binary', '8bit', '7BIT']) {
      const text = withHeaders('Content-Disposition: form-data; name=a', `Content-Transfer-Encoding: ${encoding}`);
      assert.equal(readText(text).parts[0]?.headers.get('content-transfer-encoding'), encoding);
    }
  });

  describe('refuses', () => {
    const disposition = 'Content-Disposition: form-data; name="a"';
    const cases: readonly [what: string, body: string, message: RegExp][] = [
      ['nothing', '', /boundary does not occur/],
      ['a body without its boundary', 'a=b', /boundary does not occur/],
      ['another boundary', '--c\r\n\r\n\r\n--c--', /boundary does not occur/],
      ['a boundary in the middle of a line', 'a--b--', /does not delimit a part/],
      [
        'a boundary after a bare LF before the first part',
        `x\n--b\r\n${withHeaders(disposition)}`,
        /does not delimit a part/,
      ],
      ['a boundary after a bare LF in a part', inPart('x\n--b\r\n'), /does not delimit a part/],
      ['a boundary after a bare CR in a part', inPart('x\r--b--'), /does not delimit a part/],
      ['a boundary at the beginning of a content of LF', inPart('\n--b\n'), /does not delimit a part/],
      ['a boundary after two CR in a part', inPart('x\r\r--bc'), /does not delimit a part/],
      ['a boundary in the middle of a line of a part', inPart('x --b y'), /does not delimit a part/],
      ['a boundary in a name', withDisposition('form-data; name="--b"'), /does not delimit a part/],
      ['a boundary in a header', withHeaders(disposition, 'X-A: --b--'), /does not delimit a part/],
      ['a part after the closing boundary', `${withHeaders(disposition)}x\r\n--b\r\nx`, /does not delimit a part/],
      ['a boundary after a bare LF after the closing one', `--b--\r\n\n--b`, /does not delimit a part/],
      ['a space after a boundary', `--b \r\n${disposition}\r\n\r\na\r\n--b--`, /not followed by the end of its line/],
      ['a tab after a boundary', `--b\t\r\n${disposition}\r\n\r\na\r\n--b--`, /not followed by the end of its line/],
      [
        'a space behind the closing boundary',
        `${withHeaders(disposition).trimEnd()} \r\n`,
        /not followed by the end of its line/,
      ],
      ['a body cut off in its headers', `--b\r\n${disposition}`, /closing boundary is missing/],
      ['a body cut off in its content', `--b\r\n${disposition}\r\n\r\na`, /closing boundary is missing/],
      ['a body cut off in its last boundary', `--b\r\n${disposition}\r\n\r\na\r\n--b-`, /closing boundary is missing/],
      ['text after a boundary', `--bc\r\n${disposition}\r\n\r\na\r\n--b--`, /not followed by the end of its line/],
      ['text after the space after a boundary', `--b c\r\n`, /not followed by the end of its line/],
      ['one hyphen after a boundary', `--b-\r\n`, /not followed by the end of its line/],
      ['text after the closing boundary', `--b--c`, /not followed by the end of its line/],
      ['a CR without LF after a boundary', `--b\r${disposition}`, /not followed by the end of its line/],
      ['LF alone after a boundary', `--b\n${disposition}\n\na\n--b--\n`, /LF instead of CRLF/],
      ['LF alone after the closing boundary', `--b--\n`, /LF instead of CRLF/],
      ['LF alone in the headers', `--b\r\n${disposition}\n\r\na\r\n--b--`, /LF instead of CRLF/],
      ['LF alone for the empty line', `--b\r\n${disposition}\r\n\na\r\n--b--`, /LF instead of CRLF/],
      ['CR alone in the headers', withHeaders(disposition, 'X-A: b\rc'), /contains a CR/],
      ['a boundary directly after the headers', `--b\r\n${disposition}\r\n\r\n--b--`, /directly follows/],
      ['a folded header', withHeaders('Content-Disposition: form-data;', ' name="a"'), /folded/],
      ['a header line without a colon', withHeaders(disposition, 'X-A'), /not "name: value"/],
      ['a space before the colon', withHeaders(`${disposition}`, 'X-A : b'), /not "name: value"/],
      ['a zero byte in the headers', withHeaders(disposition, 'X-A: \0'), /a control character/],
      ['a separator of ASCII in a name', withDisposition('form-data; name="\x1ca"'), /a control character/],
      ['a form feed in a header', withDisposition('form-data;\fname="a"'), /a control character/],
      [
        'a header that comes twice',
        withHeaders(disposition, disposition.toLowerCase()),
        /has the header content-disposition twice/,
      ],
      ['a part without headers', withHeaders(), /Content-Disposition/],
      ['another disposition', withDisposition('attachment; name="a"'), /Content-Disposition/],
      ['a parameter that comes twice', withDisposition('form-data; name="a"; NAME="b"'), /Content-Disposition/],
      ['a quotation without an end', withDisposition('form-data; name="a'), /Content-Disposition/],
      ['text after a quotation', withDisposition('form-data; name="a"b'), /Content-Disposition/],
      ['a parameter without a value', withDisposition('form-data; name'), /Content-Disposition/],
      ['a part without a name', withDisposition('form-data; filename="a"'), /no name/],
      ['a semicolon without a parameter', withDisposition('form-data; name="a";'), /Content-Disposition/],
      ['two semicolons', withDisposition('form-data;; name="a"'), /Content-Disposition/],
      ['a bare name that is no token', withDisposition('form-data; name=image[]'), /Content-Disposition/],
      ['a name in single quotes', withDisposition("form-data; name='a'"), /Content-Disposition/],
      ['a space before an equals sign', withDisposition('form-data; name ="a"'), /Content-Disposition/],
      ['a parameter of its own', withDisposition('form-data; name="a"; size=1'), /unknown parameter size/],
      ['a quotation mark in a name', withDisposition('form-data; name="a\\"b"'), /escape in its name/],
      ['a backslash in a name', withDisposition('form-data; name="mo\\\\del"'), /escape in its name/],
      ['a needless backslash in a name', withDisposition('form-data; name="mo\\del"'), /escape in its name/],
      ['a name in words of mail', withDisposition('form-data; name="=?utf-8?Q?model?="'), /escape in its name/],
      ['name*', withDisposition('form-data; name="a"; name*=utf-8\'\'model'), /parameter name\*/],
      ['a name in pieces', withDisposition('form-data; name="a"; name*0="model"'), /parameter name\*0/],
      ['a broken filename*', withDisposition('form-data; name="a"; filename*=a.png'), /filename\*/],
      ['a filename* that is not UTF-8', withDisposition('form-data; name="a"; filename*=utf-8\'\'%ff'), /filename\*/],
      ['base64', withHeaders(disposition, 'Content-Transfer-Encoding: base64'), /Content-Transfer-Encoding/],
      [
        'quoted-printable, which Go decodes',
        withHeaders(disposition, 'content-transfer-encoding: Quoted-Printable'),
        /Content-Transfer-Encoding/,
      ],
      [
        'parts within a part',
        withHeaders(disposition, 'Content-Type: Multipart/Mixed; boundary=c'),
        /a part is itself multipart/,
      ],
    ];
    for (const [what, body, message] of cases) it(what, () => assertSyntaxError(body, message));

    it('more parts than the limit', () => {
      const bodyOf = (parts: number): string => `${`--b\r\n${disposition}\r\n\r\n\r\n`.repeat(parts)}--b--`;
      assert.equal(readText(bodyOf(1_000)).parts.length, 1_000);
      assertSyntaxError(bodyOf(1_001), /more than 1000 parts/);
    });

    it('headers larger than the limit, including line ends and the rest of the boundary line', () => {
      const freeBytes = 16_384 - `\r\n${disposition}\r\nx: \r\n\r\n`.length;
      const bodyOf = (valueBytes: number): string => withHeaders(disposition, `x: ${'x'.repeat(valueBytes)}`);
      assert.equal(readText(bodyOf(freeBytes)).parts.length, 1);
      assertSyntaxError(bodyOf(freeBytes + 1), /larger than 16384 bytes/);
      assertSyntaxError(`--b\r\n${'x'.repeat(20_000)}`, /larger than 16384 bytes/);
    });
  });

  it('reports the offset of an error', () => {
    assert.throws(() => readText(`--b\r\nX: a\nb`), { offset: `--b\r\nX: a`.length });
    assert.throws(() => readText(`preamble\r\n--b!`), { offset: `preamble\r\n--b`.length });
  });

  it('passes on an error of the sink', () => {
    const refusal = new Error('no such part');
    const parser = new MultipartParser('b', {
      partBegin() {
        throw refusal;
      },
      partData: () => undefined,
      partEnd: () => undefined,
    });
    assert.throws(() => parser.push(Buffer.from(form)), refusal);
  });
});

describe('multipartBoundary', () => {
  const cases: readonly [contentType: string | undefined, boundary: string | null][] = [
    ['multipart/form-data; boundary=----WebKitFormBoundaryAbC123', '----WebKitFormBoundaryAbC123'],
    ['Multipart/Form-Data;BOUNDARY="a b:c/d"', 'a b:c/d'],
    ['multipart/form-data; charset=utf-8; boundary=----=_Part_1', '----=_Part_1'],
    ['multipart/form-data; boundary="a\\"', null],
    ['multipart/form-data; boundary="\\a"', null],
    [`multipart/form-data; boundary=${'a'.repeat(70)}`, 'a'.repeat(70)],
    [`multipart/form-data; boundary=${'a'.repeat(71)}`, null],
    ['multipart/form-data; boundary=""', null],
    ['multipart/form-data; boundary=', null],
    ['multipart/form-data; boundary="a "', null],
    ['multipart/form-data; boundary=a*b', null],
    ['multipart/form-data; boundary="a\r\nb"', null],
    ['multipart/form-data; boundary=é', null],
    ['multipart/form-data; boundary=a; boundary=b', null],
    ["multipart/form-data; boundary=a; boundary*=UTF-8''b", null],
    ["multipart/form-data; boundary*=UTF-8''b; boundary=a", null],
    ["multipart/form-data; boundary*=UTF-8''b", null],
    ['multipart/form-data; boundary=a; boundary*0=b', null],
    ["multipart/form-data; boundary=a; charset*=UTF-8''utf-16", null],
    ['multipart/form-data boundary=a', null],
    ['multipart/form-data', null],
    ['multipart/mixed; boundary=a', null],
    ['application/json', null],
    ['', null],
    [undefined, null],
  ];
  for (const [contentType, boundary] of cases) {
    it(`of ${contentType} is ${boundary}`, () => assert.equal(multipartBoundary(contentType), boundary));
  }

  it('returns only boundaries that the parser accepts', () => {
    fc.assert(
      fc.property(fc.string(), fc.boolean(), (text, isQuoted) => {
        const boundary = multipartBoundary(`multipart/form-data; boundary=${isQuoted ? `"${text}"` : text}`);
        if (boundary !== null) assert.deepEqual(readText(`--${boundary}--`, boundary).parts, []);
      }),
    );
    for (const boundary of ['', 'a\r', 'a ', 'a'.repeat(71)]) {
      assert.throws(() => readText('', boundary), RangeError);
    }
  });
});

describe('multipartContentType', () => {
  it('quotes a boundary that is not a token', () => {
    assert.equal(multipartContentType('----WebKitFormBoundaryAbC123'), TYPE_OF_BROWSERS);
    assert.equal(multipartContentType('a b:c/d'), 'multipart/form-data; boundary="a b:c/d"');
    assert.equal(multipartContentType("it's"), `multipart/form-data; boundary="it's"`);
  });

  it('is parsed to the same boundary', () => {
    const boundary = fc.stringMatching(/^[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]$/);
    fc.assert(fc.property(boundary, (text) => assert.equal(multipartBoundary(multipartContentType(text)), text)));
  });
});

const TYPE_OF_BROWSERS = 'multipart/form-data; boundary=----WebKitFormBoundaryAbC123';
