import { parseJson } from './json.ts';
import { JsonCapture } from './json-capture.ts';
import { JsonReader } from './json-reader.ts';
import { JsonSyntaxError } from './json-scan.ts';
import { decodeString, hasBytes } from './json-string.ts';

/** Which parts of a JSON value are wanted: `true` for all of it, otherwise members of an object, or of each object in an array. */
export type JsonParts = true | ObjectParts;
interface ObjectParts {
  readonly [key: string]: JsonParts;
}

/** Maximum depth, which limits the memory. Unlike `JSON.parse`, this parser treats a deeper text as invalid. */
const DEPTH_MAX = 10_000;

/**
 * Parses a few small parts of a large JSON text, as `JSON.parse` would. Returns `undefined` if the text is not JSON.
 *
 * If members are wanted but the value is neither an object nor an array, the result is null. Items of an array that are not objects with
 * wanted members are omitted.
 */
export function parseJsonParts(bytes: Buffer, parts: JsonParts): unknown {
  return isJson(bytes) ? readValue(new JsonReader(bytes), parts) : undefined;
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

function readValue(reader: JsonReader, parts: JsonParts): unknown {
  if (parts === true) return readWhole(reader);
  switch (reader.kind) {
    case 'object':
      return readObject(reader, parts);
    case 'array':
      return readItems(reader, parts);
    default:
      reader.skip();
      return null;
  }
}

function readWhole(reader: JsonReader): unknown {
  const start = reader.offset;
  reader.skip();
  return parseJson(reader.bytes.toString('utf8', start, reader.offset));
}

function readObject(reader: JsonReader, parts: ObjectParts): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (reader.enter(); reader.nextMember(); ) {
    const name = wantedName(parts, reader.bytes, reader.keyStart, reader.keyEnd);
    if (name !== null) values[name] = readValue(reader, parts[name]!);
  }
  return values;
}

function readItems(reader: JsonReader, parts: ObjectParts): unknown[] {
  const items: unknown[] = [];
  for (reader.enter(); reader.nextItem(); ) {
    if (reader.kind !== 'object') continue;
    const item = readObject(reader, parts);
    if (Object.keys(item).length > 0) items.push(item);
  }
  return items;
}

function wantedName(parts: ObjectParts, bytes: Buffer, start: number, end: number): string | null {
  const spelt = bytes.subarray(start, end).includes(BACKSLASH) ? decodeString(bytes, start, end) : null;
  for (const name in parts) {
    if (spelt === null ? hasBytes(name, bytes, start, end) : spelt === name) return name;
  }
  return null;
}

const BACKSLASH = 0x5c;
