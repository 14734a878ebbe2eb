/** Maximum number of patterns: each one needs a bit of an integer. */
const PATTERNS_MAX = 31;
/** Number of first bytes of a pattern, its head. The rest is compared only where the head matches. */
const HEAD_BYTES = 3;
/** Size of the table of shifts. Pairs of bytes with the same hash share an entry. */
const PAIRS = 1 << 12;
const PAIR_SHIFT = 5;

/**
 * Finds several short patterns in one pass. Each pair of bytes determines the minimum distance to the next match, so most bytes are not
 * read (S. Wu and U. Manber, A fast algorithm for multi-pattern searching, 1994). For a chunk of a stream, a single `Buffer.indexOf` takes
 * as long as this pass.
 */
export class BytePatterns {
  readonly #patterns: readonly Buffer[];
  /** For each position in a head and each byte: a bit for each pattern that has the byte there. */
  readonly #heads: readonly [Int32Array, Int32Array, Int32Array];
  readonly #last: number;
  /** For each pair of bytes: how far the search can advance if the window of the shortest pattern ends with this pair. */
  readonly #shifts = new Uint8Array(PAIRS);

  /** @throws RangeError for more than 31 patterns, or for a pattern of less than three bytes */
  constructor(patterns: readonly Buffer[]) {
    if (patterns.length > PATTERNS_MAX || patterns.some(({ length }) => length < HEAD_BYTES)) {
      throw new RangeError(`at most ${PATTERNS_MAX} patterns of at least ${HEAD_BYTES} bytes are allowed`);
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

  /** Whether `isWanted` returns true for any match. It gets the pattern's index and the offset after the match, in order. */
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

  /** Returns the offset of the next head that matches; -1: none. */
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

const SHIFT_MAX = 255;

function headsAt(patterns: readonly Buffer[], place: number): Int32Array {
  const heads = new Int32Array(256);
  for (const [i, pattern] of patterns.entries()) heads[pattern[place]!]! |= 1 << i;
  return heads;
}
