/** This file parses lines and fields of a `text/event-stream` as bytes (WHATWG, "Parsing an event stream"). Lines end in LF, CR or CRLF. */

export const LF = 0x0a;
export const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const EVENT = Buffer.from('event');
const DATA = Buffer.from('data');

/** Maximum length of an event name; a longer one is truncated. All known names are shorter. */
const NAME_BYTES_MAX = 256;

/**
 * Iterates over lines. It searches for LF and CR separately: lines can be megabytes long and most streams have no CR, so reading byte by
 * byte would take ten times as long.
 */
export class Lines {
  readonly #bytes: Buffer;
  #lf = -1;
  #cr = -1;
  /** Offset of the current line. The next fields are the offsets of its end and of the next line. */
  start = 0;
  end = 0;
  next: number;

  /** @param from offset of the first line */
  constructor(bytes: Buffer, from = 0) {
    this.#bytes = bytes;
    this.next = from;
  }

  /** Moves to the next line. Returns false if there is none. */
  advance(): boolean {
    const bytes = this.#bytes;
    const start = this.next;
    if (start >= bytes.length) return false;
    // `>>> 0` turns -1 (not found) into a number that is greater than every offset.
    if (this.#lf < start) this.#lf = bytes.indexOf(LF, start) >>> 0;
    if (this.#cr < start) this.#cr = bytes.indexOf(CR, start) >>> 0;
    this.start = start;
    this.end = Math.min(this.#lf, this.#cr, bytes.length);
    this.next = this.end + (this.#lf === this.#cr + 1 && this.end === this.#cr ? 2 : 1);
    return true;
  }

  /** Returns the offset of the value if the line has this field; otherwise -1. */
  valueStart(field: Buffer): number {
    const bytes = this.#bytes;
    if (!startsWith(bytes, this.start, field)) return -1;
    const at = this.start + field.length;
    if (at === this.end) return at;
    if (bytes[at] !== COLON) return -1;
    return bytes[at + 1] === SPACE ? at + 2 : at + 1;
  }
}

/** Fields of an event as bytes, because it can have a large image or millions of lines. A single line of data is not copied. */
export interface EventFields {
  /** Value of the last `event` field; `null`: there is none. */
  readonly name: string | null;
  /** All `data` lines joined with LF; `null`: there are none. */
  readonly data: Buffer | null;
}

/** Parses an event. It may be only the beginning of one, with an incomplete last line. */
export function eventFields(event: Buffer): EventFields {
  let name: string | null = null;
  let data: Buffer | null = null;
  /** Allocated for the second line of data; never longer than the event. */
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

/** Whether any complete event has data. A byte order mark at the start of each event is skipped, so that grouping does not matter. */
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

/** A loop, because calling `compare` costs more than comparing a few bytes. */
export function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

/** Returns the offset after a byte order mark; `at` if there is none. */
export function behindByteOrderMark(bytes: Buffer, at: number): number {
  return bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf ? at + 3 : at;
}
