import { decodeString } from '../lib/json/json-string.ts';

export const UNREADABLE = '?';
const KEY_BYTES_MAX = 512;
const NAME_CHARACTERS_MAX = 64;
/** Maximum length of a path in an error message. Otherwise, many references below one long path would produce very much text. */
const PATH_CHARACTERS_MAX = 512;
const CUT = '…';

/** Path of the value that is being read, such as `input[3].content`. */
export class RequestPath {
  readonly #bytes: Buffer;
  /** Entries: `-1 - index` for an item of an array; for a member, the start and end offset of its key. */
  readonly #places: number[] = [];
  /** Number of entries of `#places` in use. Truncating the array would cost more than reading a small object. */
  #depth = 0;
  /** Cache: texts of the path and its prefixes, valid up to `#textsDepth`. */
  readonly #texts: string[] = [];
  #textsDepth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get depth(): number {
    return this.#depth;
  }

  enter(start: number, end: number): void {
    this.#cutTexts();
    this.#places[this.#depth++] = start;
    this.#places[this.#depth++] = end;
  }

  leave(): void {
    this.#depth -= 2;
  }

  enterArray(): void {
    this.#places[this.#depth++] = 0;
  }

  nextItem(): void {
    this.#places[--this.#depth]!--;
    this.#cutTexts();
    this.#depth++;
  }

  leaveArray(): void {
    this.#depth--;
  }

  #cutTexts(): void {
    if (this.#textsDepth > this.#depth) this.#textsDepth = this.#depth;
  }

  /** Returns the path as text. Each prefix is converted once, however many references are below it. */
  text(): string {
    const places = this.#places;
    let at = Math.min(this.#textsDepth, this.#depth);
    let text = at === 0 ? '' : this.#texts[at - 1]!;
    while (at < this.#depth) {
      const place = places[at++]!;
      const end = place < 0 ? 0 : places[at++]!;
      if (text.length <= PATH_CHARACTERS_MAX) {
        if (place < 0) text += `[${-1 - place}]`;
        else text += text === '' ? this.#key(place, end) : `.${this.#key(place, end)}`;
        if (text.length > PATH_CHARACTERS_MAX) text = `${text.slice(0, PATH_CHARACTERS_MAX)}${CUT}`;
      }
      this.#texts[at - 1] = text;
    }
    this.#textsDepth = Math.max(this.#textsDepth, this.#depth);
    return text;
  }

  /** Returns the part of the path below a depth, without array indexes. */
  textFrom(depth: number): string {
    let text = '';
    for (let at = depth; at < this.#depth; at++) {
      const place = this.#places[at]!;
      if (place >= 0) text += `.${this.#key(place, this.#places[++at]!)}`;
    }
    return text;
  }

  #key(start: number, end: number): string {
    if (end - start > KEY_BYTES_MAX) return UNREADABLE;
    return shortName(decodeString(this.#bytes, start, end));
  }
}

export function shortName(name: string): string {
  return name.slice(0, NAME_CHARACTERS_MAX);
}
