import { skipPlain } from '../../lib/json/json-string.ts';
import { decodedSize, escapeLength } from './estimate.ts';
import { SimilarEvents } from './similar-events.ts';
import { TELL_BYTES_MAX, WrittenCount } from './written-count.ts';
import { type CompiledPaths, NONE, type PathNode, type WrittenRules } from './written-paths.ts';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

const DATA = Buffer.from('data:');
const NAME = Buffer.from('event:');
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** The beginning of a line that tells what it is: a byte order mark, and the name of a field. */
const LINE_BYTES = 9;

/** What the next byte belongs to, outside of JSON. */
const IN_DATA = 0;
const LINE_START = 1;
const OTHER_LINE = 2;

/** ... and within. */
const VALUE = 0;
const KEY = 1;
const BEHIND_KEY = 2;
const BEHIND_VALUE = 3;
const STRING = 4;
const SKIPPED = 5;
const OVER = 6;

/** Not shared with the readers of JSON, as their own constants are not: a table of another file takes longer. */
const SPECIAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < SPACE ? 1 : 0,
);
/** The bytes of a string that are read one by one before reading by words pays. */
const SHORT_BYTES = 32;
const NO_BYTES = Buffer.alloc(0);
const NO_WORDS: Int32Array = new Int32Array(0);

/**
 * The size of what a model wrote, in the events of a stream or in a whole response: finds the strings at the paths of a protocol in one
 * pass, and builds nothing. What is no JSON ends the reading of its event. Memory: the tells of an object, and the beginning of a token.
 */
export class WrittenText {
  readonly #count: WrittenCount;
  readonly #paths: CompiledPaths;
  /** Whether the bytes are those of an event stream, or of one JSON value. */
  readonly #isStream: boolean;

  #line: number;
  #state = VALUE;
  /** The path of the value that comes next; `null`: nothing in it counts. */
  #node: PathNode | null;
  /** The open containers on a path: an object, or the items of an array. */
  readonly #open: PathNode[] = [];
  readonly #isObject: boolean[] = [];
  #depth = 0;
  /** The open containers that are skipped, or count as a whole. */
  #skippedDepth = 0;
  /** The counter and the run of the string, or of the container that counts as a whole. */
  #counter = NONE;
  #run = NONE;
  /** What follows the string. */
  #behindString = BEHIND_VALUE;
  /** The beginning of a token that the next part has the rest of. */
  #rest = NO_BYTES;
  /** The last line ended with a CR, so that a line feed is its second byte. */
  #isAfterCr = false;
  #words = NO_WORDS;
  #firstWord = NONE;
  readonly #similar = new SimilarEvents();
  /** The texts of the events that are counted, and the last one of them. */
  #texts = 0;
  #textStart = 0;
  #textEnd = 0;
  #textCounter = NONE;
  #textRun = NONE;
  #textBytes = 0;

  constructor(rules: WrittenRules, isStream = true) {
    const { paths } = rules;
    this.#count = new WrittenCount(rules);
    this.#paths = paths;
    this.#isStream = isStream;
    this.#node = paths.root;
    this.#line = isStream ? LINE_START : IN_DATA;
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
    const wasAtEvent = this.#isAtEvent;
    this.#texts = 0;
    this.add(events);
    if (this.#texts !== 1 || !wasAtEvent || !this.#isAtEvent) return;
    const isAllOfIt = this.#count.hasWritten(this.#textCounter, this.#textRun, this.#textBytes);
    if (isAllOfIt) this.#similar.note(events, this.#textStart, this.#textEnd);
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
    this.#rest = NO_BYTES;
    this.#firstWord = NONE;
    this.#read(bytes, isLast);
    this.#words = NO_WORDS;
    if (isLast) this.#endEvent();
  }

  #read(bytes: Buffer, isLast: boolean): void {
    const end = bytes.length;
    let at = 0;
    while (at < end) {
      if (this.#line !== IN_DATA) {
        at = this.#line === LINE_START ? this.#lineStart(bytes, at, isLast) : this.#restOfLine(bytes, at);
        continue;
      }
      const byte = bytes[at]!;
      if (byte <= SPACE && this.#state !== STRING) {
        if (byte !== SPACE && this.#isStream && isLineEnd(byte)) this.#lineEnds(byte);
        at++;
        continue;
      }
      switch (this.#state) {
        case BEHIND_VALUE:
          this.#behindValue(byte);
          at++;
          break;
        case KEY:
          at = this.#key(bytes, at, isLast);
          break;
        case BEHIND_KEY:
          this.#state = byte === COLON ? VALUE : OVER;
          at++;
          break;
        case VALUE:
          at = this.#value(bytes, at, isLast);
          break;
        case STRING:
          at = this.#string(bytes, at, isLast);
          break;
        case SKIPPED:
          at = this.#skipped(bytes, at);
          break;
        default:
          at++;
      }
    }
  }

  #lineEnds(byte: number): void {
    this.#isAfterCr = byte === CR;
    this.#line = LINE_START;
  }

