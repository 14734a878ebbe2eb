/** Patterns have a bit each. */
const PATTERNS_MAX = 31;
/** So many first bytes decide where a pattern is compared. */
const HEAD_BYTES = 3;
/** Pairs of bytes with one hash share a shift. */
const PAIRS = 1 << 12;

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
        const pair = pairOf(pattern[at - 1]!, pattern[at]!);
        this.#shifts[pair] = Math.min(this.#shifts[pair]!, this.#last - at);
      }
    }
  }

  /**
   * Whether any occurrence is one that is looked for.
   *
   * @param isWanted is given the index of the pattern and the offset behind its occurrence
   */
  some(bytes: Buffer, isWanted: (pattern: number, end: number) => boolean): boolean {
    for (let at = this.#headFrom(bytes, 0); at !== -1; at = this.#headFrom(bytes, at + 1)) {
      if (this.#visit(bytes, at, isWanted)) return true;
    }
    return false;
  }

  /** Visits all occurrences in the order of their offsets; they may overlap. Arguments as of `some`. */
  each(bytes: Buffer, visit: (pattern: number, end: number) => void): void {
    for (let at = this.#headFrom(bytes, 0); at !== -1; at = this.#headFrom(bytes, at + 1)) {
      this.#visit(bytes, at, visit);
    }
  }

  /** The length of a pattern in bytes. */
  sizeOf(pattern: number): number {
    return this.#patterns[pattern]!.length;
  }

  /** Visits the patterns that begin at an offset, until one is wanted. */
  #visit(bytes: Buffer, at: number, isWanted: (pattern: number, end: number) => unknown): boolean {
    let candidates = this.#candidatesAt(bytes, at);
    while (candidates !== 0) {
      const pattern = 31 - Math.clz32(candidates & -candidates);
      candidates &= candidates - 1;
      const end = this.#endOf(pattern, bytes, at);
      if (end !== -1 && isWanted(pattern, end) === true) return true;
    }
    return false;
  }

  #candidatesAt(bytes: Buffer, at: number): number {
    const [first, second, third] = this.#heads;
    return first[bytes[at]!]! & second[bytes[at + 1]!]! & third[bytes[at + 2]!]!;
  }

  /** The offset of the next head of any pattern; -1 if there is none. */
  #headFrom(bytes: Buffer, from: number): number {
    const [first, second, third] = this.#heads;
    const shifts = this.#shifts;
    const last = this.#last;
    const { length } = bytes;
    let end = from + last;
    while (end < length) {
      const shift = shifts[pairOf(bytes[end - 1]!, bytes[end]!)]!;
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

  /** The offset behind a pattern whose head is at an offset; -1 if the rest is not. */
  #endOf(pattern: number, bytes: Buffer, at: number): number {
    const wanted = this.#patterns[pattern]!;
    for (let i = HEAD_BYTES; i < wanted.length; i++) if (bytes[at + i] !== wanted[i]) return -1;
    return at + wanted.length;
  }
}

/** Of the longest pattern that shifts go by. */
const SHIFT_MAX = 255;

function pairOf(left: number, right: number): number {
  return ((left << 5) ^ right) & (PAIRS - 1);
}

function headsAt(patterns: readonly Buffer[], place: number): Int32Array {
  const heads = new Int32Array(256);
  for (const [i, pattern] of patterns.entries()) heads[pattern[place]!]! |= 1 << i;
  return heads;
}
