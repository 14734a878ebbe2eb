import type { IncomingHttpHeaders } from 'node:http';
import { JsonReader } from '../../lib/json/json-reader.ts';
import type { JsonMember } from '../../lib/json/json-scan.ts';
import { MemberNames } from '../../lib/json/member-names.ts';

/**
 * The session of a call: what its conversation has in common with the other calls of the same conversation, so that all of them reach the
 * provider that has its prompt cached (`docs/routing.md`).
 */
export interface Session {
  /** What names it: a member of the body, a header, or `conversation` for the beginning of the conversation's text. */
  readonly by: string;
  readonly value: string;
}

/** Offsets of the values in a body that may name a session; -1 for a member that is absent or null. */
type SessionPlaces = Readonly<typeof NO_PLACES>;
const NO_PLACES = {
  prompt_cache_key: -1,
  metadata: -1,
  system: -1,
  instructions: -1,
  tools: -1,
  messages: -1,
  input: -1,
};
const PLACES = new Map(Object.keys(NO_PLACES).map((name) => [name, name as keyof SessionPlaces]));

/** By the members at the top of a body. Of two spelt the same the last one counts, as most parsers read it: a session refuses nothing. */
export function sessionPlaces(members: readonly Pick<JsonMember, 'key' | 'kind' | 'valueStart'>[]): SessionPlaces {
  const places = { ...NO_PLACES };
  for (const { key, kind, valueStart } of members) {
    const place = PLACES.get(key);
    if (place !== undefined) places[place] = kind === 'null' ? -1 : valueStart;
  }
  return places;
}

/**
 * What a body says of its session: the places where it may name one, or the session itself if the body is too large to be read again in
 * the thread that serves calls (decision 16).
 */
export type BodySession = { readonly places: SessionPlaces } | { readonly named: Session | null };

const READ_LATER_BYTES_MAX = 64 * 1024;

/** Runs where the body is read: in another thread if it is large. */
export function bodySession(body: Buffer, places: SessionPlaces): BodySession {
  if (body.length <= READ_LATER_BYTES_MAX) return { places };
  return { named: cacheKeyAt(body, places) ?? conversationAt(body, places) };
}

/** Headers by which clients name a session: Claude Code, Codex (two spellings), opencode, and what several share. */
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

/** The session of a request; `null` if nothing names one. */
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

function userIdAt(body: Buffer, offset: number): string | null {
  if (offset === -1) return null;
  const reader = new JsonReader(body, offset);
  if (reader.kind !== 'object') return null;
  let userId: string | null = null;
  for (reader.enter(); reader.nextMember(); ) {
    if (USER_ID.find(body, reader.keyStart, reader.keyEnd) !== -1) userId = reader.text(VALUE_BYTES_MAX) || null;
  }
  return userId;
}

/** How much of a conversation's text identifies it: its instructions, its tools and the first turn of its user. */
const START_BYTES_MAX = 4_096;

/** Clients move `cache_control` from turn to turn. */
const MOVING = new MemberNames('cache_control');
const TURN = new MemberNames('role', 'content');
const ROLE_BYTES_MAX = 64;

/** Claude Code's first block of instructions, which changes with each call. */
const ATTRIBUTION = Buffer.from('x-anthropic-billing-header');

/** Thrown to end the reading. */
const ENOUGH = new Error('enough of the conversation was read');

function conversationStart(body: Buffer, places: SessionPlaces): string {
  const pieces: Buffer[] = [];
  let sizeBytes = 0;

  /** Takes in the texts of the value that comes next, in their order. */
  function take(reader: JsonReader): void {
    if (reader.kind === 'string') {
      const { offset } = reader;
      reader.skip();
      const text = body.subarray(offset + 1, reader.offset - 1);
      if (text.subarray(0, ATTRIBUTION.length).equals(ATTRIBUTION)) return;
      pieces.push(text.subarray(0, START_BYTES_MAX - sizeBytes));
      sizeBytes += pieces.at(-1)!.length;
      if (sizeBytes >= START_BYTES_MAX) throw ENOUGH;
    } else if (reader.kind === 'array') {
      for (reader.enter(); reader.nextItem(); ) take(reader);
    } else if (reader.kind === 'object') {
      for (reader.enter(); reader.nextMember(); ) {
        if (MOVING.find(body, reader.keyStart, reader.keyEnd) === -1) take(reader);
      }
    }
  }

  /** Takes in turns up to the first one of the user. A turn without a role is an item, such as a call of a tool. */
  function takeTurns(reader: JsonReader): void {
    const { kind } = reader;
    if (kind !== 'array') {
      take(reader);
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
      if (content !== -1) take(reader.from(content));
      if (role === 'user') throw ENOUGH;
    }
  }

  try {
    for (const place of ['system', 'instructions', 'tools'] as const) {
      if (places[place] !== -1) take(new JsonReader(body, places[place]));
    }
    for (const place of ['messages', 'input'] as const) {
      if (places[place] !== -1) takeTurns(new JsonReader(body, places[place]));
    }
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return Buffer.concat(pieces).toString('latin1');
}
