import { eachLine, LF, startsWith } from './event-lines.ts';

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

const COLON = 0x3a;
const SPACE = 0x20;
const EVENT = Buffer.from('event');
const DATA = Buffer.from('data');

/** A longer name is no known one, and no string is made of it. */
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

/** The value of a line of this field, such as `data`; `null` if it is a line of another one. */
export function fieldValue(line: Buffer, field: Buffer): Buffer | null {
  if (!startsWith(line, 0, field)) return null;
  if (line.length === field.length) return line.subarray(field.length);
  if (line[field.length] !== COLON) return null;
  const start = field.length + 1;
  return line.subarray(line[start] === SPACE ? start + 1 : start);
}
