import { parseJson } from './json.ts';
import { JsonCapture } from './json-capture.ts';
import { JsonSyntaxError } from './json-scan.ts';
import { decodeString } from './json-string.ts';

/**
 * Which parts of a JSON text are wanted: `true` for a value as a whole, else the members of an object. Where an array
 * stands instead, the members of the objects in it.
 */
export type JsonParts = true | ObjectParts;
export interface ObjectParts {
  readonly [key: string]: JsonParts;
}

/** A text that is deeper is taken for none, which `JSON.parse` would not do: memory for it is bounded. */
const DEPTH_MAX = 10_000;

/** So many bytes of a string are read one by one before a search is worth it. */
const SHORT_BYTES = 64;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SPACE = 0x20;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

/**
 * Reads a few small parts of a large JSON text as `JSON.parse` would, and builds nothing else. `undefined` where the text
 * is not JSON.
 *
 * The last member of a name counts. Where an object is wanted and neither one nor an array stands there, the value is
 * null; what an array has beside objects with wanted members is left out.
 */
export function parseJsonParts(bytes: Buffer, parts: JsonParts): unknown {
  return isJson(bytes) ? new PartsReader(bytes).value(parts) : undefined;
}

function isJson(bytes: Buffer): boolean {
  const check = new JsonCapture({ keep: [], keptBytesMax: 0, depthMax: DEPTH_MAX });
  try {
    check.push(bytes);
    check.end();
    return true;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

/** Goes over a text that is known to be JSON, once, from one token to the next. */
class PartsReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#skipSpace();
  }

  value(parts: JsonParts): unknown {
    if (parts === true) return this.#whole();
    switch (this.#bytes[this.#at]) {
      case OPEN_BRACE:
        return this.#object(parts);
      case OPEN_BRACKET:
        return this.#items(parts);
      default:
        this.#skipValue();
        return null;
    }
  }

  #whole(): unknown {
    const start = this.#at;
    this.#skipValue();
    return parseJson(this.#bytes.toString('utf8', start, this.#at));
  }

  #object(parts: ObjectParts): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    this.#enter();
    while (this.#bytes[this.#at] !== CLOSE_BRACE) {
      const key = this.#wantedKey(parts);
      if (key === null) this.#skipValue();
      else values[key] = this.value(parts[key]!);
      this.#toNext();
    }
    this.#at++;
    return values;
  }

  #items(parts: ObjectParts): unknown[] {
    const items: unknown[] = [];
    this.#enter();
    while (this.#bytes[this.#at] !== CLOSE_BRACKET) {
      if (this.#bytes[this.#at] === OPEN_BRACE) {
        const item = this.#object(parts);
        if (Object.keys(item).length > 0) items.push(item);
      } else {
        this.#skipValue();
      }
      this.#toNext();
    }
    this.#at++;
    return items;
  }

  /** On to the value of a member; its name where that is wanted. */
  #wantedKey(parts: ObjectParts): string | null {
    const start = this.#at + 1;
    this.#skipString();
    const end = this.#at - 1;
    this.#skipSpace();
    this.#enter();
    const spelt = isEscaped(this.#bytes, start, end) ? decodeString(this.#bytes, start, end) : null;
    for (const name in parts) {
      if (spelt === null ? hasBytes(name, this.#bytes, start, end) : spelt === name) return name;
    }
    return null;
  }

  #enter(): void {
    this.#at++;
    this.#skipSpace();
  }

  /** On to the next member or item, or to where the container closes. */
  #toNext(): void {
    this.#skipSpace();
    if (this.#bytes[this.#at] !== COMMA) return;
    this.#at++;
    this.#skipSpace();
  }

  #skipValue(): void {
    const bytes = this.#bytes;
    let depth = 0;
    do {
      switch (bytes[this.#at]) {
        case QUOTE:
          this.#skipString();
          break;
        case OPEN_BRACE:
        case OPEN_BRACKET:
          depth++;
          this.#at++;
          break;
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          depth--;
          this.#at++;
          break;
        case COMMA:
        case COLON:
          this.#at++;
          break;
        default:
          if (bytes[this.#at]! <= SPACE) this.#at++;
          else this.#skipWord();
      }
    } while (depth > 0);
  }

  /** A number or a literal. */
  #skipWord(): void {
    const bytes = this.#bytes;
    while (this.#at < bytes.length && !endsWord(bytes[this.#at]!)) this.#at++;
  }

  #skipString(): void {
    const bytes = this.#bytes;
    let at = this.#at + 1;
    for (const near = at + SHORT_BYTES; at < near; at++) {
      if (bytes[at] === QUOTE) {
        this.#at = at + 1;
        return;
      }
      if (bytes[at] === BACKSLASH) at++;
    }
    // Searched for, not walked to: it may be an image.
    for (let from = at; ; ) {
      const quote = bytes.indexOf(QUOTE, from);
      let escapes = quote;
      while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes--;
      from = quote + 1;
      if ((quote - escapes) % 2 === 0) {
        this.#at = from;
        return;
      }
    }
  }

  #skipSpace(): void {
    while (this.#at < this.#bytes.length && this.#bytes[this.#at]! <= SPACE) this.#at++;
  }
}

function endsWord(byte: number): boolean {
  return byte <= SPACE || byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET;
}

function isEscaped(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true;
  return false;
}

/** Whether ASCII bytes spell the name. */
function hasBytes(name: string, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let i = 0; i < name.length; i++) if (name.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
