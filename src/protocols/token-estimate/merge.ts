import { NO_RANK, type Vocabulary } from './vocabulary.ts';

/** Maximum bytes of a piece. It limits memory. Only runs without breaks are longer, and cutting them adds few tokens. */
export const PIECE_BYTES_MAX = 8_192;

/** Number of low bits of a heap key with the position in a piece. The others have the rank: 2^18 ranks x 2^13 < 2^31. */
const POSITION_BITS = 13;
const POSITION_MASK = (1 << POSITION_BITS) - 1;

/**
 * Byte pair encoding of o200k: of all adjacent parts, it merges the pair with the lowest rank in the vocabulary, the leftmost one first,
 * until there is none. The candidates are in a binary heap, so n bytes take O(n log n). A separate loop for short pieces was not faster.
 */
export class Merger {
  /** Number of heap moves. Tests use it to show that the work is linear. */
  steps = 0;
  readonly #vocabulary: Vocabulary;
  /** For each position where a part begins: its end. `#previous` has the start of the part before it. */
  readonly #ends = new Int32Array(PIECE_BYTES_MAX + 1);
  readonly #previous = new Int32Array(PIECE_BYTES_MAX + 1);
  /** For each position where a part begins: its rank when joined with the next one. A heap key with another rank is outdated. */
  readonly #ranks = new Int32Array(PIECE_BYTES_MAX + 1);
  /** Heap keys. Each merge removes one and adds at most two. */
  readonly #heap = new Int32Array(PIECE_BYTES_MAX * 3);
  #heapSize = 0;

  constructor(vocabulary: Vocabulary) {
    if (vocabulary.size >= 2 ** (31 - POSITION_BITS)) throw new Error('the vocabulary is too large for the heap keys');
    this.#vocabulary = vocabulary;
  }

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
