import { isRecord } from '../../lib/json/json.ts';
import { removeSecrets } from './secrets.ts';

/** What a provider said about a failure, in the form that the record of a call keeps. */

/** The words may quote a prompt, so only a short text is kept. */
export const WORDS_CHARS_MAX = 300;

/** Characters of an HTML page that are searched for its title. */
const HEAD_CHARS_MAX = 4_000;
/** Texts that are taken from an error in an unknown format. */
const TEXTS_MAX = 10;
const DEPTH_MAX = 3;

/** A title of an HTML page, such as `502 Bad Gateway`. */
const TITLE = /<title>([^<]{1,200})/i;
const SPACES = /\s+/g;
const UNREADABLE = '\ufffd';

/** Returns a text on one line, without secrets and within the limit; `null` if nothing is left. */
export function toWords(text: string, secrets: readonly string[]): string | null {
  const words = removeSecrets(text, secrets).replace(SPACES, ' ').trim();
  if (words === '') return null;
  return (words.length > WORDS_CHARS_MAX ? `${words.slice(0, WORDS_CHARS_MAX - 1)}…` : words).toWellFormed();
}

/** Returns the readable text of a body that is no JSON object: plain text, or the title of a page. */
export function plainText(body: string): string {
  const text = body.trimStart();
  if (text.startsWith('<')) return TITLE.exec(text.slice(0, HEAD_CHARS_MAX))?.[1] ?? '';
  // A part of JSON, or a compressed body. In JSON, secrets can be written with escapes.
  return /^[[{"]/.test(text) || text.includes(UNREADABLE) ? '' : text;
}

/** Returns the texts of an error that has no message, such as `{"code":"busy","detail":"Try later."}`, in order. */
export function textsOf(error: unknown, depth = 0): string[] {
  if (typeof error === 'string') return error === '' ? [] : [error];
  if (depth === DEPTH_MAX) return [];
  const members = Array.isArray(error) ? error : isRecord(error) ? Object.values(error) : [];
  return members.flatMap((member: unknown) => textsOf(member, depth + 1)).slice(0, TEXTS_MAX);
}
