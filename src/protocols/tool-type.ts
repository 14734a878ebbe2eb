import type { JsonReader } from '../lib/json/json-reader.ts';
import { decodeString } from '../lib/json/json-string.ts';
import { UNREADABLE } from './request-path.ts';
import { Members, type Rule, SeenMembers } from './request-rules.ts';
import { CLIENT_MARKS } from './tools.ts';

const TYPE_BYTES_MAX = 256;
const MARKS = new Members(
  Object.fromEntries(['type', ...CLIENT_MARKS].map((name): [string, Rule] => [name, 'content'])),
  'content',
);

/** The type of the tool that comes next, which need not be its first member; `isClient`: it is one of the client's by its other members. */
export function toolTypeOf(json: JsonReader): { readonly type: string | null; readonly isClient: boolean } {
  const ahead = json.from(json.offset);
  const seen = new SeenMembers();
  let type: string | null = null;
  let isClient = false;
  let isFirst = true;
  for (ahead.enter(); ahead.nextMember(); isFirst = false) {
    const key = MARKS.find(ahead.bytes, ahead.keyStart, ahead.keyEnd);
    if (key.rule === undefined) continue;
    seen.add(key, ahead);
    const { kind } = ahead;
    if (kind === 'null') continue;
    if (key.name !== 'type') isClient = true;
    else type = ahead.text(TYPE_BYTES_MAX) ?? UNREADABLE;
    if (isFirst && kind === 'string' && type !== null) break;
  }
  return { type, isClient };
}

/** The key of the first member, by which a tool without a type is named: `{"google_search": {}}`. */
export function firstKeyOf(json: JsonReader): string | null {
  const ahead = json.from(json.offset);
  ahead.enter();
  if (!ahead.nextMember() || ahead.keyEnd - ahead.keyStart > TYPE_BYTES_MAX) return null;
  return decodeString(ahead.bytes, ahead.keyStart, ahead.keyEnd);
}
