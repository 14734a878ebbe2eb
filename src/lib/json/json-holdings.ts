import { ByteSpan } from '../byte-span.ts';
import { decodeString } from './json-string.ts';

/**
 * What is looked for in a JSON object and in the items of some of its members: names by group. An item that holds several
 * of one group counts once, as one picture does that has both an address and its bytes.
 */
export interface HoldingRules<Group extends string = string> {
  /** Names in the outermost object itself. */
  readonly outer: Readonly<Record<Group, readonly string[]>>;
  /** Members of the outermost object that are one item, or a list of them. */
  readonly places: readonly string[];
  /** Names in an item. */
  readonly items: Readonly<Record<Group, readonly string[]>>;
}

/** Deeper values are never looked at. */
export const HOLDINGS_DEPTH_MAX = 3;

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const NONE = -1;
/** `""`, `{}` and `[]` hold nothing. */
const EMPTY_BYTES = 2;
/** No spelling of a name is longer: `\uXXXX` is the longest of a UTF-16 unit. */
const SPELLING_BYTES = 6;

/** What the member of the outermost object is that is being read. */
type Form = 'other' | 'item' | 'list';

/**
 * Counts what an object holds while its text passes by in chunks. A value counts if it is neither null nor false nor
 * empty; how large it is does not matter, since nothing of it is kept. Offsets of values count from the beginning of the
 * text, those of keys from that of the chunk.
 */
export class JsonHoldings {
  readonly #rules: HoldingRules;
  readonly #names: readonly string[];
  readonly #keyBytesMax: number;
  /** The key that comes last at each depth, as an index of `#names`. */
  readonly #keys = [NONE, NONE, NONE, NONE];
  readonly #starts = [0, 0, 0, 0];
  readonly #firstBytes = [0, 0, 0, 0];
  readonly #inOuter: boolean[];
  readonly #inItem: boolean[];
  readonly #counts = new Map<string, Map<string, number>>();
  #form: Form = 'other';
  readonly #span = new ByteSpan();

  constructor(rules: HoldingRules) {
    this.#rules = rules;
    const all = [rules.places, ...Object.values(rules.outer), ...Object.values(rules.items)];
    this.#names = [...new Set(all.flat())];
    this.#keyBytesMax = SPELLING_BYTES * Math.max(...this.#names.map((name) => name.length));
    this.#inOuter = this.#names.map(() => false);
    this.#inItem = this.#names.map(() => false);
  }

  /** How many items hold something of the group: those of the place that has most, for some responses list them twice. */
  count(group: string): number {
    let most = this.#holds(this.#rules.outer[group] ?? [], this.#inOuter) ? 1 : 0;
    for (const counts of this.#counts.values()) most = Math.max(most, counts.get(group) ?? 0);
    return most;
  }

  /** A key begins, behind its quote at `at`. */
  keyBegins(at: number): void {
    this.#span.begin(at + 1, this.#keyBytesMax);
  }

  /** The key has ended whose text is `chunk[start, end)`, or began in an earlier chunk where `start` is negative. */
  keyEnds(depth: number, chunk: Buffer, start: number, end: number): void {
    let key: Buffer | null;
    if (start >= 0) {
      this.#span.letGo();
      key = end - start > this.#keyBytesMax ? null : chunk.subarray(start, end);
    } else {
      key = this.#span.end(chunk, end);
    }
    this.#keys[depth] = key === null ? NONE : this.#names.indexOf(decodeString(key, 0, key.length));
  }

  /** A value begins, with `byte`. */
  valueBegins(depth: number, byte: number, at: number): void {
    this.#starts[depth] = at;
    this.#firstBytes[depth] = byte;
    if (depth === 1) {
      const place = this.#place();
      if (place === null) return;
      this.#form = byte === OPEN_BRACKET ? 'list' : byte === OPEN_BRACE ? 'item' : 'other';
      // It replaces what an earlier member of the same name left.
      this.#counts.set(place, new Map());
    }
    if (this.#form !== 'other' && depth <= 2) this.#beginItem(depth);
  }

  #beginItem(depth: number): void {
    if (depth === (this.#form === 'list' ? 2 : 1)) this.#inItem.fill(false);
  }

  /** A value has ended, before `at`. */
  valueEnds(depth: number, at: number): void {
    const key = this.#keys[depth]!;
    if (depth === 1) {
      if (this.#form === 'item') this.#countItem();
      this.#form = 'other';
      if (key !== NONE) this.#inOuter[key] = this.#holdsSomething(depth, at);
      return;
    }
    if (this.#form === 'other') return;
    if (this.#form === 'list' && depth === 2) {
      if (this.#firstBytes[2] === OPEN_BRACE) this.#countItem();
      return;
    }
    const isInItem = this.#form === 'item' ? depth === 2 : this.#firstBytes[2] === OPEN_BRACE;
    if (isInItem && key !== NONE) this.#inItem[key] = this.#holdsSomething(depth, at);
  }

  #countItem(): void {
    const counts = this.#counts.get(this.#place()!)!;
    for (const [group, names] of Object.entries(this.#rules.items)) {
      if (this.#holds(names, this.#inItem)) counts.set(group, (counts.get(group) ?? 0) + 1);
    }
  }

  /** The place that the member being read is; `null`: none. */
  #place(): string | null {
    const name = this.#names[this.#keys[1]!];
    return name !== undefined && this.#rules.places.includes(name) ? name : null;
  }

  #holds(names: readonly string[], among: readonly boolean[]): boolean {
    return names.some((name) => among[this.#names.indexOf(name)]);
  }

  #holdsSomething(depth: number, end: number): boolean {
    const first = this.#firstBytes[depth];
    return first !== LETTER_N && first !== LETTER_F && end - this.#starts[depth]! > EMPTY_BYTES;
  }

  /** The chunk is over: what matters of it is copied. */
  carry(chunk: Buffer): void {
    this.#span.carry(chunk);
  }

  /** The text is broken. */
  letGo(): void {
    this.#span.letGo();
  }
}
