import { NO_RANK, type Vocabulary } from './vocabulary.ts';

/**
 * Longest piece that is merged as a whole, in bytes; longer ones are cut. Written text has nothing near it (the longest
 * word of a page is some 50 bytes, a line of dashes 200), so a cut only changes runs without any break, by at most two or
 * three tokens in 8,192 bytes. It bounds the memory of a merge and the depth of its heap.
 */
export const PIECE_BYTES_MAX = 8_192;

/** Position of a part within its piece; the rank stands above it in a key of the heap. 2^18 ranks x 2^13 < 2^31. */
const POSITION_BITS = 13;
const POSITION_MASK = (1 << POSITION_BITS) - 1;

/**
 * Byte pair merging as o200k defines it: of all neighbouring parts whose bytes together are an entry, the pair of the
 * lowest rank is joined, the leftmost of equals first, until no such pair remains. Counts the parts that remain.
 *
 * The pairs wait in a binary heap, so a piece of n bytes takes n log n steps; the usual loop over all pairs takes n². A
 * loop for short pieces beside it was no quicker (base64, emoji, Chinese: 9 to 14 ms in 100 KiB either way). The arrays
 * are made once, and nothing is kept of a piece.
 */
export class Merger {
  /** Moves within the heap so far: the measure of work that tests of linearity use, with `Vocabulary.steps`. */
  steps = 0;
  readonly #vocabulary: Vocabulary;
  /** By the position of a part: if it ends, and where the part before it begins. */
  readonly #ends = new Int32Array(PIECE_BYTES_MAX + 1);
  readonly #previous = new Int32Array(PIECE_BYTES_MAX + 1);
  /** By the position of a part: the rank of it and the next together. A key in the heap with another rank is stale. */
  readonly #ranks = new Int32Array(PIECE_BYTES_MAX + 1);
  /** Every join takes out one key and adds at most two. */
  readonly #heap = new Int32Array(PIECE_BYTES_MAX * 3);
  #heapSize = 0;

  constructor(vocabulary: Vocabulary) {
    if (vocabulary.size >= 2 ** (31 - POSITION_BITS)) throw new Error('the vocabulary has too many ranks for a key');
    this.#vocabulary = vocabulary;
  }

  /** Tokens of the piece from `start` up to `end`, at most `PIECE_BYTES_MAX` long. */
  count(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length > PIECE_BYTES_MAX) throw new Error(`a piece of ${length} bytes is longer than ${PIECE_BYTES_MAX}`);
    const ends = this.#ends;
    const previous = this.#previous;
    const ranks = this.#ranks;
    this.#heapSize = 0;
    for (let i = 0; i < length; i++) {
      ends[i] = i + 1;
      previous[i] = i - 1;
    }
    for (let i = 0; i < length; i++) this.#pair(bytes, start, length, i);
    let parts = length;
    while (this.#heapSize > 0) {
      const key = this.#pop();
      const at = key & POSITION_MASK;
      if (ranks[at] !== key >> POSITION_BITS) continue;
      const joined = ends[at]!;
      const end = ends[joined]!;
      ends[at] = end;
      ranks[joined] = NO_RANK;
      if (end < length) previous[end] = at;
      parts--;
      this.#pair(bytes, start, length, at);
      if (at > 0) this.#pair(bytes, start, length, previous[at]!);
    }
    return parts;
  }

  /** Sets the rank of the part at `at` with the one behind it, and puts it into the heap. */
  #pair(bytes: Uint8Array, start: number, length: number, at: number): void {
    const end = this.#ends[at]!;
    const rank = end < length ? this.#vocabulary.rank(bytes, start + at, start + this.#ends[end]!) : NO_RANK;
    this.#ranks[at] = rank;
    if (rank !== NO_RANK) this.#push((rank << POSITION_BITS) | at);
  }

  #push(key: number): void {
    const heap = this.#heap;
    let at = this.#heapSize++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= key) break;
      heap[at] = heap[parent]!;
      at = parent;
      this.steps++;
    }
    heap[at] = key;
  }

  #pop(): number {
    const heap = this.#heap;
    const top = heap[0]!;
    const key = heap[--this.#heapSize]!;
    const size = this.#heapSize;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= size) break;
      if (child + 1 < size && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= key) break;
      heap[at] = heap[child]!;
      at = child;
      this.steps++;
    }
    heap[at] = key;
    return top;
  }
}
