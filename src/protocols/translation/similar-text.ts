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
  /** The event that is being read; `null`: whole answers are not events. */
  #event: Buffer | null = null;
  #before: Buffer | null = null;
  #behind: Buffer | null = null;
  #apply: (text: RawText) => void = () => undefined;

  /**
   * Begins to read an event in full, which may change the meaning of similar ones.
   * @param event a whole event, with its field names and the empty line at its end
   */
  begin(event: Buffer): void {
    this.#event = event;
    this.#before = null;
  }

  /**
   * Remembers the event that is being read.
   * @param data its data
   * @param text the only string of the data that has an effect
   * @param apply takes the text of a similar event
   */
  note(data: Buffer, text: JsonSlice, apply: (text: RawText) => void): void {
    const event = this.#event;
    if (event === null || event.length - (text.end - text.start) > AROUND_BYTES_MAX) return;
    const offset = data.byteOffset - event.byteOffset;
    // Data of several lines is a copy.
    if (data.buffer !== event.buffer || offset < 0 || offset + data.length > event.length) return;
    // Copies, because the bytes of an event are valid only while it is read.
    this.#before = Buffer.from(event.subarray(0, offset + text.start + 1));
    this.#behind = Buffer.from(event.subarray(offset + text.end - 1));
    this.#apply = apply;
  }

  /**
   * Takes the text of an event that is similar to the remembered one.
   * @param from where the event begins
   * @returns where the event ends; -1 if it is not similar
   */
  take(bytes: Buffer, from: number): number {
    const before = this.#before;
    const behind = this.#behind;
    if (before === null || behind === null) return -1;
    const start = from + before.length;
    if (start > bytes.length || bytes.compare(before, 0, before.length, from, start) !== 0) return -1;
    const end = contentEnd(bytes, start);
    const next = end + behind.length;
    if (end === -1 || next > bytes.length || bytes.compare(behind, 0, behind.length, end, next) !== 0) return -1;
    this.#apply(bytes.toString('utf8', start, end));
    return next;
  }
}

/** Returns where the content of a JSON string ends; -1 if it is invalid or incomplete. */
function contentEnd(bytes: Buffer, start: number): number {
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at;
    if (byte < SPACE) return -1;
    if (byte !== BACKSLASH) continue;
    at++;
    const letter = bytes[at];
    if (letter === LETTER_U) {
      if (at + 4 >= bytes.length) return -1;
      for (let digit = at + 1; digit <= at + 4; digit++) if (!isHexDigit(bytes[digit]!)) return -1;
      at += 4;
    } else if (letter === undefined || !isEscapeLetter(letter)) {
      return -1;
    }
  }
  return -1;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;
const LETTER_U = 0x75;
