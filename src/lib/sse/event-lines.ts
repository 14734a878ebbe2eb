/** The lines of a `text/event-stream`, found as bytes: they end with LF, CR or CRLF (WHATWG, "Parsing an event stream"). */

export const LF = 0x0a;
export const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/**
 * Goes from line to line. Each of the two bytes is searched for from where it was last found: a line may be megabytes, and
 * most streams have no CR at all, so that going byte by byte would take ten times as long.
 */
export class Lines {
  readonly #bytes: Buffer;
  #lf = -1;
  #cr = -1;
  /** Where the line begins; the offset of the byte that ends it, or of the end of the bytes; where the next line begins. */
  start = 0;
  end = 0;
  next: number;

  /** @param from where the first line begins. */
  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes;
    this.next = from;
  }

  /** Goes to the next line. Returns whether there is one. */
  advance(): boolean {
    const bytes = this.#bytes;
    const start = this.next;
    if (start >= bytes.length) return false;
    // As an unsigned number -1, which says that there is none, is larger than any offset.
    if (this.#lf < start) this.#lf = bytes.indexOf(LF, start) >>> 0;
    if (this.#cr < start) this.#cr = bytes.indexOf(CR, start) >>> 0;
    this.start = start;
    this.end = Math.min(this.#lf, this.#cr, bytes.length);
    this.next = this.end + (this.#lf === this.#cr + 1 && this.end === this.#cr ? 2 : 1);
    return true;
  }

  /** Passes over a byte order mark with which the line begins. */
  skipByteOrderMark(): void {
    if (startsWith(this.#bytes, this.start, BYTE_ORDER_MARK)) this.start += BYTE_ORDER_MARK.length;
  }

  /** Where the value begins if the line is one of this field, such as `data`; -1 if it is of another one. */
  valueStart(field: Buffer): number {
    const bytes = this.#bytes;
    if (!startsWith(bytes, this.start, field)) return -1;
    const at = this.start + field.length;
    if (at === this.end) return at;
    if (bytes[at] !== COLON) return -1;
    return bytes[at + 1] === SPACE ? at + 2 : at + 1;
  }
}

function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}
