import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A font with one box for all letters and another for all Chinese characters. A browser without any other font lays out a page
 * identically on all machines, so that its pictures can be compared.
 */

const EM = 1000;
const ASCENT = 900;
const DESCENT = -250;

interface Glyph {
  readonly advance: number;
  /** Height above the baseline; 0: nothing is drawn. */
  readonly height: number;
}

/** By glyph number: missing, blank, letter, Chinese character. */
const GLYPHS: readonly Glyph[] = [
  { advance: 560, height: 560 },
  { advance: 300, height: 0 },
  { advance: 560, height: 560 },
  { advance: EM, height: 760 },
];

/** First and last character, and their glyph. */
const CHARACTERS: readonly (readonly [first: number, last: number, glyph: number])[] = [
  [0x20, 0x20, 1],
  [0x21, 0x9f, 2],
  [0xa0, 0xa0, 1],
  [0xa1, 0x1fff, 2],
  [0x2000, 0x200f, 1],
  [0x2010, 0x2e7f, 2],
  [0x2e80, 0xffef, 3],
];

/** Writes the font, and a fontconfig file that contains no other. `remove` deletes both. */
export function writePlainFont(): { readonly configFile: string; remove(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'faregate-font-'));
  const configFile = join(directory, 'fonts.conf');
  writeFileSync(join(directory, 'plain.ttf'), plainFont());
  writeFileSync(
    configFile,
    `<?xml version="1.0"?><fontconfig><dir>${directory}</dir><cachedir>${directory}/cache</cachedir></fontconfig>`,
  );
  return { configFile, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** The bytes of the font, in TrueType format. System font readers ignore checksums, so these are 0. */
function plainFont(): Buffer {
  const outlines = GLYPHS.map(outlineOf);
  const ends = outlines.map((_, at) => Buffer.concat(outlines.slice(0, at + 1)).length);
  const tables: readonly (readonly [tag: string, bytes: Buffer])[] = [
    ['cmap', characterMap()],
    ['glyf', Buffer.concat(outlines)],
    [
      'head',
      Buffer.concat([
        longs(0x00010000, 0x00010000, 0, 0x5f0f3cf5),
        shorts(0, EM),
        longs(0, 0, 0, 0),
        shorts(0, DESCENT, EM, ASCENT, 0, 8, 2, 1, 0),
      ]),
    ],
    ['hhea', Buffer.concat([longs(0x00010000), shorts(ASCENT, DESCENT, 0, EM, 0, 0, EM, 1, ...NONE, GLYPHS.length)])],
    ['hmtx', shorts(...GLYPHS.flatMap(({ advance }) => [advance, 0]))],
    ['loca', longs(0, ...ends)],
    ['maxp', Buffer.concat([longs(0x00010000), shorts(GLYPHS.length, 4, 1, 0, 0, 2, ...NONE, 0)])],
    ['name', nameTable('Plain', 'Regular')],
    ['post', longs(0x00030000, 0, 0, 0, 0, 0, 0, 0)],
  ];
  let at = 12 + 16 * tables.length;
  const directory = tables.map(([tag, bytes]) => {
    const entry = Buffer.concat([Buffer.from(tag), longs(0, at, bytes.length)]);
    at += padded(bytes).length;
    return entry;
  });
  return Buffer.concat([
    longs(0x00010000),
    shorts(tables.length, 128, 3, 16 * tables.length - 128),
    ...directory,
    ...tables.map(([, bytes]) => padded(bytes)),
  ]);
}

/** Fields without meaning here. */
const NONE = [0, 0, 0, 0, 0, 0, 0];

/** A rectangle on the baseline. */
function outlineOf({ advance, height }: Glyph): Buffer {
  if (height === 0) return Buffer.alloc(0);
  const [left, right] = [40, advance - 40];
  const width = right - left;
  // One contour of four points on the curve, each relative to the one before.
  const points = [shorts(left, width, 0, -width), shorts(0, 0, height, 0)];
  return padded(Buffer.concat([shorts(1, left, 0, right, height, 3, 0), Buffer.from([1, 1, 1, 1]), ...points]));
}

/** `cmap` in format 13, which maps ranges of characters to one glyph. */
function characterMap(): Buffer {
  const groups = longs(...CHARACTERS.flat());
  return Buffer.concat([
    shorts(0, 1, 3, 10),
    longs(12),
    shorts(13, 0),
    longs(16 + groups.length, 0, CHARACTERS.length),
    groups,
  ]);
}

function nameTable(...names: readonly string[]): Buffer {
  const texts = names.map((name) => Buffer.from(name, 'utf16le').swap16());
  const records = texts.map((text, at) =>
    shorts(3, 1, 0x409, at + 1, text.length, Buffer.concat(texts.slice(0, at)).length),
  );
  return Buffer.concat([shorts(0, names.length, 6 + 12 * names.length), ...records, ...texts]);
}

function shorts(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, at * 2);
  return bytes;
}

function longs(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [at, value] of values.entries()) bytes.writeUInt32BE(value, at * 4);
  return bytes;
}

function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
