import { hash } from 'node:crypto';
import { BytePatterns } from '../lib/byte-patterns.ts';
import { stringAt } from '../lib/json/string-at.ts';
import { valueStart } from './metering/estimate.ts';

/**
 * Signed blocks are parts of a conversation that only their provider accepts: thinking with a `signature` and `redacted_thinking`
 * (messages), encrypted reasoning (responses), `reasoning_details` and thought signatures (chat). A key is `s:` and the SHA-256 of the
 * signature or the encrypted content in base64url (`docs/routing.md`).
 */

/** Maximum number of keys that are stored for a response, and looked up for a request. The newest ones are kept. */
export const SIGNED_KEYS_MAX = 16;

const PREFIX = 's:';

/** @param content the decoded JSON string; a buffer has it as UTF-8 */
export function signedKey(content: Buffer | string): string {
  return signedKeyOfHash(hash('sha256', content, 'base64url'));
}

export function signedKeyOfHash(contentHash: string): string {
  return `${PREFIX}${contentHash}`;
}

export function isSignedKey(key: string): boolean {
  return key.startsWith(PREFIX);
}

const MEMBERS = ['signature', 'thought_signature', 'thoughtSignature', 'encrypted_content'];
/** Types of objects whose member `data` is encrypted content. */
const ENCRYPTED_TYPES = ['redacted_thinking', 'reasoning.encrypted'];
const MARKS = [...MEMBERS, ...ENCRYPTED_TYPES].map((word) => Buffer.from(`"${word}"`));
const MARK_PATTERNS = new BytePatterns(MARKS);

/** Maximum bytes of a request that are searched. The newest blocks are at its end. */
const SEARCHED_BYTES_MAX = 512 * 1024;
/** Maximum number of matches that are kept. A hostile request can have very many. */
const PLACES_MAX = 64;

/**
 * Returns keys of signed blocks in JSON or in events, newest first, without parsing. The opening quote of a key never follows a backslash,
 * unlike the same characters in a string.
 * @param from offset at which the search begins; only the last 512 KiB are searched
 */
export function signedKeysIn(text: Buffer, from = 0): string[] {
  const bytes = text.subarray(Math.max(from, text.length - SEARCHED_BYTES_MAX));
  // Ring buffer: match n is at the index n modulo `PLACES_MAX`.
  const marks = new Int32Array(PLACES_MAX);
  const ends = new Int32Array(PLACES_MAX);
  let count = 0;
  MARK_PATTERNS.some(bytes, (mark, end) => {
    marks[count % PLACES_MAX] = mark;
    ends[count++ % PLACES_MAX] = end;
    return false;
  });
  const keys = new Set<string>();
  for (let left = Math.min(count, PLACES_MAX); left > 0 && keys.size < SIGNED_KEYS_MAX; left--) {
    count--;
    const [mark, end] = [marks[count % PLACES_MAX]!, ends[count % PLACES_MAX]!];
    if (bytes[end - MARKS[mark]!.length - 1] === BACKSLASH) continue;
    const start = mark < MEMBERS.length ? valueStart(bytes, end) : encryptedDataStart(bytes, end - MARKS[mark]!.length);
    const content = stringAt(bytes, start);
    if (content !== null && content.length > 0) keys.add(signedKey(content));
  }
  return [...keys];
}

export class SignedBlocks {
  readonly #keys = new Set<string>();

  add(bytes: Buffer): void {
    for (const key of signedKeysIn(bytes).reverse()) {
      this.#keys.delete(key);
      this.#keys.add(key);
      const [oldest] = this.#keys;
      if (this.#keys.size > SIGNED_KEYS_MAX) this.#keys.delete(oldest!);
    }
  }

  keys(): readonly string[] {
    return [...this.#keys];
  }
}

/** Returns the offset of the `data` value of a flat object whose `type` value is at `typeStart`; -1: it has none. */
function encryptedDataStart(bytes: Buffer, typeStart: number): number {
  let dataStart = -1;
  let at = bytes.lastIndexOf(OPEN_BRACE, typeStart);
  if (at === -1) return -1;
  for (let members = 0; members < MEMBERS_MAX; members++) {
    const key = skipSpace(bytes, at + 1);
    const keyEnd = plainStringEnd(bytes, key);
    const start = valueStart(bytes, keyEnd);
    if (start === -1) return -1;
    if (DATA.equals(bytes.subarray(key, keyEnd))) dataStart = start;
    // What matched is the value of another member, or a part of a string.
    if (start === typeStart && !TYPE.equals(bytes.subarray(key, keyEnd))) return -1;
    at = skipSpace(bytes, bytes[start] === QUOTE ? plainStringEnd(bytes, start) : wordEnd(bytes, start));
    if (bytes[at] === CLOSE_BRACE) return at > typeStart ? dataStart : -1;
    if (bytes[at] !== COMMA) return -1;
  }
  return -1;
}

/** Returns the offset after a string without escapes; the length of the buffer if it has no end. */
function plainStringEnd(bytes: Buffer, start: number): number {
  const quote = bytes[start] === QUOTE ? bytes.indexOf(QUOTE, start + 1) : -1;
  return quote === -1 || bytes[quote - 1] === BACKSLASH ? bytes.length : quote + 1;
}

function wordEnd(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at]! > SPACE && bytes[at] !== COMMA && bytes[at] !== CLOSE_BRACE) at++;
  return at;
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at]! <= SPACE) at++;
  return at;
}

const MEMBERS_MAX = 16;
const TYPE = Buffer.from('"type"');
const DATA = Buffer.from('"data"');
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
