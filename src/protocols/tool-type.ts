import type { JsonReader } from '../lib/json/json-reader.ts';
import { hasBytes } from '../lib/json/json-string.ts';
import { MemberNames } from '../lib/json/member-names.ts';
import { UNREADABLE } from './request-path.ts';
import { CLIENT_MARKS } from './tools.ts';

/** What a tool says it is; `isClient`: it has no type, and is one of the client's by its other members. */
export interface ToolType {
  readonly type: string | null;
  readonly isClient: boolean;
}

const TYPE_BYTES_MAX = 256;
const TYPE_KEY = '"type"';
const FUNCTION_TYPE = '"function"';
const FUNCTION: ToolType = { type: 'function', isClient: true };
const TYPE_OR_MARK = new MemberNames('type', ...CLIENT_MARKS);

/**
 * The type of the tool that comes next, which need not be its first member.
 *
 * @throws JsonMemberError if a member that says it stands there twice or in another spelling.
 */
export function toolTypeOf(json: JsonReader): ToolType {
  const first = typeAtStart(json.bytes, json.offset);
  if (first !== -1) {
    if (hasBytes(FUNCTION_TYPE, json.bytes, first, first + FUNCTION_TYPE.length)) return FUNCTION;
    return { type: json.from(first).text(TYPE_BYTES_MAX) ?? UNREADABLE, isClient: false };
  }
  const ahead = json.from(json.offset);
  let type: string | null = null;
  let isClient = false;
  ahead.members(TYPE_OR_MARK, (name) => {
    if (ahead.kind === 'null') return;
    if (name === 'type') type = ahead.text(TYPE_BYTES_MAX) ?? UNREADABLE;
    else isClient = true;
  });
  return { type, isClient };
}

/** The key of the first member, by which a tool without a type is named: `{"google_search": {}}`. */
export function firstKeyOf(json: JsonReader): string | null {
  const ahead = json.from(json.offset + 1);
  return ahead.kind === 'string' ? ahead.text(TYPE_BYTES_MAX) : null;
}

/** Where the value of `type` stands, if it is the first member of the object at `offset` and a string; else -1. */
function typeAtStart(bytes: Buffer, offset: number): number {
  let at = skipSpace(bytes, offset + 1);
  if (!hasBytes(TYPE_KEY, bytes, at, at + TYPE_KEY.length)) return -1;
  at = skipSpace(bytes, at + TYPE_KEY.length);
  at = skipSpace(bytes, at + 1);
  return bytes[at] === QUOTE ? at : -1;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (bytes[at]! <= SPACE) at++;
  return at;
}

const QUOTE = 0x22;
const SPACE = 0x20;
