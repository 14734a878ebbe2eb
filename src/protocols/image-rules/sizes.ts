/** Width and height in pixels; requests write `WIDTHxHEIGHT`. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

export interface SizeLimits {
  readonly edgeMultiple: number;
  readonly edgeMax: number;
  readonly ratioMax: number;
  readonly pixelsMin: number;
  readonly pixelsMax: number;
}

const SIZE = /^([1-9][0-9]{0,4})x([1-9][0-9]{0,4})$/;

export function parseSize(text: string): ImageSize | null {
  const found = SIZE.exec(text);
  return found === null ? null : { width: Number(found[1]), height: Number(found[2]) };
}

/** Returns the limit that a size exceeds, as the end of an error message; `null` if it is within all limits. */
export function sizeBreach({ width, height }: ImageSize, limits: SizeLimits): string | null {
  const { edgeMultiple, edgeMax, ratioMax, pixelsMin, pixelsMax } = limits;
  if (width % edgeMultiple !== 0 || height % edgeMultiple !== 0) return `both edges multiples of ${edgeMultiple}`;
  if (width > edgeMax || height > edgeMax) return `no edge longer than ${edgeMax}`;
  if (Math.max(width, height) > ratioMax * Math.min(width, height))
    return `no edge more than ${ratioMax} times the other`;
  const pixels = width * height;
  if (pixels < pixelsMin) return `at least ${pixelsMin} pixels`;
  if (pixels > pixelsMax) return `at most ${pixelsMax} pixels`;
  return null;
}
