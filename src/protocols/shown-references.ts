import { foldedName } from '../lib/folded-name.ts';
import { decodeString } from '../lib/json/json-string.ts';
import { MemberNames } from '../lib/json/member-names.ts';
import { type Form, Members, openMembers, type Rule, state, stateOrObject } from './request-rules.ts';
import type { StateKind } from './state-references.ts';

/** References to state that no table lists are recognized by these names (`…_id`, `…_ids`), or by strings that look like a vendor's id. */

export const STATE_NAMES: Readonly<Record<string, StateKind>> = {
  previous_response_id: 'response',
  response_id: 'response',
  previous_message_id: 'thread',
  conversation_id: 'conversation',
  thread_id: 'thread',
  container_id: 'container',
  file_id: 'file',
  file_ids: 'file',
  vector_store_id: 'vector_store',
  vector_store_ids: 'vector_store',
  knowledge_id: 'vector_store',
  skill_id: 'skill',
  prompt_id: 'prompt',
  tunnel_id: 'tunnel',
  item_id: 'item',
  audio_id: 'audio',
};

const states = Object.fromEntries(
  Object.entries(STATE_NAMES).map(([name, kind]): [string, Rule] => [name, state(kind)]),
);

const anyValue = (members: Members): Form => ({
  text: 'shown',
  members,
  get items() {
    return this;
  },
});

export const OPEN_VALUE = anyValue(
  openMembers({
    ...states,
    container: stateOrObject('container', states),
    conversation: stateOrObject('conversation', states),
  }),
);

export const FIELD_VALUE = anyValue(new Members({}, 'field'));

const REFERENCE_BYTES_MAX = 128;

const NAME = /(?:[_-][iI]|[a-z0-9]I)[dD]s?$/;

/** Returns the kind of state to which a member refers, by its name; `null`: none. `bytes[start, end)` is the key. */
export function kindByName(bytes: Buffer, start: number, end: number): StateKind | null {
  const last = bytes[end - 1]! | 0x20;
  if (last !== LETTER_D && last !== LETTER_S && !bytes.subarray(start, end).includes(BACKSLASH)) return null;
  if (WITHIN_REQUEST.find(bytes, start, end) !== -1) return null;
  const name = decodeString(bytes, start, end);
  if (!NAME.test(name)) return null;
  const folded = foldedName(name);
  for (const [suffix, kind] of BY_SUFFIX) if (folded.endsWith(suffix)) return kind;
  return 'state';
}

/** Ids that connect parts of a request, and ids of the client's users. They do not refer to state. */
const WITHIN_REQUEST = new MemberNames(
  ...['call_id', 'tool_call_id', 'tool_use_id', 'caller_id', 'tool_id', 'approval_request_id', 'shell_id', 'user_id'],
);

/** Names are compared by their ending: `next_container_id` is a container, too. */
const BY_SUFFIX = Object.entries(STATE_NAMES).map(([name, kind]) => [foldedName(name), kind] as const);

export interface ShownReference {
  readonly kind: StateKind;
  readonly id: string;
}

/** Returns the reference in the string at `offset`, if it looks like a vendor's id; otherwise `null`. */
export function shownByValue(bytes: Buffer, offset: number): ShownReference | null {
  const first = bytes[offset + 1]! | 0x20;
  if (first < LETTER_A || first > LETTER_Z) return null;
  let end = offset + 1;
  let hasDigit = false;
  for (const most = end + REFERENCE_BYTES_MAX; bytes[end] !== QUOTE; end++) {
    const byte = bytes[end]!;
    if (end === most || byte <= SPACE) return null;
    if (byte === BACKSLASH) end++;
    hasDigit ||= byte === BACKSLASH || (byte >= DIGIT_0 && byte <= DIGIT_9);
  }
  if (!hasDigit) return null;
  const id = decodeString(bytes, offset + 1, end);
  const [, prefix] = ID.exec(id) ?? WORD_ID.exec(id) ?? RESOURCE.exec(id) ?? [];
  return prefix === undefined ? null : { kind: BY_PREFIX[prefix] ?? 'state', id };
}

const BY_PREFIX: Readonly<Record<string, StateKind>> = {
  resp: 'response',
  msg: 'item',
  rs: 'item',
  cmp: 'item',
  conv: 'conversation',
  container: 'container',
  cntr: 'container',
  file: 'file',
  cfile: 'file',
  vs: 'vector_store',
  skill: 'skill',
  audio: 'audio',
  pmpt: 'prompt',
  thread: 'thread',
};

/** A prefix that is no English word, then any id: `resp_68af4030`. */
const ID = /^(resp|msg|rs|cmp|conv|cntr|cfile|vs|pmpt|asst|vlt|memstore|sesn|uprof|wrkspc)[_-][\w-]+$/;
/** A prefix that is an English word, then one run of letters and digits: `file-abc123`, but not `file_upload_2`. */
const WORD_ID = /^(container|file|skill|audio|thread|tunnel)[_-](?=[A-Za-z]*\d)[A-Za-z0-9]+$/;
/** Google's names of resources. */
const RESOURCE = /^(cachedContents|files|projects|corpora|fileSearchStores)\/./;

const QUOTE = 0x22;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const LETTER_A = 0x61;
const LETTER_D = 0x64;
const LETTER_S = 0x73;
const LETTER_Z = 0x7a;
