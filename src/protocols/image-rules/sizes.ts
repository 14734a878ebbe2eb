/** Sizes of images as the wire spells them: `WIDTHxHEIGHT` in pixels, without leading zeros, with a lower-case x. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** What a model that draws in any size accepts. */
export interface SizeLimits {
  readonly edgeMultiple: number;
  readonly edgeMax: number;
  /** The longer edge over the shorter one. */
  readonly ratioMax: number;
  readonly pixelsMin: number;
  readonly pixelsMax: number;
}

const SIZE = /^([1-9][0-9]{0,4})x([1-9][0-9]{0,4})$/;

export function parseSize(text: string): ImageSize | null {
  const found = SIZE.exec(text);
  return found === null ? null : { width: Number(found[1]), height: Number(found[2]) };
}

/** What is wrong with a size, as the end of a sentence; `null` if nothing is. */
export function sizeBreach({ width, height }: ImageSize, limits: SizeLimits): string | null {
  const { edgeMultiple, edgeMax, ratioMax, pixelsMin, pixelsMax } = limits;
  if (width % edgeMultiple !== 0 || height % edgeMultiple !== 0) return `both edges are multiples of ${edgeMultiple}`;
  if (width > edgeMax || height > edgeMax) return `no edge is longer than ${edgeMax}`;
  if (Math.max(width, height) > ratioMax * Math.min(width, height))
    return `no edge is over ${ratioMax} times the other`;
  const pixels = width * height;
  if (pixels < pixelsMin) return `there are at least ${pixelsMin} pixels`;
  if (pixels > pixelsMax) return `there are at most ${pixelsMax} pixels`;
  return null;
}
