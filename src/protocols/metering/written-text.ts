import { behindByteOrderMark, startsWith } from '../../lib/sse/event-fields.ts';
import { SimilarEvents } from './similar-events.ts';
import { WrittenCount } from './written-count.ts';
import { WrittenJson } from './written-json.ts';
import { type CompiledPaths, NONE, type WrittenRules } from './written-paths.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

const DATA = Buffer.from('data:');
const NAME = Buffer.from('event:');
/** Bytes that suffice to recognize a line: a byte order mark and a field name. */
const LINE_BYTES = 9;

const IN_DATA = 0;
const LINE_START = 1;
const OTHER_LINE = 2;

const NO_BYTES = Buffer.alloc(0);

/**
 * Measures the text that a model wrote, in a stream or a whole response, in one pass and without building values. Invalid JSON ends the
 * reading of its event. Only selectors and the beginning of an incomplete token are kept in memory.
 */
export class WrittenText {
  readonly #count: WrittenCount;
  readonly #json: WrittenJson;
  readonly #paths: CompiledPaths;
  readonly #similar = new SimilarEvents();
  readonly #start: number;
  #line: number;
  #isAfterCr = false;
  #rest = NO_BYTES;

  /** @param isStream true for an event stream, false for a single JSON value */
  constructor(rules: WrittenRules, isStream = true) {
    const { paths } = rules;
    this.#count = new WrittenCount(rules);
    this.#json = new WrittenJson(paths.root, this.#count, isStream);
    this.#paths = paths;
    this.#start = isStream ? LINE_START : IN_DATA;
    this.#line = this.#start;
  }

  get pictures(): number {
    return this.#count.pictures;
  }

  get sizeBytes(): number {
    return this.#count.sizeBytes;
  }

  get visibleBytes(): number {
    return this.#count.visibleBytes;
  }

  add(events: Buffer): void {
    this.addPart(events, true);
  }

  /** Counts complete events that nothing else must read. Later events that differ in one text can then be counted by `addSimilar`. */
  addPassed(events: Buffer): void {
    const count = this.#count;
    const wasAtEvent = this.#isAtEvent;
    count.texts = 0;
    this.addPart(events, true);
    const isOneText = count.texts === 1 && count.hasWrittenText && wasAtEvent && this.#isAtEvent;
    if (isOneText) this.#similar.note(events, count.textStart, count.textEnd);
  }

  /** Counts events that are similar to the last counted ones. Returns false if they are not. */
  addSimilar(events: Buffer): boolean {
    const sizeBytes = this.#similar.textBytesIn(events);
    if (sizeBytes === -1) return false;
    this.#count.addWritten(sizeBytes);
    return true;
  }

  get #isAtEvent(): boolean {
    return this.#line === LINE_START && !this.#isAfterCr && this.#rest.length === 0;
  }

  /** Counts the next chunk of an event or a response. A chunk can end at any byte. */
  addPart(part: Buffer, isLast: boolean): void {
    this.#similar.forget();
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const stop = this.#read(bytes, isLast);
    this.#rest = stop === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(stop));
    if (isLast) this.#endEvent();
  }

  /** Reads the bytes. Returns the offset of an incomplete token at the end, or the end of the bytes. */
  #read(bytes: Buffer, isLast: boolean): number {
    const end = bytes.length;
    let at = 0;
    while (at < end) {
      if (this.#line === IN_DATA) {
        at = this.#json.read(bytes, at, isLast);
        if (this.#json.cutAt !== NONE) return this.#json.cutAt;
      } else if (this.#line === LINE_START) {
        const next = this.#lineStart(bytes, at, isLast);
        if (next === at) return at;
        at = next;
        continue;
      } else {
        while (at < end && bytes[at] !== LF && bytes[at] !== CR) at++;
      }
      if (at === end) return end;
      this.#isAfterCr = bytes[at] === CR;
      this.#line = LINE_START;
      at++;
    }
    return end;
  }

  /** Recognizes a line, up to the value of a data line. Returns `start` if more bytes are necessary. */
  #lineStart(bytes: Buffer, start: number, isLast: boolean): number {
    const byte = bytes[start]!;
    const wasAfterCr = this.#isAfterCr;
    this.#isAfterCr = byte === CR;
    if (byte === LF && wasAfterCr) return start + 1;
    if (byte === LF || byte === CR) {
      this.#endEvent();
      return start + 1;
    }
    if (!isLast && bytes.length - start < LINE_BYTES && !holdsLineEnd(bytes, start)) return start;
    const at = behindByteOrderMark(bytes, start);
    if (startsWith(bytes, at, DATA)) {
      this.#line = IN_DATA;
      return at + DATA.length;
    }
    this.#line = OTHER_LINE;
    if (this.#paths.isNamedByEvent && startsWith(bytes, at, NAME)) this.#name(bytes, at + NAME.length);
    return Math.max(at, start + 1);
  }

  #name(bytes: Buffer, start: number): void {
    if (!this.#count.lacksSelector(0)) return;
    let end = start;
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
    this.#count.setSelector(0, bytes, bytes[start] === SPACE ? start + 1 : start, end);
  }

  #endEvent(): void {
    this.#count.endObject();
    this.#json.begin();
    this.#line = this.#start;
  }
}

function holdsLineEnd(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) if (bytes[at] === LF || bytes[at] === CR) return true;
  return false;
}
