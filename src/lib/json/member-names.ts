import { foldedName } from '../folded-name.ts';
import { decodeString } from './json-string.ts';

/** Member names to find in the bytes of a JSON text. `*name` matches every name that ends with `name`; exact matches take precedence. */
export class MemberNames {
  /** All instances, from which tests generate bodies. */
  static readonly all: MemberNames[] = [];
  readonly names: readonly string[];
  readonly #folded: readonly string[];
  /** A hash table with linear probing. It maps names without `*` in folded form to their indexes in `names`. */
  readonly #slots: Int16Array;
  /** Indexes of the names that begin with `*`. */
  readonly #suffixes: readonly number[];

  constructor(...names: readonly string[]) {
    MemberNames.all.push(this);
    this.names = names;
    this.#folded = names.map((name) => foldedName(name.replace(ANY, '')));
    this.#suffixes = [...names.keys()].filter((index) => names[index]!.startsWith('*'));
    this.#slots = new Int16Array(2 ** Math.ceil(Math.log2(SLOTS_PER_NAME * names.length + 1))).fill(NONE);
    for (const [index, folded] of this.#folded.entries()) {
      if (this.#suffixes.includes(index)) continue;
      let slot = 0;
      for (let at = 0; at < folded.length; at++) slot = (Math.imul(slot, 31) + folded.charCodeAt(at)) & HASH_BITS;
      while (this.#slots[slot & (this.#slots.length - 1)] !== NONE) slot++;
      this.#slots[slot & (this.#slots.length - 1)] = index;
    }
  }

  /** Returns the index of the name with the same folded form as the bytes between two quotes; -1: none. */
  find(bytes: Buffer, start: number, end: number): number {
    let length = 0;
    let slot = 0;
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      if (byte === BACKSLASH || byte >= 0x80 || byte === 0) return this.#findDecoded(bytes, start, end);
      if (byte === UNDERSCORE || byte === HYPHEN) continue;
      if (length === FOLDED_BYTES_MAX) return NONE;
      const small = byte >= LETTER_A && byte <= LETTER_Z ? byte + 0x20 : byte;
      folding[length++] = small;
      slot = (Math.imul(slot, 31) + small) & HASH_BITS;
    }
    const slots = this.#slots;
    for (;;) {
      const index = slots[slot++ & (slots.length - 1)]!;
      if (index === NONE) break;
      const folded = this.#folded[index]!;
      if (folded.length === length && endsFolding(folded, length)) return index;
    }
    for (const index of this.#suffixes) if (endsFolding(this.#folded[index]!, length)) return index;
    return NONE;
  }

  #findDecoded(bytes: Buffer, start: number, end: number): number {
    const name = foldedName(decodeString(bytes, start, end));
    const index = this.#folded.findIndex((folded, i) => folded === name && !this.#suffixes.includes(i));
    return index === NONE ? (this.#suffixes.find((i) => name.endsWith(this.#folded[i]!)) ?? NONE) : index;
  }
}

const ANY = /^\*/;
const SLOTS_PER_NAME = 3;
const HASH_BITS = 0x3fffffff;

const FOLDED_BYTES_MAX = 64;
/** Folded bytes of the current comparison. All comparisons share them, because none is interrupted. */
const folding = new Uint8Array(FOLDED_BYTES_MAX);

/** Whether the first `length` bytes of `folding` end with a name. */
function endsFolding(folded: string, length: number): boolean {
  const start = length - folded.length;
  if (start < 0) return false;
  for (let i = 0; i < folded.length; i++) if (folded.charCodeAt(i) !== folding[start + i]) return false;
  return true;
}

const NONE = -1;
const BACKSLASH = 0x5c;
const HYPHEN = 0x2d;
const UNDERSCORE = 0x5f;
const LETTER_A = 0x41;
const LETTER_Z = 0x5a;
