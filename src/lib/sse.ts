/**
 * Cuts a `text/event-stream` into events without changing a byte (WHATWG, "Parsing an event stream"): lines end with LF,
 * CR or CRLF, an event ends with an empty line, and chunks may be cut anywhere, also between the two bytes of a CRLF or
 * inside a character. The bytes given to the sink, put together, are the bytes that came in.
 */
export interface SseSink {
  /**
   * One or more whole events, ending lines included, as one run of bytes.
   * The bytes are only valid during the call, unless the sink keeps a copy.
   */
  events(bytes: Buffer): void;
  /** A part of an event that is too large to be kept whole; the parts follow each other. */
  oversize(bytes: Buffer): void;
  /** Whether an event that has grown large is to be kept whole all the same, by how it begins. Absent: never. */
  isNeededWhole?(beginning: Buffer): boolean;
}

const LF = 0x0a;
const CR = 0x0d;

/** An event longer than this is passed on in parts, unless the sink needs it whole. */
export const EVENT_BYTES_MAX = 1024 * 1024;
/** The longest event that is kept whole when it is needed: a terminal event repeats the output, or holds an image. */
export const NEEDED_EVENT_BYTES_MAX = 64 * 1024 * 1024;
/** How much of an event tells what it is. */
const BEGINNING_BYTES = 1024;

export class SseSplitter {
  readonly #sink: SseSink;
  readonly #eventBytesMax: number;
  /** The beginning of an event whose end has not arrived. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  /** Of the event that has begun; raised once it proves to be needed. */
  #keptBytesMax: number;
  #isOversize = false;
  #isLineEmpty = true;
  #isAfterCr = false;
  /** Whether that CR ended an empty line, so that a line feed behind it still belongs to the event before. */
  #isCrBoundary = false;

  constructor(sink: SseSink, eventBytesMax = EVENT_BYTES_MAX) {
    this.#sink = sink;
    this.#eventBytesMax = eventBytesMax;
    this.#keptBytesMax = eventBytesMax;
  }

  push(chunk: Buffer): void {
    const isAtEmptyLine = this.#isLineEmpty && !(this.#isAfterCr && chunk[0] === LF);
    const wholeEnd = this.#lastBoundary(chunk);
    if (wholeEnd > 0) {
      const whole = chunk.subarray(0, wholeEnd);
      if (this.#isOversize) {
        // Cut exactly where the giant ends: the sink must not lose sight of events that share a chunk with its tail.
        const giantEnd = eventEnds(whole, isAtEmptyLine)[0]!;
        this.#sink.oversize(whole.subarray(0, giantEnd));
        this.#isOversize = false;
        if (giantEnd < wholeEnd) this.#sink.events(whole.subarray(giantEnd));
      } else if (this.#keptBytes > 0) {
        this.#kept.push(whole);
        this.#sink.events(this.#takeKept());
      } else {
        this.#sink.events(whole);
      }
    }
    if (wholeEnd < chunk.length) this.#keep(chunk.subarray(wholeEnd));
  }

  /** The stream is over: gives out an event that lacks its empty line. Answers whether there was one. */
  end(): boolean {
    const isCut = this.#keptBytes > 0 || this.#isOversize;
    if (this.#keptBytes > 0) this.#sink.events(this.#takeKept());
    return isCut;
  }

  #takeKept(): Buffer {
    const joined = Buffer.concat(this.#kept);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#keptBytesMax = this.#eventBytesMax;
    return joined;
  }

  #keep(tail: Buffer): void {
    if (this.#isOversize) {
      this.#sink.oversize(tail);
      return;
    }
    this.#kept.push(tail);
    this.#keptBytes += tail.length;
    if (this.#keptBytes <= this.#keptBytesMax) return;
    if (this.#keptBytesMax === this.#eventBytesMax && this.#sink.isNeededWhole?.(this.#beginning())) {
      this.#keptBytesMax = NEEDED_EVENT_BYTES_MAX;
      return;
    }
    for (const part of this.#kept) this.#sink.oversize(part);
    this.#kept = [];
    this.#keptBytes = 0;
    this.#keptBytesMax = this.#eventBytesMax;
    this.#isOversize = true;
  }

  /** The first bytes of the event that is being kept. */
  #beginning(): Buffer {
    const parts: Buffer[] = [];
    let left = BEGINNING_BYTES;
    for (const part of this.#kept) {
      if (left <= 0) break;
      parts.push(part.subarray(0, left));
      left -= part.length;
    }
    return Buffer.concat(parts);
  }

  /** Offset behind the last empty line of the chunk, 0 where there is none. Carries the line state over to the next. */
  #lastBoundary(chunk: Buffer): number {
    let boundary = 0;
    let isLineEmpty = this.#isLineEmpty;
    let isAfterCr = this.#isAfterCr;
    let isCrBoundary = this.#isCrBoundary;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === LF) {
        if (isAfterCr) {
          // The second byte of a CRLF: the line ended one byte ago. Where that was an empty line, it belongs to it.
          if (isCrBoundary) boundary = at + 1;
        } else if (isLineEmpty) {
          boundary = at + 1;
        }
        isLineEmpty = true;
        isAfterCr = false;
      } else if (byte === CR) {
        isCrBoundary = isLineEmpty;
        if (isLineEmpty) boundary = at + 1;
        isLineEmpty = true;
        isAfterCr = true;
      } else {
        isLineEmpty = false;
        isAfterCr = false;
      }
    }
    this.#isLineEmpty = isLineEmpty;
    this.#isAfterCr = isAfterCr;
    this.#isCrBoundary = isCrBoundary;
    return boundary;
  }
}

/**
 * Cuts a run of whole events into single ones. An empty line between two events, or the line feed of a CRLF whose first
 * byte ended the run before, comes out as a piece of its own.
 */
export function* eachEvent(run: Buffer): Generator<Buffer> {
  let start = 0;
  for (const end of eventEnds(run, true)) {
    yield run.subarray(start, end);
    start = end;
  }
  if (start < run.length) yield run.subarray(start);
}

/** Offsets behind each empty line; `isAtEmptyLine` tells whether nothing of the first line came before these bytes. */
function eventEnds(bytes: Buffer, isAtEmptyLine: boolean): number[] {
  const ends: number[] = [];
  let isLineEmpty = isAtEmptyLine;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte !== LF && byte !== CR) {
      isLineEmpty = false;
      continue;
    }
    if (byte === CR && bytes[at + 1] === LF) at++;
    if (isLineEmpty) ends.push(at + 1);
    isLineEmpty = true;
  }
  return ends;
}

/** The value of an event's `data` field, its lines joined with LF; `null` where the event has none. */
export function eventData(event: Buffer): string | null {
  const lines = fieldValues(event, 'data');
  return lines.length === 0 ? null : lines.join('\n');
}

/** The name of an event, which is the last one that it gives itself; `null` where it has none. */
export function eventName(event: Buffer): string | null {
  return fieldValues(event, 'event').at(-1) ?? null;
}

/** A byte order mark before the first field is ignored, as clients do. */
function fieldValues(event: Buffer, field: string): string[] {
  const values: string[] = [];
  for (const line of event
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)) {
    if (!line.startsWith(field)) continue;
    if (line.length > field.length && line[field.length] !== ':') continue;
    values.push(line.slice(field.length + 1).replace(/^ /, ''));
  }
  return values;
}
