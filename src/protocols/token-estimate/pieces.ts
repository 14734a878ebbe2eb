import { CharClass, classOf } from './char-class.ts';

/**
 * The o200k pre-tokenizer cuts a text into pieces that are tokenized separately. It is equivalent to the following pattern, with
 * alternatives in this order, where U is `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`, L is `[\p{Ll}\p{Lm}\p{Lo}\p{M}]` and C is a contraction: `'s`,
 * `'t`, `'d`, `'m`, `'ll`, `'ve` or `'re` in any case.
 *
 *   1  [^\r\n\p{L}\p{N}]? U* L+ C?     a word: hello, Hello, " hello", 你好
 *   2  [^\r\n\p{L}\p{N}]? U+ L* C?     a word in capitals
 *   3  \p{N}{1,3}
 *   4  " "? [^\s\p{L}\p{N}]+ [\r\n/]*  punctuation, symbols, emoji
 *   5  \s* [\r\n]+                     white space up to its last line break
 *   6  \s+ (?!\S)                      white space except its last character, which belongs to the next piece
 *   7  \s+
 *
 * It is written by hand, so that no input causes backtracking: each character is read at most a small constant number of times, and a run
 * of four million capitals needs no stack. The text must be valid UTF-8.
 */
export function pieceEnd(bytes: Uint8Array, start: number, end: number): number {
  const first = readChar(bytes, start, end);
  const afterFirst = start + (first >> WIDTH_SHIFT);
  switch (first & CLASS_MASK) {
    case CharClass.upper:
    case CharClass.lower:
    case CharClass.both:
      return wordEnd(bytes, start, end);
    case CharClass.mark: {
      // Rule 1 takes the mark as the optional character before a word. If no word follows, the mark itself is the word.
      const word = lowerWordEnd(bytes, afterFirst, end);
      return word === -1 ? contractionEnd(bytes, afterFirst, end) : word;
    }
    case CharClass.number:
      return numberEnd(bytes, afterFirst, end);
    case CharClass.other: {
      const word = wordEnd(bytes, afterFirst, end);
      return word === -1 ? symbolsEnd(bytes, afterFirst, end) : word;
    }
    case CharClass.space: {
      const word = wordEnd(bytes, afterFirst, end);
      if (word !== -1) return word;
      if (bytes[start] === SPACE && isSymbol(readChar(bytes, afterFirst, end) & CLASS_MASK)) {
        return symbolsEnd(bytes, afterFirst, end);
      }
      return spaceEnd(bytes, start, end);
    }
    default:
      return spaceEnd(bytes, start, end);
  }
}

const SPACE = 0x20;
const SLASH = 0x2f;
const APOSTROPHE = 0x27;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Bits of an encoded character with its class; the bits above them contain its width in bytes. */
const CLASS_MASK = 0xf;
const WIDTH_SHIFT = 4;

const ASCII = Uint8Array.from({ length: 0x80 }, (_, byte) => classOf(byte) | (1 << WIDTH_SHIFT));

function readChar(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return CharClass.end;
  const byte = bytes[at]!;
  if (byte < 0x80) return ASCII[byte]!;
  if (byte < 0xe0) return classOf(((byte & 0x1f) << 6) | continuationBits(bytes, at + 1)) | (2 << WIDTH_SHIFT);
  if (byte < 0xf0) {
    return (
      classOf(((byte & 0xf) << 12) | (continuationBits(bytes, at + 1) << 6) | continuationBits(bytes, at + 2)) |
      (3 << WIDTH_SHIFT)
    );
  }
  const high = ((byte & 0x7) << 18) | (continuationBits(bytes, at + 1) << 12);
  return classOf(high | (continuationBits(bytes, at + 2) << 6) | continuationBits(bytes, at + 3)) | (4 << WIDTH_SHIFT);
}

function continuationBits(bytes: Uint8Array, at: number): number {
  return bytes[at]! & 0x3f;
}

/** Returns the end of the match of rule 1 or 2 whose first letter is at `start`; -1: no match. */
function wordEnd(bytes: Uint8Array, start: number, end: number): number {
  const word = lowerWordEnd(bytes, start, end);
  return word === -1 ? capitalsEnd(bytes, start, end) : word;
}

/**
 * Returns the end of the match of rule 1; -1: no match. U* first takes the whole run of capitals, caseless letters and marks. Without a
 * lowercase letter after it, the match ends at the last caseless letter or mark, because L+ must match at least one character.
 */
function lowerWordEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let lastBothEnd = -1;
  for (;;) {
    const char = readChar(bytes, at, end);
    const charClass = char & CLASS_MASK;
    if (charClass === CharClass.lower) break;
    if (charClass !== CharClass.upper && charClass !== CharClass.both && charClass !== CharClass.mark) {
      return lastBothEnd === -1 ? -1 : contractionEnd(bytes, lastBothEnd, end);
    }
    at += char >> WIDTH_SHIFT;
    if (charClass !== CharClass.upper) lastBothEnd = at;
  }
  for (;;) {
    const char = readChar(bytes, at, end);
    const charClass = char & CLASS_MASK;
    if (charClass !== CharClass.lower && charClass !== CharClass.both && charClass !== CharClass.mark) break;
    at += char >> WIDTH_SHIFT;
  }
  return contractionEnd(bytes, at, end);
}

/** Returns the end of the match of rule 2; -1: no match. Rule 1 did not match, so the run has only capitals. */
function capitalsEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (;;) {
    const char = readChar(bytes, at, end);
    if ((char & CLASS_MASK) !== CharClass.upper) break;
    at += char >> WIDTH_SHIFT;
  }
  return at === start ? -1 : contractionEnd(bytes, at, end);
}

function contractionEnd(bytes: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end || bytes[at] !== APOSTROPHE) return at;
  const first = String.fromCharCode(bytes[at + 1]! | 0x20);
  if (first === 's' || first === 'd' || first === 'm' || first === 't') return at + 2;
  if (at + 2 >= end) return at;
  const both = first + String.fromCharCode(bytes[at + 2]! | 0x20);
  return both === 'll' || both === 've' || both === 're' ? at + 3 : at;
}

function numberEnd(bytes: Uint8Array, afterFirst: number, end: number): number {
  let at = afterFirst;
  for (let digits = 1; digits < 3; digits++) {
    const char = readChar(bytes, at, end);
    if ((char & CLASS_MASK) !== CharClass.number) break;
    at += char >> WIDTH_SHIFT;
  }
  return at;
}

function isSymbol(charClass: number): boolean {
  return charClass === CharClass.other || charClass === CharClass.mark;
}

/** @param start the offset after the first character of the match of rule 4 */
function symbolsEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  for (;;) {
    const char = readChar(bytes, at, end);
    if (!isSymbol(char & CLASS_MASK)) break;
    at += char >> WIDTH_SHIFT;
  }
  while (at < end && (bytes[at] === LINE_FEED || bytes[at] === CARRIAGE_RETURN || bytes[at] === SLASH)) at++;
  return at;
}

function spaceEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start;
  let lastStart = start;
  let lastNewlineEnd = -1;
  for (;;) {
    const char = readChar(bytes, at, end);
    const charClass = char & CLASS_MASK;
    if (charClass !== CharClass.space && charClass !== CharClass.newline) break;
    lastStart = at;
    at += char >> WIDTH_SHIFT;
    if (charClass === CharClass.newline) lastNewlineEnd = at;
  }
  if (lastNewlineEnd !== -1) return lastNewlineEnd;
  return at === end || lastStart === start ? at : lastStart;
}
