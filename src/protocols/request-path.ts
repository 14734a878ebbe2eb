import { decodeString } from '../lib/json/json-string.ts';

/** In place of a name that is no text, or longer than any. */
export const UNREADABLE = '?';
const KEY_BYTES_MAX = 512;
const NAME_CHARACTERS_MAX = 64;
/** The most of a path that is shown; a request may have very many references on a long one. */
const PATH_CHARACTERS_MAX = 512;
const CUT = '…';

/** Where in a request the value stands that is read. */
export class RequestPath {
  readonly #bytes: Buffer;
  /** `-1 - index` of an item, or the offsets at which the key of a member begins and ends. */
  readonly #places: number[] = [];
  /** How much of it is in use: to shorten an array takes longer than to go over a small object. */
  #depth = 0;
  /** The text of the path to each place in it, down to the depth that an earlier text was made of. */
  readonly #texts: string[] = [];
  #textsDepth = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get depth(): number {
    return this.#depth;
  }

  /** Into the member whose key is `bytes[start, end)`. */
  enter(start: number, end: number): void {
    this.#cutTexts();
    this.#places[this.#depth++] = start;
    this.#places[this.#depth++] = end;
  }

  leave(): void {
    this.#depth -= 2;
  }

  /** Into an array, in front of its items. */
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

  /** The whole path: `input[3].content`. Each place is made into text once, however many references stand below it. */
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

  /** The path from a depth on, without the places of items: that in a tool, which is short. */
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

/** As much of a name as is shown. */
export function shortName(name: string): string {
  return name.slice(0, NAME_CHARACTERS_MAX);
}
