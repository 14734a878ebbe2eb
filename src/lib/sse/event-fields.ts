import { LF, Lines } from './event-lines.ts';

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
  const lines = new Lines(event);
  for (let isFirst = true; lines.advance(); isFirst = false) {
    if (isFirst) lines.skipByteOrderMark();
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

/** The value of an event's `data` field, its lines joined with LF; `null` if the event has none. */
export function eventData(event: Buffer): string | null {
  return eventFields(event).data?.toString('utf8') ?? null;
}

/** The name of an event, which is its last `event` field; `null` if it has none. */
export function eventName(event: Buffer): string | null {
  return eventFields(event).name;
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
    if (beginsEvent) lines.skipByteOrderMark();
    if (lines.valueStart(DATA) !== -1) return true;
    beginsEvent = isEmpty;
  }
  return false;
}
