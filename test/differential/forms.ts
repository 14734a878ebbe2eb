import fc from 'fast-check';
import { damage, damaged } from './json-bodies.ts';

/**
 * Forms as clients send them, and as attackers could write them so that two parsers read them differently: other line ends, extra
 * boundaries, names and values in all spellings of a parameter, duplicate headers, damage.
 */
export interface FormCase {
  readonly contentType: string;
  readonly body: Buffer;
}

const B = 'b0undary';
/** Returns the first value, except in one of `of` cases. */
const mostly = <Value>(usual: Value, of: number, ...others: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof(
    { weight: of * others.length, arbitrary: fc.constant(usual) },
    { weight: others.length, arbitrary: fc.constantFrom(...others) },
  );

const contentType = mostly(
  `multipart/form-data; boundary=${B}`,
  6,
  `multipart/form-data; boundary="${B}"`,
  `Multipart/Form-Data;BOUNDARY=${B}`,
  `multipart/form-data; charset=utf-8; boundary=${B}`,
  `multipart/form-data; boundary=${B}; boundary*=UTF-8''c`,
  `multipart/form-data; boundary*=UTF-8''c; boundary=${B}`,
  `multipart/form-data; boundary=${B}; boundary*0=c`,
  `multipart/form-data; boundary=${B}; boundary=c`,
  `multipart/form-data; boundary=${B};`,
  `multipart/form-data; boundary=${B}; x`,
  `multipart/form-data; x=";"; boundary=${B}`,
  `multipart/form-data; boundary = ${B}`,
  `multipart/form-data; boundary='${B}'`,
  `multipart/form-data; boundary="b0\\undary"`,
  `multipart/mixed; boundary=${B}`,
);

const fields = ['prompt', 'model', 'n', 'size', 'quality', 'stream', 'user', 'image', 'image[]', 'mask', 'other', 'x'];
const values: Readonly<Record<string, readonly string[]>> = {
  n: ['1', '2', '10', '01', '1.0', ' 1', '+1', '1e1', '\u0661'],
  size: ['1024x1024', '4096x4096', 'auto', 'low', ' auto', 'auto\n', '+ADQ-'],
  quality: ['low', 'high', 'auto', 'Low', 'hd'],
  stream: ['true', 'false', 'True', '1', 'true '],
  model: ['m', 'm\u0000', 'x', ''],
};

const spelt = (field: string, style: number, filename: number): string => {
  const quoted = [
    `name="${field}"`,
    `name="${field}"`,
    `name="${field}"`,
    `name=${field}`,
    `NAME="${field}"`,
    `name='${field}'`,
    `name="${field.slice(0, 1)}\\${field.slice(1)}"`,
    `name="\\"${field}"`,
    `name="x"; name="${field}"`,
    `name="x"; name*=UTF-8''${field}`,
    `name="x"; name*0="${field}"`,
    `name="${field}"; x="; name=y"`,
    `name = "${field}"`,
    `name="${field.toUpperCase()}"`,
    `name=" ${field}"`,
    `name="${field}[]"`,
    `name="${field}%22"`,
    `name="%${field.charCodeAt(0).toString(16)}${field.slice(1)}"`,
    `name="=?utf-8?Q?${field}?="`,
    `name="${field}`,
    `name="${field}";`,
    `;name="${field}"`,
    `name="\u017f${field.slice(1)}"`,
    `name="${field}\\\\"`,
  ][style]!;
  const files = [
    '',
    '; filename="a.png"',
    '; filename=""',
    '; filename=a.png',
    "; filename*=UTF-8''a.png",
    '; filename="a\\\\"',
    '; filename="a\\""',
    '; filename="C:\\dir\\a.png"',
    '; filename="\\\\"; x="; name=quality; y="',
    '; filename="a;name=size"',
    "; filename*=''a",
  ];
  return `form-data; ${quoted}${files[filename]!}`;
};

const header = mostly(
  '',
  8,
  'Content-Type: text/plain\r\n',
  'Content-Type: text/plain; charset=utf-16\r\n',
  'Content-Type: image/png\r\n',
  'Content-Type: multipart/mixed; boundary=c\r\n',
  'Content-Transfer-Encoding: quoted-printable\r\n',
  'Content-Transfer-Encoding: binary\r\n',
  'Content-Disposition: form-data; name="n"\r\n',
  'X-A: b\r\n c\r\n',
  'X-A: b\n',
  'X-A : b\r\n',
  '\tname="n"\r\n',
  'X-A: \rContent-Disposition: form-data; name="n"\r\n',
  `X-A: --${B}\r\n`,
);

const splinters = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\n\n', '--', `--${B}`, `\r\n--${B}\r\n`, `\n--${B}\n`, `\r--${B}\r`, `--${B}--`],
  ...['"', ';', ':', '=', '\\', ' ', '\t', '\0', '\xff', '*', '%', "'", '\v', '\f', '\x1c', '\x85', '\xa0', 'name='],
  `\n--${B}\nContent-Disposition: form-data; name="quality"\n\nhigh`,
  `\r\n--${B}\r\nContent-Disposition: form-data; name="quality"\r\n\r\nhigh`,
];

