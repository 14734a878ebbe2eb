import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** An RGB picture, one byte per channel, row by row. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly pixels: Buffer;
}

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const CHANNELS = 3;
const COLOR_TYPES: Readonly<Record<number, number>> = { 2: 3, 6: 4 };

/** Decodes a PNG of 8 bits per channel. Drops transparency. @throws if it has another format */
export function readPng(bytes: Buffer): Picture {
  const data: Buffer[] = [];
  let [width, height, from] = [0, 0, 0];
  for (let at = SIGNATURE.length; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const body = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at));
    const type = bytes.toString('latin1', at + 4, at + 8);
    if (type === 'IDAT') data.push(body);
    if (type !== 'IHDR') continue;
    width = body.readUInt32BE(0);
    height = body.readUInt32BE(4);
    from = COLOR_TYPES[body[9]!] ?? 0;
    if (body[8] !== 8 || from === 0 || body[12] !== 0) throw new Error('This kind of PNG is not read here.');
  }
  return { width, height, pixels: unfiltered(inflateSync(Buffer.concat(data)), width, height, from) };
}

/** Reverses the row filters (section 9 of the PNG specification), and keeps three channels. */
function unfiltered(lines: Buffer, width: number, height: number, from: number): Buffer {
  const stride = width * from;
  const raw = Buffer.alloc(stride * height);
  const pixels = Buffer.alloc(width * height * CHANNELS);
  for (let y = 0; y < height; y++) {
    const filter = lines[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x < from ? 0 : raw[at - from]!;
      const up = y === 0 ? 0 : raw[at - stride]!;
      const corner = y === 0 || x < from ? 0 : raw[at - stride - from]!;
      const guess = [0, left, up, (left + up) >> 1, nearest(left, up, corner)][filter]!;
      raw[at] = lines[y * (stride + 1) + 1 + x]! + guess;
      if (x % from < CHANNELS) pixels[(y * width + Math.floor(x / from)) * CHANNELS + (x % from)] = raw[at]!;
    }
  }
  return pixels;
}

function nearest(left: number, up: number, corner: number): number {
  const [byLeft, byUp, byCorner] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  if (byLeft <= byUp && byLeft <= byCorner) return left;
  return byUp <= byCorner ? up : corner;
}

export function writePng({ width, height, pixels }: Picture): Buffer {
  const stride = width * CHANNELS;
  // Each row as its difference from the one above, which is mostly zero for pages.
  const lines = Buffer.alloc((stride + 1) * height, 2);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < stride; x++) {
      const up = y === 0 ? 0 : pixels[(y - 1) * stride + x]!;
      lines[y * (stride + 1) + 1 + x] = pixels[y * stride + x]! - up;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2], 8);
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(lines, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), body]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(body.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

/** Pictures next to each other, from left to right. */
export function beside(pictures: readonly Picture[]): Picture {
  const width = pictures.reduce((sum, each) => sum + each.width, 0);
  const height = Math.max(...pictures.map((each) => each.height));
  const pixels = Buffer.alloc(width * height * CHANNELS);
  let left = 0;
  for (const each of pictures) {
    for (let y = 0; y < each.height; y++) {
      const line = each.pixels.subarray(y * each.width * CHANNELS, (y + 1) * each.width * CHANNELS);
      line.copy(pixels, (y * width + left) * CHANNELS);
    }
    left += each.width;
  }
  return { width, height, pixels };
}

/** The part of a picture that begins at the top, at the given column. */
export function cut({ width: all, pixels }: Picture, left: number, width: number, height: number): Picture {
  const lines = Array.from({ length: height }, (_, y) => {
    const from = (y * all + left) * CHANNELS;
    return pixels.subarray(from, from + width * CHANNELS);
  });
  return { width, height, pixels: Buffer.concat(lines) };
}

/**
 * Number of pixels in either picture that have no similar pixel in the other, at the same or a neighbouring position. All pixels, if the
 * sizes differ.
 */
export function differingPixels(one: Picture, other: Picture, colorMax: number): number {
  if (one.width !== other.width || one.height !== other.height) return one.width * one.height;
  let count = 0;
  for (let y = 0; y < one.height; y++) {
    for (let x = 0; x < one.width; x++) {
      if (!isFoundNear(one, other, x, y, colorMax) || !isFoundNear(other, one, x, y, colorMax)) count++;
    }
  }
  return count;
}

/** Whether the other picture has a similar pixel. Tries the same position first, which mostly matches. */
function isFoundNear(picture: Picture, other: Picture, x: number, y: number, colorMax: number): boolean {
  const { width, height } = other;
  const at = (y * width + x) * CHANNELS;
  const isLike = (near: number): boolean => {
    for (let channel = 0; channel < CHANNELS; channel++) {
      if (Math.abs(picture.pixels[at + channel]! - other.pixels[near + channel]!) > colorMax) return false;
    }
    return true;
  };
  if (isLike(at)) return true;
  for (let row = Math.max(0, y - 1); row <= Math.min(height - 1, y + 1); row++) {
    for (let column = Math.max(0, x - 1); column <= Math.min(width - 1, x + 1); column++) {
      if (isLike((row * width + column) * CHANNELS)) return true;
    }
  }
  return false;
}
