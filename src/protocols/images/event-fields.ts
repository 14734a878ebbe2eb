/**
 * The name and the data of an event, read as bytes. An event of this protocol may hold an image of tens of megabytes, and
 * `eventData` of `lib/sse.ts` would make several strings of that size of it.
 */
export interface EventFields {
  /** The last name that the event gives itself; `null` where it has none. */
  readonly name: string | null;
  /** The `data` lines, joined with LF; a part of the event's own bytes where there is only one. `null` without any. */
  readonly data: Buffer | null;
}

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const EVENT = Buffer.from('event');
const DATA = Buffer.from('data');

/** A name longer than this is none of ours, and is not made a string of. */
const NAME_BYTES_MAX = 256;

/** Reads a whole event, or the beginning of one: then the last line may lack its end. */
export function eventFields(event: Buffer): EventFields {
  let name: string | null = null;
  let data: Buffer | null = null;
  /** Made for the second line of data. Joined, the lines are never longer than they were apart. */
  let joined: Buffer | null = null;
  let joinedBytes = 0;
  for (const line of eachLine(event)) {
    name = fieldValue(line, EVENT)?.toString('utf8', 0, NAME_BYTES_MAX) ?? name;
    const value = fieldValue(line, DATA);
    if (value === null) continue;
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

/** Lines end with LF, CR or CRLF. Each is searched for from where it was last found: most events hold no CR at all. */
function* eachLine(event: Buffer): Generator<Buffer> {
  let start = startsWith(event, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  let lf = -1;
  let cr = -1;
  while (start < event.length) {
    if (lf < start) lf = offsetOf(event, LF, start);
    if (cr < start) cr = offsetOf(event, CR, start);
    const end = Math.min(lf, cr);
    yield event.subarray(start, end);
    start = end + (event[end] === CR && event[end + 1] === LF ? 2 : 1);
  }
}

/** The offset of the next such byte, or of the end where there is none. */
function offsetOf(bytes: Buffer, byte: number, from: number): number {
  const at = bytes.indexOf(byte, from);
  return at === -1 ? bytes.length : at;
}

/** The value of a line of this field; `null` where it is a line of another one. */
function fieldValue(line: Buffer, field: Buffer): Buffer | null {
  if (!startsWith(line, field)) return null;
  if (line.length === field.length) return line.subarray(field.length);
  if (line[field.length] !== COLON) return null;
  const start = field.length + 1;
  return line.subarray(line[start] === SPACE ? start + 1 : start);
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.length >= beginning.length && beginning.compare(bytes, 0, beginning.length) === 0;
}
