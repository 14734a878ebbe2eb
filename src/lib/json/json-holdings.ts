import { ByteSpan } from '../byte-span.ts';
import { decodeString } from './json-string.ts';

/** Names to find in a JSON object and in items of its members, by group. An item with several names of a group counts once. */
export interface HoldingRules<Group extends string = string> {
  /** Names that are counted in the outermost object. */
  readonly outer: Readonly<Record<Group, readonly string[]>>;
  /** Members of the outermost object that are an item or an array of items. */
  readonly places: readonly string[];
  /** Names that are counted in items. */
  readonly items: Readonly<Record<Group, readonly string[]>>;
}

/** Maximum depth at which values are noted. */
export const HOLDINGS_DEPTH_MAX = 3;

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const NONE = -1;
const EMPTY_BYTES = 2;
/** Bytes of the longest spelling of a UTF-16 unit: `\uXXXX`. */
const SPELLING_BYTES = 6;

/** What the current member of the outermost object is: an item, a list of items, or neither. */
type Form = 'other' | 'item' | 'list';

/**
 * Counts values with certain names that are not null, false or empty. `JsonCapture` reports offsets: of values in the text, of keys in the
 * chunk. Values are not kept.
 */
export class JsonHoldings {
  readonly #rules: HoldingRules;
  readonly #names: readonly string[];
  readonly #keyBytesMax: number;
  /** Index in `#names` of the last key at each depth. */
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

  /** Returns the number of items with a name of the group. Some responses list items in two places, so the greater number counts. */
  count(group: string): number {
    let most = this.#holds(this.#rules.outer[group] ?? [], this.#inOuter) ? 1 : 0;
    for (const counts of this.#counts.values()) most = Math.max(most, counts.get(group) ?? 0);
    return most;
  }

  keyBegins(at: number): void {
    this.#span.begin(at + 1, this.#keyBytesMax);
  }

  /** Called at the end of the key `chunk[start, end)`. `start` is negative if the key began in an earlier chunk. */
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

  valueBegins(depth: number, byte: number, at: number): void {
    this.#starts[depth] = at;
    this.#firstBytes[depth] = byte;
    if (depth === 1) {
      const place = this.#place();
      if (place === null) return;
      this.#form = byte === OPEN_BRACKET ? 'list' : byte === OPEN_BRACE ? 'item' : 'other';
      // Forgets an earlier member with the same name, which this one replaces.
      this.#counts.set(place, new Map());
    }
    if (this.#form !== 'other' && depth <= 2) this.#beginItem(depth);
  }

  #beginItem(depth: number): void {
    if (depth === (this.#form === 'list' ? 2 : 1)) this.#inItem.fill(false);
  }

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

  carry(chunk: Buffer): void {
    this.#span.carry(chunk);
  }

  letGo(): void {
    this.#span.letGo();
  }
}
