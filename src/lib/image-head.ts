/** The format and the size of an image (contract 4.6). */
export interface ImageHead {
  /** The format by its signature. `other`: none of the formats that are accepted. */
  readonly format: 'png' | 'jpeg' | 'webp' | 'other';
  /** Width in stored pixels, greater than 0; viewers may rotate the image by its EXIF data. `null`: the head does not contain it. */
  readonly width: number | null;
  readonly height: number | null;
}

/** Bytes to read of a file. PNG and WebP need 30. In a JPEG, metadata comes before the size: up to 64 KiB of EXIF, and a colour profile. */
export const IMAGE_HEAD_BYTES_MAX = 256 * 1024;

type Size = readonly [width: number, height: number];

/** Reads the header of an image without decoding it. The file may be truncated, hostile, or not an image. Never throws. */
export function readImageHead(head: Buffer): ImageHead {
  const format = formatOf(head);
  const size = format === 'other' ? null : sizeReaders[format](head);
  const [width, height] = size ?? [0, 0];
  return width > 0 && height > 0 ? { format, width, height } : { format, width: null, height: null };
}

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const JPEG_SIGNATURE = Buffer.of(0xff, 0xd8, 0xff);

function formatOf(head: Buffer): ImageHead['format'] {
  if (beginsWith(head, PNG_SIGNATURE)) return 'png';
  if (beginsWith(head, JPEG_SIGNATURE)) return 'jpeg';
  return fourCharacters(head, 0) === 'RIFF' && fourCharacters(head, 8) === 'WEBP' ? 'webp' : 'other';
}

const sizeReaders = { png: pngSize, jpeg: jpegSize, webp: webpSize };

/** Reads the size of a PNG (W3C), 11.2.1: the first chunk is IHDR and begins with width and height. */
function pngSize(head: Buffer): Size | null {
  if (head.length < 24 || fourCharacters(head, 12) !== 'IHDR') return null;
  const size: Size = [head.readUInt32BE(16), head.readUInt32BE(20)];
  return Math.max(...size) < 2 ** 31 ? size : null;
}

/** Reads the size of a JPEG (ITU-T T.81, B.1 and B.2) from its frame header SOFn. A height of 0 is not supported. */
function jpegSize(head: Buffer): Size | null {
  let at = 2;
  while (at + 1 < head.length && head[at] === 0xff) {
    const marker = head[at + 1]!;
    if (marker === 0xff) {
      // Fill bytes: any number of them may precede a marker.
      at++;
    } else if (isFrameHeader(marker)) {
      return at + 9 > head.length ? null : [head.readUInt16BE(at + 7), head.readUInt16BE(at + 5)];
    } else if (marker === START_OF_SCAN || marker === END_OF_IMAGE || at + 4 > head.length) {
      return null;
    } else {
      // The length includes its own two bytes. If it is smaller, the loop ends at a byte that is not a marker.
      at += isAlone(marker) ? 2 : 2 + head.readUInt16BE(at + 2);
    }
  }
  return null;
}

const END_OF_IMAGE = 0xd9;
const START_OF_SCAN = 0xda;

/** Whether a marker begins a frame: C0 to CF except C4 (Huffman tables), C8 (reserved) and CC (arithmetic coding conditions). */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** Whether a marker has neither length nor content: TEM and RSTn. */
function isAlone(marker: number): boolean {
  return marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
}

/** Reads the size of a WebP (RFC 9649, 2.5 to 2.7): the type of the first chunk determines which of three headers follows. */
function webpSize(head: Buffer): Size | null {
  switch (fourCharacters(head, 12)) {
    case 'VP8X':
      return head.length < 30 ? null : [head.readUIntLE(24, 3) + 1, head.readUIntLE(27, 3) + 1];
    case 'VP8L': {
      if (head.length < 25 || head[20] !== 0x2f) return null;
      const bits = head.readUInt32LE(21);
      return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
    }
    case 'VP8 ': {
      // RFC 6386, 9.1: the lowest bit of a key frame is 0, and a start code precedes the size.
      if (head.length < 30 || (head[20]! & 1) !== 0 || head.readUIntBE(23, 3) !== 0x9d012a) return null;
      return [head.readUInt16LE(26) & 0x3fff, head.readUInt16LE(28) & 0x3fff];
    }
    default:
      return null;
  }
}

function beginsWith(head: Buffer, signature: Buffer): boolean {
  return head.subarray(0, signature.length).equals(signature);
}

function fourCharacters(head: Buffer, at: number): string {
  return head.toString('latin1', at, at + 4);
}
