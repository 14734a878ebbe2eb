import { JsonReader } from '../../lib/json/json-reader.ts';
import { isPlainText } from '../../lib/plain-text.ts';
import { type SessionPlaces, userIdAt } from './session.ts';

/** Members that name the end user of a request, in the order in which they count. The vendor of the protocol defines the first one. */
const NAMED_BY = {
  chat: ['safety_identifier', 'user', 'metadata'],
  messages: ['metadata', 'safety_identifier', 'user'],
} as const;

const END_USER_LENGTH_MAX = 128;
/** An escape has at most six bytes for each UTF-16 code unit. */
const END_USER_BYTES_MAX = 6 * END_USER_LENGTH_MAX;

/** Returns the end user as far as it can be recorded; `null`: too long, or with characters that a terminal or a page interprets. */
export function recordedEndUser(text: string | null): string | null {
  if (text === null || text === '' || text.length > END_USER_LENGTH_MAX) return null;
  return text.isWellFormed() && isPlainText(text) ? text : null;
}

/** Finds the first usable name of the end user; `null`: the body has none. */
export function endUserAt(body: Buffer, places: SessionPlaces, protocol: keyof typeof NAMED_BY): string | null {
  for (const name of NAMED_BY[protocol]) {
    const place = places[name];
    if (place === -1) continue;
    const text = name === 'metadata' ? userIdAt(body, place) : new JsonReader(body, place).text(END_USER_BYTES_MAX);
    const endUser = recordedEndUser(text);
    if (endUser !== null) return endUser;
  }
  return null;
}
