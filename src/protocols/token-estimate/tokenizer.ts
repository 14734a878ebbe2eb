import { Merger, PIECE_BYTES_MAX } from './merge.ts';
import { pieceEnd } from './pieces.ts';
import { NO_RANK, readVocabulary, type Vocabulary } from './vocabulary.ts';

/**
 * Counts the o200k tokens of a text in linear time and memory. Special tokens such as `<|endoftext|>` are ordinary text. The result equals
 * that of the reference encoder, except that pieces of more than `PIECE_BYTES_MAX` bytes are cut.
 */
export class Tokenizer {
  readonly #vocabulary: Vocabulary;
  readonly #merger: Merger;

  constructor(vocabulary: Vocabulary = readVocabulary()) {
    this.#vocabulary = vocabulary;
    this.#merger = new Merger(vocabulary);
  }

  get steps(): number {
    return this.#vocabulary.steps + this.#merger.steps;
  }

  /** Counts the tokens of a text. An unpaired surrogate counts as U+FFFD, as which UTF-8 encodes it. */
  count(text: string): number {
    const bytes = Buffer.from(text);
    let tokens = 0;
    let start = 0;
    while (start < bytes.length) {
      const end = pieceEnd(bytes, start, bytes.length);
      tokens += this.#countPiece(bytes, start, end);
      start = end;
    }
    return tokens;
  }

  #countPiece(bytes: Uint8Array, start: number, end: number): number {
    if (this.#vocabulary.rank(bytes, start, end) !== NO_RANK) return 1;
    let tokens = 0;
    let from = start;
    while (end - from > PIECE_BYTES_MAX) {
      let to = from + PIECE_BYTES_MAX;
      while ((bytes[to]! & 0xc0) === 0x80) to--;
      tokens += this.#merger.count(bytes, from, to);
      from = to;
    }
    return tokens + this.#merger.count(bytes, from, end);
  }
}
