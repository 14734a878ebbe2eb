import type { RawText } from './conversation.ts';
import { fromRawText } from './raw-text.ts';

/** Follows a JSON text that arrives in pieces of a JSON string, to find where its outermost value ends. */
export class JsonDepth {
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasBegun = false;

  /** @param raw the next piece, with the escapes of the string that contains it */
  add(raw: RawText): void {
    const text = fromRawText(raw);
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === BACKSLASH) this.#isEscaped = true;
        else if (code === QUOTE) this.#isInString = false;
      } else if (code === QUOTE) {
        this.#isInString = true;
        this.#hasBegun = true;
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        this.#depth++;
        this.#hasBegun = true;
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        this.#depth--;
      }
    }
  }

  /** Whether a value has begun and ended. */
  get isComplete(): boolean {
    return this.#hasBegun && this.#depth <= 0 && !this.#isInString;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
