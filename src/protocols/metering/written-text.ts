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
/** The beginning of a line that tells what it is: a byte order mark, and the name of a field. */
const LINE_BYTES = 9;

/** What the next byte belongs to. */
const IN_DATA = 0;
const LINE_START = 1;
const OTHER_LINE = 2;

const NO_BYTES = Buffer.alloc(0);

/**
 * The size of what a model wrote, in the events of a stream or in a whole response: finds the strings at the paths of a protocol in one
 * pass, and builds nothing. What is no JSON ends the reading of its event. Memory: the tells of an object, and the beginning of a token.
 */
export class WrittenText {
  readonly #count: WrittenCount;
  readonly #json: WrittenJson;
  readonly #paths: CompiledPaths;
  readonly #similar = new SimilarEvents();
  /** Where events begin: at a line, or for one JSON value without lines at once. */
  readonly #start: number;
  #line: number;
  /** The last line ended with a CR, so that a line feed is its second byte. */
  #isAfterCr = false;
  /** The beginning of a token that the next part has the rest of. */
  #rest = NO_BYTES;

  /** @param isStream whether the bytes are those of an event stream, or of one JSON value. */
  constructor(rules: WrittenRules, isStream = true) {
    const { paths } = rules;
    this.#count = new WrittenCount(rules);
    this.#json = new WrittenJson(paths.root, this.#count, isStream);
    this.#paths = paths;
    this.#start = isStream ? LINE_START : IN_DATA;
    this.#line = this.#start;
  }

  /** The pictures that stand in the text as base64. */
  get pictures(): number {
    return this.#count.pictures;
  }

  /** The bytes of the text, and of the reasoning as far as it is seen or is known by what is encrypted. */
  get sizeBytes(): number {
    return this.#count.sizeBytes;
  }

  /** Without what is encrypted. */
  get visibleBytes(): number {
    return this.#count.visibleBytes;
  }

  /** Counts whole events. */
  add(events: Buffer): void {
    this.addPart(events, true);
  }

  /**
   * Counts whole events that have nothing else to be read. Those that differ from them in one text alone have nothing either: `addSimilar`
   * counts them.
   */
  addPassed(events: Buffer): void {
    const count = this.#count;
    const wasAtEvent = this.#isAtEvent;
    count.texts = 0;
    this.addPart(events, true);
    const isOneText = count.texts === 1 && count.hasWrittenText && wasAtEvent && this.#isAtEvent;
    if (isOneText) this.#similar.note(events, count.textStart, count.textEnd);
  }

  /** Counts events that are like the last ones. Returns whether they are. */
  addSimilar(events: Buffer): boolean {
    const sizeBytes = this.#similar.textBytesIn(events);
    if (sizeBytes === -1) return false;
    this.#count.addWritten(sizeBytes);
    return true;
  }

  /** Whether the next byte begins an event. */
  get #isAtEvent(): boolean {
    return this.#line === LINE_START && !this.#isAfterCr && this.#rest.length === 0;
  }

  /** Counts the next part of an event, or of a response, which is cut anywhere. */
  addPart(part: Buffer, isLast: boolean): void {
    this.#similar.forget();
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const stop = this.#read(bytes, isLast);
    this.#rest = stop === bytes.length ? NO_BYTES : Buffer.from(bytes.subarray(stop));
    if (isLast) this.#endEvent();
  }

  /** Returns where a token begins that is not whole, or the end of the bytes. */
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

  /** Reads how a line begins, up to the value of a line of data. Returns the same offset if that takes more bytes. */
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

  /** The name of an event, as far as it has come, may be its first tell. */
  #name(bytes: Buffer, start: number): void {
    if (!this.#count.lacksTell(0)) return;
    let end = start;
    while (end < bytes.length && bytes[end] !== LF && bytes[end] !== CR) end++;
    this.#count.tell(0, bytes, bytes[start] === SPACE ? start + 1 : start, end);
  }

  #endEvent(): void {
    this.#count.judge();
    this.#json.begin();
    this.#line = this.#start;
  }
}

function holdsLineEnd(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) if (bytes[at] === LF || bytes[at] === CR) return true;
  return false;
}
