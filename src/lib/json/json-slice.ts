import { JsonReader } from './json-reader.ts';
import type { JsonKind } from './json-scan.ts';
import { decodeString } from './json-string.ts';

/**
 * A value within a valid JSON text, by its offsets. It is decoded only on request, and `raw` returns it exactly as it was written: numbers,
 * key order and escapes survive.
 */
export class JsonSlice {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly kind: JsonKind;

  private constructor(reader: JsonReader) {
    this.bytes = reader.bytes;
    this.start = reader.offset;
    this.kind = reader.kind;
    reader.skip();
    this.end = reader.offset;
  }

  /** @param start offset of the value, or of white space before it */
  static at(bytes: Buffer, start = 0): JsonSlice {
    return new JsonSlice(new JsonReader(bytes, start));
  }

  /** The value as it was written. */
  get raw(): string {
    return this.bytes.toString('utf8', this.start, this.end);
  }

  /** Content of a string as it was written: with its escapes, without its quotes. `null` for other kinds. */
  get rawText(): string | null {
    return this.kind === 'string' ? this.bytes.toString('utf8', this.start + 1, this.end - 1) : null;
  }

  /** A decoded string; `null` for other kinds. */
  get text(): string | null {
    return this.kind === 'string' ? decodeString(this.bytes, this.start + 1, this.end - 1) : null;
  }

  /** Members of an object by their decoded names; none for other kinds. Of a repeated one the last counts, as in most parsers. */
  members(): Map<string, JsonSlice> {
    const members = new Map<string, JsonSlice>();
    if (this.kind !== 'object') return members;
    const reader = new JsonReader(this.bytes, this.start);
    for (reader.enter(); reader.nextMember(); ) {
      const name = decodeString(this.bytes, reader.keyStart, reader.keyEnd);
      members.set(name, new JsonSlice(reader));
    }
    return members;
  }

  /** Items of an array; none for other kinds. */
  items(): readonly JsonSlice[] {
    const items: JsonSlice[] = [];
    if (this.kind !== 'array') return items;
    const reader = new JsonReader(this.bytes, this.start);
    for (reader.enter(); reader.nextItem(); ) items.push(new JsonSlice(reader));
    return items;
  }
}
