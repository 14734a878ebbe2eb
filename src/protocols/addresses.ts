import { isIP } from 'node:net';
import { isPublicAddress } from '../lib/ip-address.ts';
import { decodeString } from '../lib/json/json-string.ts';
import { withoutTrailing } from '../lib/trailing.ts';

/** Addresses in requests. */

const SPACE = 0x20;
const QUOTE = 0x22;
const SLASH = 0x2f;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const SCHEME_BYTES_MAX = 32;
/** The bytes that a scheme takes with what follows it, if each is an escape. */
const ESCAPED_BYTES_MAX = 6 * (SCHEME_BYTES_MAX + 3);

/**
 * The scheme of the address in a string whose text begins at `start`, in lower case; `null`: the text is no address. Escapes are decoded and
 * leading white space is skipped, as clients do that fetch it.
 */
export function schemeAt(bytes: Buffer, start: number): string | null {
  for (let at = start; at < start + SCHEME_BYTES_MAX; at++) {
    const byte = bytes[at]!;
    if (byte === COLON && bytes[at + 1] === SLASH && bytes[at + 2] === SLASH) {
      return bytes.toString('latin1', start, at).toLowerCase();
    }
    if (byte === COLON || byte === BACKSLASH || (byte === SPACE && at === start))
      return schemeOf(decodedStart(bytes, start));
    if (SCHEME_BYTES[byte] === 0) return null;
  }
  return null;
}

function schemeOf(text: string): string | null {
  const [, scheme, other] = ADDRESS.exec(text) ?? [];
  return (scheme ?? other)?.toLowerCase() ?? null;
}

/** Two need no slashes. */
const ADDRESS = /^(?:([a-z\d+.-]+):\/\/|(data|file):)/i;

/** The beginning of a text in a string, after leading white space. */
function decodedStart(bytes: Buffer, start: number): string {
  let from = start;
  while (isWhiteSpace(bytes, from)) from = escapeEnd(bytes, from);
  let end = from;
  while (bytes[end] !== QUOTE && end - from < ESCAPED_BYTES_MAX) end = escapeEnd(bytes, end);
  return decodeString(bytes, from, end);
}

/** Where the character ends that begins here, or its byte. */
function escapeEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== BACKSLASH) return at + 1;
  return at + (bytes[at + 1] === LETTER_U ? 6 : 2);
}

function isWhiteSpace(bytes: Buffer, at: number): boolean {
  const byte = bytes[at]!;
  return byte === SPACE || (byte === BACKSLASH && decodeString(bytes, at, escapeEnd(bytes, at)).trim() === '');
}

const SCHEME_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[a-z\d+.-]/i.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** As `isPublicServer`, of the text behind the quote at `offset`. */
export function isPublicServerAt(bytes: Buffer, offset: number): boolean {
  const start = offset + 1;
  const host = USUAL.exec(bytes.toString('latin1', start, start + USUAL_BYTES))?.[1];
  if (host !== undefined) return !isOwnDomain(host.toLowerCase());
  let end = start;
  while (bytes[end] !== QUOTE && end - start < ADDRESS_START_BYTES) end = escapeEnd(bytes, end);
  return isPublicServer(decodeString(bytes, start, end));
}

/** Nearly all addresses: a name whose last part is no number, and neither a port nor an escape. Parsing one takes ten times as long. */
const USUAL = /^https?:\/\/([\w.-]*\.[a-z][\w-]*)[/?#"]/i;
const USUAL_BYTES = 256;
/** Long enough for the server of an address. */
const ADDRESS_START_BYTES = 1_024;

/** Whether a text is the address of a server on the internet, and not one of the provider's own network. */
export function isPublicServer(text: string | null): boolean {
  const url = text === null || AMBIGUOUS.test(text) ? null : URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return false;
  const host = withoutTrailing(url.hostname, '.');
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (isIP(address) !== 0) return isPublicAddress(address);
  return host.includes('.') && !isOwnDomain(host);
}

function isOwnDomain(host: string): boolean {
  return OWN_DOMAINS.some((domain) => host.endsWith(domain));
}

/** Readers of addresses differ on which server one means that has a backslash, or a name in front of an `@`. */
const AMBIGUOUS = /^[^/\\]*[/\\]{2}[^/?#]*[\\@]/;

/** Domains that no server on the internet has. */
const OWN_DOMAINS = [
  '.internal',
  '.local',
  '.localhost',
  '.localdomain',
  '.lan',
  '.home.arpa',
  '.intranet',
  '.corp',
  '.svc',
];
