import type { JsonSlice } from '../../lib/json/json-slice.ts';
import { isEscapeLetter, isHexDigit } from '../../lib/json/json-string.ts';
import type { RawText } from './conversation.ts';

/** Maximum size of the bytes around a text. Events of other sizes are read in full. */
const AROUND_BYTES_MAX = 4_096;

/**
 * Recognizes events that differ from an earlier one only in one string, as nearly all events of a stream do. Comparing bytes takes a
 * twentieth of the time that reading an event takes.
 */
export class SimilarText {
  #before: Buffer | null = null;
  #behind: Buffer | null = null;
  #apply: (text: RawText) => void = () => undefined;

  /**
   * Remembers an event.
   * @param text the only string of the event that has an effect
   * @param apply takes the text of a similar event
   */
  note(data: Buffer, text: JsonSlice, apply: (text: RawText) => void): void {
    if (data.length - (text.end - text.start) > AROUND_BYTES_MAX) return;
    // Copies, because the bytes of an event are valid only while it is read.
    this.#before = Buffer.from(data.subarray(0, text.start + 1));
    this.#behind = Buffer.from(data.subarray(text.end - 1));
    this.#apply = apply;
  }

  /** Takes the text of an event that is similar to the remembered one. Returns false if it is not. */
  take(data: Buffer): boolean {
    const before = this.#before;
    const behind = this.#behind;
    if (before === null || behind === null) return false;
    const start = before.length;
    const end = data.length - behind.length;
    if (end < start || data.compare(before, 0, start, 0, start) !== 0) return false;
    if (data.compare(behind, 0, behind.length, end, data.length) !== 0 || !isStringContent(data, start, end))
      return false;
    this.#apply(data.toString('utf8', start, end));
    return true;
  }
}

/** Whether bytes are the content of a valid JSON string. */
function isStringContent(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE || byte < SPACE) return false;
    if (byte !== BACKSLASH) continue;
    at++;
    if (at >= end) return false;
    if (bytes[at] === LETTER_U) {
      if (at + 4 >= end) return false;
      for (let digit = at + 1; digit <= at + 4; digit++) if (!isHexDigit(bytes[digit]!)) return false;
      at += 4;
    } else if (!isEscapeLetter(bytes[at]!)) {
      return false;
    }
  }
  return true;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;
