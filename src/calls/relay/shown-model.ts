import type { LocatedPart } from '../../lib/json/json-located.ts';
import { type JsonMember, JsonSyntaxError, scanJson } from '../../lib/json/json-scan.ts';
import { behindByteOrderMark, Lines } from '../../lib/sse/event-fields.ts';
import { eachEvent } from '../../lib/sse/sse.ts';
import { splice } from '../../protocols/operations/json-operation.ts';
import type { Splice } from '../../protocols/operations/operation.ts';

/** The member of responses with the name of the model. */
export const MODEL_MEMBER = 'model';
/** Members of events with an object that names the model, in the protocols messages and responses. */
const AROUND_MODEL = ['message', 'response'];

const MODEL_KEY = Buffer.from('model"');
/** Beginning of an escape that could hide a letter of the key. */
const ESCAPED_LETTER = Buffer.from('\\u00');
const DATA = Buffer.from('data');
const NO_BYTES = Buffer.alloc(0);
const LF = 0x0a;
const QUOTE = 0x22;
const ZERO = 0x30;
const BACKSLASH = 0x5c;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const LETTER_L = 0x6c;
const LETTER_U = 0x75;

/** Replaces the name of the model in a chunk of a whole response, where `JsonCapture` has located it. */
export function withModelName(chunk: Buffer, parts: readonly LocatedPart[], name: string): Buffer {
  if (parts.length === 0) return chunk;
  const text = JSON.stringify(name);
  return splice(
    chunk,
    parts.map(({ start, end, isFirst }) => ({ start, end, text: isFirst ? text : '' })),
  );
}

/** Replaces the name of the model in the events of a stream. All other bytes stay as they are. */
export class ShownModel {
  readonly #text: Buffer;
  /**
   * The last event with a model name, up to the end of this name, which begins at `#nameStart`. Most events of a stream begin with the same
   * bytes; they are not scanned again.
   */
  #beginning = NO_BYTES;
  #nameStart = 0;

  constructor(name: string) {
    this.#text = Buffer.from(JSON.stringify(name));
  }

  /** @param events whole events; bytes that are no event of JSON stay as they are */
  write(events: Buffer): Buffer {
    const similarEnds = this.#similarEnds(events);
    if (similarEnds !== null) return this.#writeSimilar(events, similarEnds);
    if (!mayNameModel(events, 0, events.length)) return events;
    const text = this.#text.toString();
    const splices: Splice[] = [];
    let start = 0;
    for (const event of eachEvent(events)) {
      const places = mayNameModel(event, 0, event.length) ? placesOf(event) : [];
      for (const [from, to] of places) splices.push({ start: start + from, end: start + to, text });
      this.#remember(event, places);
      start += event.length;
    }
    return splice(events, splices);
  }

  /** Returns the ends of the events if all of them begin like the last one and name no other model; otherwise `null`. */
  #similarEnds(events: Buffer): number[] | null {
    const beginning = this.#beginning;
    const { length } = beginning;
    if (length === 0) return null;
    const ends: number[] = [];
    for (let at = 0; at < events.length; ) {
      const nameEnd = at + length;
      if (nameEnd > events.length || events.compare(beginning, 0, length, at, nameEnd) !== 0) return null;
      const emptyLine = events.indexOf(EMPTY_LINE, nameEnd);
      const end = emptyLine === -1 ? events.length : emptyLine + EMPTY_LINE.length;
      if (mayNameModel(events, nameEnd, end)) return null;
      ends.push(end);
      at = end;
    }
    return ends;
  }

  #writeSimilar(events: Buffer, ends: readonly number[]): Buffer {
    const text = this.#text;
    const nameStart = this.#nameStart;
    const beginningBytes = this.#beginning.length;
    const nameBytes = beginningBytes - nameStart;
    const written = Buffer.allocUnsafe(events.length + ends.length * (text.length - nameBytes));
    let start = 0;
    let at = 0;
    for (const end of ends) {
      at += events.copy(written, at, start, start + nameStart);
      at += text.copy(written, at);
      at += events.copy(written, at, start + beginningBytes, end);
      start = end;
    }
    return written;
  }

  #remember(event: Buffer, places: readonly Place[]): void {
    const [only] = places;
    if (places.length !== 1 || only === undefined || only[1] > BEGINNING_BYTES_MAX) return;
    // A copy, because the bytes of an event are only valid while it is relayed.
    this.#beginning = Buffer.from(event.subarray(0, only[1]));
    this.#nameStart = only[0];
  }
}

