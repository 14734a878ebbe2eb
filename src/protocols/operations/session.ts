import type { IncomingHttpHeaders } from 'node:http';
import { JsonReader } from '../../lib/json/json-reader.ts';
import type { JsonMember } from '../../lib/json/json-scan.ts';
import { MemberNames } from '../../lib/json/member-names.ts';

/** The conversation of a call. Its calls go to the provider that has cached the prompt (`docs/routing.md`). */
export interface Session {
  /** Where `value` comes from: a body member, a header, or `conversation` for the beginning of the conversation's text. */
  readonly by: string;
  readonly value: string;
}

/** Offsets of body members that may name a session or the end user; -1: absent or null. */
export type SessionPlaces = Readonly<typeof NO_PLACES>;
const NO_PLACES = {
  prompt_cache_key: -1,
  safety_identifier: -1,
  user: -1,
  metadata: -1,
  system: -1,
  instructions: -1,
  tools: -1,
  messages: -1,
  input: -1,
};
const PLACES = new Map(Object.keys(NO_PLACES).map((name) => [name, name as keyof SessionPlaces]));

/** Finds these members. If a key is repeated, the last one counts, as in most parsers. */
export function sessionPlaces(members: readonly Pick<JsonMember, 'key' | 'kind' | 'valueStart'>[]): SessionPlaces {
  const places = { ...NO_PLACES };
  for (const { key, kind, valueStart } of members) {
    const place = PLACES.get(key);
    if (place !== undefined) places[place] = kind === 'null' ? -1 : valueStart;
  }
  return places;
}

/** Offsets to find the session later; for a body too large for the main thread, the session itself (decision 16). */
export type BodySession = { readonly places: SessionPlaces } | { readonly named: Session | null };

export const READ_LATER_BYTES_MAX = 64 * 1024;

/** Finds the session of a body. The thread that reads the body calls this. */
export function bodySession(body: Buffer, places: SessionPlaces): BodySession {
  if (body.length <= READ_LATER_BYTES_MAX) return { places };
  return { named: cacheKeyAt(body, places) ?? conversationAt(body, places) };
}

/** Headers that name a session: those of Claude Code, Codex (two spellings) and opencode, and some that several clients use. */
export const SESSION_HEADERS = [
  'x-session-affinity',
  'x-claude-code-session-id',
  'session-id',
  'session_id',
  'x-opencode-session',
  'x-session-id',
] as const;

const USER_ID = new MemberNames('user_id');
const VALUE_BYTES_MAX = 4_096;

export function readSession(headers: IncomingHttpHeaders, body: Buffer, inBody: BodySession): Session | null {
  if ('places' in inBody) {
    const { places } = inBody;
    return cacheKeyAt(body, places) ?? sessionOfHeaders(headers) ?? conversationAt(body, places);
  }
  const { named } = inBody;
  return named?.by === CACHE_KEY ? named : (sessionOfHeaders(headers) ?? named);
}

const CACHE_KEY = 'prompt_cache_key';

function cacheKeyAt(body: Buffer, places: SessionPlaces): Session | null {
  const value = textAt(body, places.prompt_cache_key);
  return value === null ? null : { by: CACHE_KEY, value };
}

function sessionOfHeaders(headers: IncomingHttpHeaders): Session | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name];
    if (typeof value === 'string' && value !== '') return { by: name, value };
  }
  return null;
}

function conversationAt(body: Buffer, places: SessionPlaces): Session | null {
  const userId = userIdAt(body, places.metadata);
  if (userId !== null) return { by: 'metadata.user_id', value: userId };
  const text = conversationStart(body, places);
  return text === '' ? null : { by: 'conversation', value: text };
}

function textAt(body: Buffer, offset: number): string | null {
  if (offset === -1) return null;
  return new JsonReader(body, offset).text(VALUE_BYTES_MAX) || null;
}

/** Returns the member `user_id` of the object at an offset. */
export function userIdAt(body: Buffer, offset: number): string | null {
  if (offset === -1) return null;
  const reader = new JsonReader(body, offset);
  if (reader.kind !== 'object') return null;
  let userId: string | null = null;
  for (reader.enter(); reader.nextMember(); ) {
    if (USER_ID.find(body, reader.keyStart, reader.keyEnd) !== -1) userId = reader.text(VALUE_BYTES_MAX) || null;
  }
  return userId;
}

/** Maximum bytes of the text that identifies a conversation: instructions, tools and the first user message. */
const START_BYTES_MAX = 4_096;

/** Members that are skipped: clients move `cache_control` from message to message. */
const MOVING = new MemberNames('cache_control');
const TURN = new MemberNames('role', 'content');
const ROLE_BYTES_MAX = 64;

/** Beginning of Claude Code's first instruction block, which is skipped because it differs in each call. */
const ATTRIBUTION = Buffer.from('x-anthropic-billing-header');

const ENOUGH = new Error('enough of the conversation was read');

function conversationStart(body: Buffer, places: SessionPlaces): string {
  const texts: Buffer[] = [];
  let sizeBytes = 0;

  function add(reader: JsonReader): void {
    if (reader.kind === 'string') {
      const { offset } = reader;
      reader.skip();
      const text = body.subarray(offset + 1, reader.offset - 1);
      if (text.subarray(0, ATTRIBUTION.length).equals(ATTRIBUTION)) return;
      texts.push(text.subarray(0, START_BYTES_MAX - sizeBytes));
      sizeBytes += texts.at(-1)!.length;
      if (sizeBytes >= START_BYTES_MAX) throw ENOUGH;
    } else if (reader.kind === 'array') {
      for (reader.enter(); reader.nextItem(); ) add(reader);
    } else if (reader.kind === 'object') {
      for (reader.enter(); reader.nextMember(); ) {
        if (MOVING.find(body, reader.keyStart, reader.keyEnd) === -1) add(reader);
      }
    }
  }

  /** Adds all messages up to the first user message. Those without a role are items, such as tool calls. */
  function addTurns(reader: JsonReader): void {
    const { kind } = reader;
    if (kind !== 'array') {
      add(reader);
      return;
    }
    for (reader.enter(); reader.nextItem(); ) {
      if (reader.kind !== 'object') continue;
      let role: string | null = null;
      let content = -1;
      for (reader.enter(); reader.nextMember(); ) {
        const name = TURN.names[TURN.find(body, reader.keyStart, reader.keyEnd)];
        if (name === 'role') role = reader.text(ROLE_BYTES_MAX);
        else if (name === 'content') content = reader.offset;
      }
      if (content !== -1) add(reader.from(content));
      if (role === 'user') throw ENOUGH;
    }
  }

  try {
    for (const place of ['system', 'instructions', 'tools'] as const) {
      if (places[place] !== -1) add(new JsonReader(body, places[place]));
    }
    for (const place of ['messages', 'input'] as const) {
      if (places[place] !== -1) addTurns(new JsonReader(body, places[place]));
    }
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return Buffer.concat(texts).toString('latin1');
}
