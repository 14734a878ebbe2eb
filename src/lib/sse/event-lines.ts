/** The lines of a `text/event-stream`, found as bytes: they end with LF, CR or CRLF (WHATWG, "Parsing an event stream"). */

export const LF = 0x0a;
export const CR = 0x0d;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Finds where lines end, in order. Each of the two bytes is searched for from where it was last found: a line may be
 * megabytes, and most streams have no CR at all, so that going byte by byte would take ten times as long.
 */
export class LineEnds {
  readonly #bytes: Buffer;
  #lf = -1;
  #cr = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The offset of the byte that ends the line which begins at `start`; the length of the bytes if none does. */
  endOf(start: number): number {
    if (this.#lf < start) this.#lf = offsetOf(this.#bytes, LF, start);
    if (this.#cr < start) this.#cr = offsetOf(this.#bytes, CR, start);
    return Math.min(this.#lf, this.#cr);
  }

  /** The offset of the line behind the one that ends there. */
  behind(end: number): number {
    return end + (this.#bytes[end] === CR && this.#bytes[end + 1] === LF ? 2 : 1);
  }
}

/** The lines without their ends; a byte order mark before the first one is left out. */
export function* eachLine(bytes: Buffer): Generator<Buffer> {
  const ends = new LineEnds(bytes);
  let start = startsWith(bytes, 0, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < bytes.length) {
    const end = ends.endOf(start);
    yield bytes.subarray(start, end);
    start = ends.behind(end);
  }
}

export function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  return bytes.length - at >= text.length && text.compare(bytes, at, at + text.length) === 0;
}

/** The offset of the next such byte, or of the end if there is none. */
function offsetOf(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? bytes.length : at;
}
