import type { RawText } from './conversation.ts';

/** Pieces are joined when there are this many, or this much text. A string that grows piece by piece takes many times its size. */
const PIECES_MAX = 256;
const PIECES_LENGTH_MAX = 64 * 1024;

/** A text that arrives in pieces. */
export class TextParts {
  #joined: RawText[] = [];
  #joinedBytes = 0;
  #pieces: RawText[] = [];
  #piecesLength = 0;

  add(piece: RawText): void {
    this.#pieces.push(piece);
    this.#piecesLength += piece.length;
    if (this.#pieces.length >= PIECES_MAX || this.#piecesLength >= PIECES_LENGTH_MAX) this.#join();
  }

  /** Size in UTF-8, where the newest pieces count one byte a character. */
  get sizeBytes(): number {
    return this.#joinedBytes + this.#piecesLength;
  }

  /** Returns the whole text, and begins a new one. */
  take(): RawText {
    this.#join();
    const text = this.#joined.join('');
    this.#joined = [];
    this.#joinedBytes = 0;
    return text;
  }

  #join(): void {
    const text = this.#pieces.join('');
    if (text !== '') this.#joined.push(text);
    this.#joinedBytes += Buffer.byteLength(text);
    this.#pieces = [];
    this.#piecesLength = 0;
  }
}
