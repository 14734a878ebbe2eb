import type { JsonReader } from '../lib/json/json-reader.ts';
import { decodeString, hasBytes } from '../lib/json/json-string.ts';
import { UNREADABLE } from './request-path.ts';
import { Members, type Rule, SeenMembers } from './request-rules.ts';
import { CLIENT_MARKS } from './tools.ts';

const TYPE_BYTES_MAX = 256;
const FUNCTION_TYPE = '"function"';
const FUNCTION = { type: 'function', isClient: true };
const MARKS = new Members(
  Object.fromEntries(['type', ...CLIENT_MARKS].map((name): [string, Rule] => [name, 'content'])),
  'content',
);

/** Returns the type of the next tool. `isClient`: other members show that the client runs it. */
export function toolTypeOf(json: JsonReader): { readonly type: string | null; readonly isClient: boolean } {
  const ahead = json.from(json.offset);
  ahead.enter();
  let hasMember = ahead.nextMember();
  if (hasMember && ahead.kind === 'string' && hasBytes('type', ahead.bytes, ahead.keyStart, ahead.keyEnd)) {
    // Nearly all tools are functions, and return here.
    if (hasBytes(FUNCTION_TYPE, ahead.bytes, ahead.offset, ahead.offset + FUNCTION_TYPE.length)) return FUNCTION;
    return { type: ahead.text(TYPE_BYTES_MAX) ?? UNREADABLE, isClient: false };
  }
  const seen = new SeenMembers();
  let type: string | null = null;
  let isClient = false;
  for (; hasMember; hasMember = ahead.nextMember()) {
    const key = MARKS.find(ahead.bytes, ahead.keyStart, ahead.keyEnd);
    if (key.rule === undefined) continue;
    seen.add(key, ahead);
    if (ahead.kind === 'null') continue;
    if (key.name === 'type') type = ahead.text(TYPE_BYTES_MAX) ?? UNREADABLE;
    else isClient = true;
  }
  return { type, isClient };
}

/** Returns the first key of a tool that has no type, such as `{"google_search": {}}`. */
export function firstKeyOf(json: JsonReader): string | null {
  const ahead = json.from(json.offset);
  ahead.enter();
  if (!ahead.nextMember() || ahead.keyEnd - ahead.keyStart > TYPE_BYTES_MAX) return null;
  return decodeString(ahead.bytes, ahead.keyStart, ahead.keyEnd);
}