  /** Reads how a line begins, up to the value of a line of data. */
  #lineStart(bytes: Buffer, start: number, isLast: boolean): number {
    let at = start;
    if (this.#isAfterCr) {
      this.#isAfterCr = false;
      if (bytes[at] === LF) return at + 1;
    }
    const byte = bytes[at]!;
    if (isLineEnd(byte)) {
      this.#endEvent();
      this.#lineEnds(byte);
      return at + 1;
    }
    if (!isLast && bytes.length - at < LINE_BYTES && !holdsLineEnd(bytes, at)) return this.#keep(bytes, at);
    if (startsWith(bytes, at, BYTE_ORDER_MARK)) at += BYTE_ORDER_MARK.length;
    if (startsWith(bytes, at, DATA)) {
      this.#line = IN_DATA;
      return at + DATA.length;
    }
    this.#line = OTHER_LINE;
    const isName = this.#paths.isNamedByEvent && this.#count.lacksTell(0) && startsWith(bytes, at, NAME);
    const end = this.#restOfLine(bytes, at);
    if (isName) {
      const name = at + NAME.length;
      const isEnded = isLineEnd(bytes[end - 1]!);
      this.#count.tell(0, bytes, bytes[name] === SPACE ? name + 1 : name, isEnded ? end - 1 : end);
    }
    return end;
  }

  #restOfLine(bytes: Buffer, start: number): number {
    let at = start;
    while (at < bytes.length && (bytes[at]! > CR || !isLineEnd(bytes[at]!))) at++;
    if (at === bytes.length) return at;
    this.#lineEnds(bytes[at]!);
    return at + 1;
  }

  /** Keeps the beginning of a token for the next part. */
  #keep(bytes: Buffer, from: number): number {
    this.#rest = Buffer.from(bytes.subarray(from));
    return bytes.length;
  }

  #behindValue(byte: number): void {
    if (this.#depth === 0) {
      this.#state = OVER;
    } else if (byte === COMMA) {
      if (this.#isObject[this.#depth - 1]) this.#state = KEY;
      else this.#begin(this.#open[this.#depth - 1]!);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      this.#close();
    }
  }

  /** A value at this path comes next. */
  #begin(node: PathNode | null): void {
    this.#node = node;
    this.#state = VALUE;
  }

  /** Reads a key, and on over members that are not looked for, up to the value of one that is. */
  #key(bytes: Buffer, start: number, isLast: boolean): number {
    const node = this.#open[this.#depth - 1]!;
    let from = start;
    while (bytes[from] === QUOTE) {
      let at = from + 1;
      while (at < bytes.length && SPECIAL[bytes[at]!] === 0) at++;
      if (bytes[at] !== QUOTE) {
        if (at === bytes.length && !isLast && at - from <= TELL_BYTES_MAX) return this.#keep(bytes, from);
        // Too long, or with an escape, which no writer has reason to put into a name.
        this.#node = null;
        this.#beginString(NONE, NONE, BEHIND_KEY);
        return from + 1;
      }
      const member = memberNode(node, bytes, from + 1, at);
      at++;
      const end = member === null ? plainMemberEnd(bytes, at) : NONE;
      if (end === NONE) return this.#behindKey(member, bytes, at, isLast);
      if (bytes[end] === CLOSE_BRACE) {
        this.#close();
        return end + 1;
      }
      from = bytes[end + 1] === SPACE ? end + 2 : end + 1;
    }
    return this.#noKey(bytes, from);
  }

  #behindKey(node: PathNode | null, bytes: Buffer, start: number, isLast: boolean): number {
    this.#node = node;
    this.#state = BEHIND_KEY;
    if (bytes[start] !== COLON) return start;
    this.#state = VALUE;
    const at = bytes[start + 1] === SPACE ? start + 2 : start + 1;
    return at < bytes.length && bytes[at]! > SPACE ? this.#value(bytes, at, isLast) : at;
  }

  #noKey(bytes: Buffer, at: number): number {
    const byte = bytes[at];
    if (byte === undefined || byte <= SPACE) return at;
    if (byte === CLOSE_BRACE) this.#close();
    else if (byte !== COMMA) this.#state = OVER;
    return at + 1;
  }

  #value(bytes: Buffer, start: number, isLast: boolean): number {
    const byte = bytes[start]!;
    const node = this.#node;
    if (node !== null && node.tell !== NONE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET) {
      const end = tokenEnd(bytes, start);
      if (end === bytes.length && !isLast && end - start <= TELL_BYTES_MAX) return this.#keep(bytes, start);
      const quote = byte === QUOTE ? 1 : 0;
      this.#count.tell(node.tell, bytes, start + quote, end - quote);
    }
    switch (byte) {
      case QUOTE:
        if (node === null) this.#beginString(NONE, NONE, BEHIND_VALUE);
        else this.#beginString(node.counter, node.run, BEHIND_VALUE);
        return this.#string(bytes, start + 1, isLast);
      case OPEN_BRACE:
        if (node !== null && (node.members.length > 0 || node.isJudged)) this.#enter(node, true);
        else this.#skip(node);
        break;
      case OPEN_BRACKET:
        if (node !== null && node.items !== null) this.#enter(node.items, false);
        else this.#skip(node);
        break;
      case CLOSE_BRACKET:
        this.#close();
        break;
      default:
        this.#state = BEHIND_VALUE;
    }
    return start + 1;
  }

  #enter(node: PathNode, isObject: boolean): void {
    this.#open[this.#depth] = node;
    this.#isObject[this.#depth] = isObject;
    this.#depth++;
    if (isObject) this.#state = KEY;
    else this.#begin(node);
  }

  #close(): void {
    if (this.#depth === 0) {
      this.#state = OVER;
      return;
    }
    this.#depth--;
    if (this.#isObject[this.#depth] && this.#open[this.#depth]!.isJudged) this.#count.judge();
    this.#state = this.#depth === 0 ? OVER : BEHIND_VALUE;
  }

  /** Passes over a container, which counts as a whole if something is written at its path. */
  #skip(node: PathNode | null): void {
    this.#counter = node?.isJson ? node.counter : NONE;
    this.#skippedDepth = 1;
    this.#state = SKIPPED;
    if (this.#counter === NONE) return;
    this.#count.containerBegins(node!);
    this.#count.add(this.#counter, 1);
  }

  #skipped(bytes: Buffer, start: number): number {
    const counter = this.#counter;
    let size = 0;
    let at = start;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte <= SPACE) break;
      size++;
      if (byte === QUOTE) {
        size++;
        this.#beginString(counter, NONE, SKIPPED);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        this.#skippedDepth++;
      } else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --this.#skippedDepth === 0) {
        this.#state = this.#depth === 0 ? OVER : BEHIND_VALUE;
      }
      if (this.#state !== SKIPPED) {
        at++;
        break;
      }
    }
    if (counter === NONE) return at;
    this.#count.add(counter, size);
    if (this.#skippedDepth === 0) this.#count.containerEnds(counter);
    return at;
  }

  #beginString(counter: number, run: number, behind: number): void {
    this.#counter = counter;
    this.#run = run;
    this.#behindString = behind;
    this.#state = STRING;
  }

  /** Reads on in a string, to its end or to that of the bytes; no string has the end of a line. */
  #string(bytes: Buffer, start: number, isLast: boolean): number {
    const length = bytes.length;
    let escapeStart = NONE;
    let at = start;
    while (at < length) {
      const near = Math.min(length, at + SHORT_BYTES);
      while (at < near && SPECIAL[bytes[at]!] === 0) at++;
      if (at === near && at < length) at = this.#skipPlain(bytes, at);
      if (at >= length) break;
      const byte = bytes[at]!;
      if (byte === BACKSLASH) {
        escapeStart = at;
        at += 2;
      } else if (byte === QUOTE || isLineEnd(byte)) {
        break;
      } else {
        at++;
      }
    }
    const stop = Math.min(at, length);
    if (stop === length && escapeStart !== NONE && !isLast && escapeStart + escapeLength(bytes, escapeStart) > length) {
      this.#countString(bytes, start, escapeStart, true);
      return this.#keep(bytes, escapeStart);
    }
    this.#countString(bytes, start, stop, escapeStart !== NONE);
    if (stop === length) return length;
    this.#state = bytes[stop] === QUOTE ? this.#behindString : OVER;
    return bytes[stop] === QUOTE ? stop + 1 : stop;
  }

  #skipPlain(bytes: Buffer, start: number): number {
    if (this.#firstWord === NONE) {
      this.#firstWord = -bytes.byteOffset & 3;
      const words = (bytes.length - this.#firstWord) >> 2;
      this.#words = words > 0 ? new Int32Array(bytes.buffer, bytes.byteOffset + this.#firstWord, words) : NO_WORDS;
    }
    return skipPlain(bytes, this.#words, this.#firstWord, start);
  }

  #countString(bytes: Buffer, start: number, end: number, hasEscapes: boolean): void {
    if (this.#counter === NONE) return;
    this.#texts++;
    this.#textStart = start;
    this.#textEnd = end;
    this.#textCounter = this.#counter;
    this.#textRun = this.#run;
    const sizeBytes = hasEscapes ? decodedSize(bytes, start, end) : end - start;
    this.#textBytes = sizeBytes;
    this.#count.addText(this.#counter, this.#run, bytes, start, end, sizeBytes);
  }

  #endEvent(): void {
    this.#count.judge();
    this.#begin(this.#paths.root);
    this.#depth = 0;
    this.#line = this.#isStream ? LINE_START : IN_DATA;
  }
}