const content = (field: string) =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...(values[field] ?? ['p', 'Add a boat', '你好'])) },
    { weight: 1, arbitrary: fc.constantFrom(...splinters) },
    {
      weight: 1,
      arbitrary: fc.array(fc.constantFrom(...splinters, 'a'), { maxLength: 4 }).map((parts) => parts.join('')),
    },
  );

const part = fc.constantFrom(...fields).chain((field) => {
  const isFile = /^(image|mask)/.test(field);
  return fc
    .record({
      style: mostly(0, 6, ...Array.from({ length: 23 }, (_, index) => index + 1)),
      filename: isFile ? mostly(1, 6, 0, 2, 3, 4, 5, 6, 7, 8, 9) : mostly(0, 8, 1, 2, 4, 8, 10),
      headerName: mostly(
        'Content-Disposition: ',
        12,
        'content-disposition:',
        'Content-Disposition : ',
        'Content-Disposition:\t',
      ),
      header,
      content: content(field),
      start: mostly(`--${B}\r\n`, 14, `--${B} \r\n`, `--${B}\n`, `--${B}\t\r\n`, `--${B}x\r\n`, `--${B}\r`),
      lineEnd: mostly('\r\n', 14, '\n', '\r', '\r\r\n'),
      end: mostly('\r\n', 14, '\n', '\r', ''),
    })
    .map((each) => {
      const head = `${each.headerName}${spelt(field, each.style, each.filename)}${each.lineEnd}${each.header}${each.lineEnd}`;
      return Buffer.from(`${each.start}${head}${each.content}${each.end}`);
    });
});

const usual = (name: string, text: string, more = ''): Buffer =>
  Buffer.from(`--${B}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`);

export const formCase: fc.Arbitrary<FormCase> = fc
  .record({
    contentType,
    parts: fc.array(part, { maxLength: 4 }),
    hasModel: fc.boolean(),
    preamble: mostly('', 10, '\r\n', 'x\r\n', `x\n--${B}\r\n`, `--${B}\n`, '\n', `x--${B}\r\n`),
    end: mostly(`--${B}--\r\n`, 8, `--${B}--`, `--${B}-- \r\n`, `--${B}--\n`, `--${B}`, `--${B}--x`, ''),
    epilogue: mostly(
      '',
      10,
      'x',
      '\r\n',
      `--${B}\r\nContent-Disposition: form-data; name="n"\r\n\r\n9\r\n--${B}--`,
      '\r\n--c\r\n',
    ),
    changes: fc.oneof(
      { weight: 3, arbitrary: fc.constant([]) },
      { weight: 2, arbitrary: fc.array(damage(splinters), { minLength: 1, maxLength: 3 }) },
    ),
  })
  .map(({ contentType: type, parts, hasModel, preamble, end, epilogue, changes }) => {
    const body = Buffer.concat([
      Buffer.from(preamble),
      ...(hasModel ? [usual('model', 'm')] : []),
      usual('prompt', 'p'),
      ...parts,
      usual('image', 'x', '; filename="a.png"'),
      Buffer.from(end + epilogue),
    ]);
    return { contentType: type, body: damaged(body, changes) };
  });
