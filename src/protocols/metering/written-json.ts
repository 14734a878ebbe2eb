import { findNamed, PlainTexts, plainMemberEnd, SPECIAL_BYTES, tokenEnd } from '../../lib/json/json-string.ts';
import { decodedSize, escapeLength } from './estimate.ts';
import { SELECTOR_BYTES_MAX, type WrittenCount } from './written-count.ts';
import { NONE, type PathNode } from './written-paths.ts';

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

const VALUE = 0;
const KEY = 1;
const AFTER_KEY = 2;
const AFTER_VALUE = 3;
const STRING = 4;
const SKIPPED = 5;
const OVER = 6;

/** Copied to this file, because access to an imported binding in a loop is slower. */
const SPECIAL = SPECIAL_BYTES;

/** Parses JSON in chunks and counts the strings at a protocol's paths. */
export class WrittenJson {
  readonly #root: PathNode;
  readonly #count: WrittenCount;
  /** Whether the JSON is the data of an event. `read` then stops at the end of each line. */
  readonly #isInLines: boolean;
  #state = VALUE;
  #node: PathNode | null;
  /** Path nodes of the open containers: of an object, or of the items of an array. */
  readonly #open: PathNode[] = [];
  readonly #isObject: boolean[] = [];
  #depth = 0;
  /** Number of open containers that are skipped, or counted as JSON. */
  #skippedDepth = 0;
  /** Counter, and index of the `DataRuns`, of the current string or of the container that counts as JSON. */
  #counter = NONE;
  #run = NONE;
  #stateAfterString = AFTER_VALUE;
  readonly #plainTexts = new PlainTexts();
  /** Offset of a token that is incomplete so far; otherwise `NONE`. */
  cutAt = NONE;

  constructor(root: PathNode, count: WrittenCount, isInLines: boolean) {
    this.#root = root;
    this.#node = root;
    this.#count = count;
    this.#isInLines = isInLines;
  }

  begin(): void {
    this.#node = this.#root;
    this.#state = VALUE;
    this.#depth = 0;
  }

  /** Reads to the end of the line or of the bytes, and returns that offset. */
  read(bytes: Buffer, start: number, isLast: boolean): number {
    this.cutAt = NONE;
    const end = this.#read(bytes, start, isLast);
    this.#plainTexts.letGo();
    return end;
  }

  #read(bytes: Buffer, start: number, isLast: boolean): number {
    const end = bytes.length;
    let at = start;
    while (at < end) {
      const byte = bytes[at]!;
      if (byte <= SPACE && this.#state !== STRING) {
        if (this.#isInLines && (byte === LF || byte === CR)) return at;
        at++;
        continue;
      }
      switch (this.#state) {
        case AFTER_VALUE:
          if (byte === COMMA && this.#depth > 0) this.#next();
          else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET || this.#depth === 0) this.#close();
          at++;
          break;
        case KEY:
          at = byte === QUOTE ? this.#key(bytes, at, isLast) : this.#noKey(byte, at);
          break;
        case AFTER_KEY:
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
    return end;
  }

  #next(): void {
    const last = this.#depth - 1;
    this.#node = this.#open[last]!;
    this.#state = this.#isObject[last] ? KEY : VALUE;
  }

  #cut(bytes: Buffer, from: number): number {
    this.cutAt = from;
    return bytes.length;
  }

  /** Reads a key and skips its value if no path contains the key. Returns the offset at which reading continues. */
  #key(bytes: Buffer, start: number, isLast: boolean): number {
    const node = this.#open[this.#depth - 1]!;
    let from = start;
    while (bytes[from] === QUOTE) {
      let at = from + 1;
      while (at < bytes.length && SPECIAL[bytes[at]!] === 0) at++;
      if (bytes[at] !== QUOTE) {
        if (at === bytes.length && !isLast && at - from <= SELECTOR_BYTES_MAX) return this.#cut(bytes, from);
        // A key this long, or with an escape, is in no path.
        this.#node = null;
        this.#beginString(NONE, NONE, AFTER_KEY);
        return from + 1;
      }
      const hasLength = (node.lengths & (1 << (at - from - 1))) !== 0;
      const member = hasLength ? (findNamed(node.members, bytes, from + 1, at)?.node ?? null) : null;
      at++;
      const end = member === null ? plainMemberEnd(bytes, at) : NONE;
      if (end === NONE) return this.#afterKey(member, bytes, at, isLast);
      if (bytes[end] === CLOSE_BRACE) {
        this.#close();
        return end + 1;
      }
      from = bytes[end + 1] === SPACE ? end + 2 : end + 1;
    }
    return from;
  }