const isLineEnd = (byte: number): boolean => byte === LF || byte === CR;

function holdsLineEnd(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at++) if (isLineEnd(bytes[at]!)) return true;
  return false;
}

function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false;
  return true;
}

function memberNode({ members, lengths }: PathNode, bytes: Buffer, start: number, end: number): PathNode | null {
  const length = end - start;
  if ((lengths & (1 << length)) === 0) return null;
  for (let i = 0; i < members.length; i++) {
    const { name, node } = members[i]!;
    if (name.length === length && startsWith(bytes, start, name)) return node;
  }
  return null;
}

/**
 * Where the comma or the brace stands that follows a member whose key ends at `start`, if its value is a string without escapes, a number
 * or a literal; `NONE` if that takes a second look or more bytes.
 */
function plainMemberEnd(bytes: Buffer, start: number): number {
  if (bytes[start] !== COLON) return NONE;
  let at = start + 1;
  if (bytes[at] === SPACE) at++;
  const first = bytes[at];
  at++;
  if (first === QUOTE) {
    while (at < bytes.length && SPECIAL[bytes[at]!] === 0) at++;
    if (bytes[at] !== QUOTE) return NONE;
    at++;
  } else {
    if (first === OPEN_BRACE || first === OPEN_BRACKET) return NONE;
    while (at < bytes.length && !endsWord(bytes[at]!)) at++;
  }
  return bytes[at] === COMMA || bytes[at] === CLOSE_BRACE ? at : NONE;
}

/** Where a string, a number or a literal ends, or the bytes do. */
function tokenEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  if (bytes[start] === QUOTE) {
    while (at < bytes.length && SPECIAL[bytes[at]!] === 0) at++;
    return Math.min(at + 1, bytes.length);
  }
  while (at < bytes.length && !endsWord(bytes[at]!)) at++;
  return at;
}

const endsWord = (byte: number): boolean =>
  byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
