/** The lines and fields of a `text/event-stream`, found as bytes: lines end with LF, CR or CRLF (WHATWG, "Parsing an event stream"). */

export const LF = 0x0a;
export const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const EVENT = Buffer.from('event');
const DATA = Buffer.from('data');

/** A longer name is no known one, and no string is made of it. */
const NAME_BYTES_MAX = 256;

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

/**
 * The name and the data of an event, read as bytes: an event may contain an image of tens of megabytes, and may be made
 * of millions of lines. Nothing is copied if the data are one line.
 */
export interface EventFields {
  /** The last `event` field; `null` if there is none. */
  readonly name: string | null;
  /** The `data` lines, joined with LF; a part of the event's own bytes if there is only one. `null` without any. */
  readonly data: Buffer | null;
}

/** Reads a whole event, or the beginning of one: then the last line may lack its end. */
export function eventFields(event: Buffer): EventFields {
  let name: string | null = null;
  let data: Buffer | null = null;
  /** Made for the second line of data. Joined, the lines are never longer than they were apart. */
  let joined: Buffer | null = null;
  let joinedBytes = 0;
  const lines = new Lines(event);
  for (let isFirst = true; lines.advance(); isFirst = false) {
    if (lines.start === lines.end) continue;
    if (isFirst) lines.start = behindByteOrderMark(event, 0);
    const dataStart = lines.valueStart(DATA);
    if (dataStart === -1) {
      const nameStart = lines.valueStart(EVENT);
      if (nameStart !== -1) name = event.toString('utf8', nameStart, Math.min(lines.end, nameStart + NAME_BYTES_MAX));
      continue;
    }
    const value = event.subarray(dataStart, lines.end);
    if (data === null) {
      data = value;
      continue;
    }
    if (joined === null) {
      joined = Buffer.allocUnsafe(event.length);
      joinedBytes = data.copy(joined);
    }
    joined[joinedBytes++] = LF;
    joinedBytes += value.copy(joined, joinedBytes);
  }
  return { name, data: joined === null ? data : joined.subarray(0, joinedBytes) };
}

/**
 * Whether any of these whole events has data, rather than being made of comments and other fields. A byte order mark is passed over in
 * front of each event: the response must not depend on which events came together.
 */
export function holdsData(events: Buffer): boolean {
  const lines = new Lines(events);
  let beginsEvent = true;
  while (lines.advance()) {
    const isEmpty = lines.start === lines.end;
    if (beginsEvent) lines.start = behindByteOrderMark(events, lines.start);
    if (lines.valueStart(DATA) !== -1) return true;
    beginsEvent = isEmpty;
  }
  return false;
}

/** Whether a text stands at an offset. By single bytes: a call of `compare` costs more than the comparison of a few. */
export function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** The offset behind a byte order mark; the same one if none stands there. */
export function behindByteOrderMark(bytes: Buffer, at: number): number {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? at + 3 : at;
}