  #afterKey(node: PathNode | null, bytes: Buffer, start: number, isLast: boolean): number {
    this.#node = node;
    this.#state = AFTER_KEY;
    if (bytes[start] !== COLON) return start;
    this.#state = VALUE;
    const at = bytes[start + 1] === SPACE ? start + 2 : start + 1;
    return at < bytes.length && bytes[at]! > SPACE ? this.#value(bytes, at, isLast) : at;
  }

  #noKey(byte: number, at: number): number {
    if (byte === CLOSE_BRACE) this.#close();
    else if (byte !== COMMA) this.#state = OVER;
    return at + 1;
  }

  #value(bytes: Buffer, start: number, isLast: boolean): number {
    const byte = bytes[start]!;
    const node = this.#node;
    if (node !== null && node.selector !== NONE && byte !== OPEN_BRACE && byte !== OPEN_BRACKET) {
      const end = tokenEnd(bytes, start);
      if (end === bytes.length && !isLast && end - start <= SELECTOR_BYTES_MAX) return this.#cut(bytes, start);
      const quote = byte === QUOTE ? 1 : 0;
      this.#count.setSelector(node.selector, bytes, start + quote, end - quote);
    }
    switch (byte) {
      case QUOTE:
        this.#beginString(node?.counter ?? NONE, node?.run ?? NONE, AFTER_VALUE);
        return this.#string(bytes, start + 1, isLast);
      case OPEN_BRACE:
        if (node !== null && (node.members.length > 0 || node.isClassified)) this.#enter(node, true);
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
        this.#state = AFTER_VALUE;
    }
    return start + 1;
  }

  #enter(node: PathNode, isObject: boolean): void {
    this.#open[this.#depth] = node;
    this.#isObject[this.#depth] = isObject;
    this.#depth++;
    this.#node = node;
    this.#state = isObject ? KEY : VALUE;
  }

  #close(): void {
    if (this.#depth === 0) {
      this.#state = OVER;
      return;
    }
    this.#depth--;
    if (this.#isObject[this.#depth] && this.#open[this.#depth]!.isClassified) this.#count.endObject();
    this.#state = this.#depth === 0 ? OVER : AFTER_VALUE;
  }

  /** Skips a container, or counts it as JSON if its path requires this. */
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
        this.#state = this.#depth === 0 ? OVER : AFTER_VALUE;
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

  #beginString(counter: number, run: number, stateAfter: number): void {
    this.#counter = counter;
    this.#run = run;
    this.#stateAfterString = stateAfter;
    this.#state = STRING;
  }

  /** Reads to the end of the string or of the bytes. A string cannot contain a line break. */
  #string(bytes: Buffer, start: number, isLast: boolean): number {
    const length = bytes.length;
    let escapeStart = NONE;
    let at = start;
    while (at < length) {
      at = this.#plainTexts.endFrom(bytes, at);
      if (at >= length) break;
      const byte = bytes[at]!;
      if (byte === BACKSLASH) {
        escapeStart = at;
        at += 2;
      } else if (byte === QUOTE || byte === LF || byte === CR) {
        break;
      } else {
        at++;
      }
    }
    const stop = Math.min(at, length);
    if (stop === length && escapeStart !== NONE && !isLast && escapeStart + escapeLength(bytes, escapeStart) > length) {
      this.#countString(bytes, start, escapeStart, true);
      return this.#cut(bytes, escapeStart);
    }
    this.#countString(bytes, start, stop, escapeStart !== NONE);
    if (stop === length) return length;
    this.#state = bytes[stop] === QUOTE ? this.#stateAfterString : OVER;
    return bytes[stop] === QUOTE ? stop + 1 : stop;
  }

  #countString(bytes: Buffer, start: number, end: number, hasEscapes: boolean): void {
    if (this.#counter === NONE) return;
    const sizeBytes = hasEscapes ? decodedSize(bytes, start, end) : end - start;
    this.#count.addText(this.#counter, this.#run, bytes, start, end, sizeBytes);
  }
}