const BEGINNING_BYTES_MAX = 1024;
const EMPTY_LINE = Buffer.from('\n\n');

type Place = readonly [start: number, end: number];

/** Up to this many bytes are searched one by one; for more, a search of the library is faster. */
const SHORT_BYTES = 1024;

/** Whether `bytes[start, end)` contains `model"`, or an escape that could hide a letter of it. */
function mayNameModel(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > SHORT_BYTES) {
    const part = bytes.subarray(start, end);
    return part.includes(MODEL_KEY) || part.includes(ESCAPED_LETTER);
  }
  for (let at = start; at < end; at++) {
    const byte = bytes[at];
    if (byte === LETTER_L) {
      if (bytes[at + 1] === QUOTE && bytes[at - 1] === LETTER_E && bytes[at - 2] === LETTER_D) return true;
    } else if (byte === BACKSLASH && bytes[at + 1] === LETTER_U && bytes[at + 2] === ZERO && bytes[at + 3] === ZERO) {
      return true;
    }
  }
  return false;
}

/** Finds the names of models in an event, which may have several lines of data. */
function placesOf(event: Buffer): readonly Place[] {
  const lines = dataLines(event);
  const [only] = lines;
  if (only === undefined) return [];
  if (lines.length === 1) return placesIn(event, only[0], only[1]);
  const joined = Buffer.concat(lines.flatMap(([start, end]) => [event.subarray(start, end), Buffer.of(LF)]));
  // A string cannot contain the end of a line, so each place is within one line.
  return placesIn(joined, 0, joined.length).map(([start, end]) => {
    let joinedStart = 0;
    for (const [lineStart, lineEnd] of lines) {
      const shift = lineStart - joinedStart;
      if (start + shift < lineEnd) return [start + shift, end + shift];
      joinedStart += lineEnd - lineStart + 1;
    }
    return [start, start];
  });
}

function dataLines(event: Buffer): Place[] {
  const found: Place[] = [];
  const lines = new Lines(event);
  for (let isFirst = true; lines.advance(); isFirst = false) {
    if (isFirst) lines.start = behindByteOrderMark(event, 0);
    const start = lines.valueStart(DATA);
    if (start !== -1) found.push([start, lines.end]);
  }
  return found;
}

/** Finds the names of models in `bytes[start, end)`; none if it is not JSON. */
function placesIn(bytes: Buffer, start: number, end: number): readonly Place[] {
  return membersOf(bytes, start, end).flatMap((member): readonly Place[] => {
    if (member.key === MODEL_MEMBER) return placeOf(member);
    if (member.kind !== 'object' || !AROUND_MODEL.includes(member.key)) return [];
    return membersOf(bytes, member.valueStart, member.valueEnd).flatMap((inner) =>
      inner.key === MODEL_MEMBER ? placeOf(inner) : [],
    );
  });
}

function placeOf({ kind, valueStart, valueEnd }: JsonMember): readonly Place[] {
  return kind === 'string' ? [[valueStart, valueEnd]] : [];
}

function membersOf(bytes: Buffer, start: number, end: number): readonly JsonMember[] {
  try {
    return scanJson(bytes, start, end, RESPONSE_LIMITS).members;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return [];
    throw error;
  }
}

/** Like those of whole responses: a response may contain the request. */
const RESPONSE_LIMITS = { depthMax: 512, valuesMax: Number.MAX_SAFE_INTEGER, membersMax: 10_000 };
