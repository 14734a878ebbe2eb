/** Patterns have a bit each. */
const PATTERNS_MAX = 31;
/** So many first bytes decide where a pattern is compared. */
const HEAD_BYTES = 3;
/** Pairs of bytes with one hash share a shift. */
const PAIRS = 1 << 12;
const PAIR_SHIFT = 5;

/**
 * Finds several short patterns in one pass. `Buffer.indexOf` leaves compiled code for each pattern, which for a chunk of a stream
 * takes as long as to go through all of its bytes. Most bytes are not read: two of them say how far off the next occurrence is at
 * least (S. Wu and U. Manber, A fast algorithm for multi-pattern searching, 1994).
 */
export class BytePatterns {
  readonly #patterns: readonly Buffer[];
  /** For each place of a head, which patterns have which byte there. */
  readonly #heads: readonly [Int32Array, Int32Array, Int32Array];
  /** The last byte of the shortest pattern, as an offset in it. */
  readonly #last: number;
  /** How far a pattern begins at least behind the place at which the shortest one would end with a pair of bytes. */
  readonly #shifts = new Uint8Array(PAIRS);

  /** @throws RangeError of more than 31 patterns, or one of less than three bytes. */
  constructor(patterns: readonly Buffer[]) {
    if (patterns.length > PATTERNS_MAX || patterns.some(({ length }) => length < HEAD_BYTES)) {
      throw new RangeError(`at most ${PATTERNS_MAX} patterns, each of ${HEAD_BYTES} bytes and more`);
    }
    this.#patterns = patterns;
    this.#heads = [headsAt(patterns, 0), headsAt(patterns, 1), headsAt(patterns, 2)];
    this.#last = Math.min(SHIFT_MAX, ...patterns.map(({ length }) => length - 1));
    this.#shifts.fill(this.#last);
    for (const pattern of patterns) {
      for (let at = 1; at <= this.#last; at++) {
        const pair = ((pattern[at - 1]! << PAIR_SHIFT) ^ pattern[at]!) & (PAIRS - 1);
        this.#shifts[pair] = Math.min(this.#shifts[pair]!, this.#last - at);
      }
    }
  }

  /**
   * Whether any occurrence is one that is looked for. They come in the order of their offsets, and may overlap.
   *
   * @param isWanted is given the index of the pattern and the offset behind its occurrence
   */
  some(bytes: Buffer, isWanted: (pattern: number, end: number) => boolean): boolean {
    const [first, second, third] = this.#heads;
    for (let at = this.#headFrom(bytes, 0); at !== -1; at = this.#headFrom(bytes, at + 1)) {
      let candidates = first[bytes[at]!]! & second[bytes[at + 1]!]! & third[bytes[at + 2]!]!;
      for (; candidates !== 0; candidates &= candidates - 1) {
        const pattern = 31 - Math.clz32(candidates & -candidates);
        const wanted = this.#patterns[pattern]!;
        let length = HEAD_BYTES;
        while (length < wanted.length && bytes[at + length] === wanted[length]) length++;
        if (length === wanted.length && isWanted(pattern, at + length)) return true;
      }
    }
    return false;
  }

  /** The offset of the next head of any pattern; -1 if there is none. */
  #headFrom(bytes: Buffer, from: number): number {
    const [first, second, third] = this.#heads;
    const shifts = this.#shifts;
    const last = this.#last;
    const { length } = bytes;
    let end = from + last;
    while (end < length) {
      const shift = shifts[((bytes[end - 1]! << PAIR_SHIFT) ^ bytes[end]!) & (PAIRS - 1)]!;
      if (shift === 0) {
        const at = end - last;
        if ((first[bytes[at]!]! & second[bytes[at + 1]!]! & third[bytes[at + 2]!]!) !== 0) return at;
        end++;
      } else {
        end += shift;
      }
    }
    return -1;
  }
}

/** Of the longest pattern that shifts go by. */
const SHIFT_MAX = 255;

function headsAt(patterns: readonly Buffer[], place: number): Int32Array {
  const heads = new Int32Array(256);
  for (const [i, pattern] of patterns.entries()) heads[pattern[place]!]! |= 1 << i;
  return heads;
}
