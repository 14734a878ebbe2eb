import { isIP } from 'node:net';
import { isPublicAddress } from '../lib/ip-address.ts';
import type { JsonReader } from '../lib/json/json-reader.ts';
import { decodeString } from '../lib/json/json-string.ts';
import { withoutTrailing } from '../lib/trailing.ts';
import type { StateText, TextRule } from './request-rules.ts';
import { type ShownReference, shownByValue } from './shown-references.ts';

const ID_BYTES_MAX = 256;
const ADDRESS_BYTES_MAX = 4_096;
/** Schemes of addresses whose content is on the web or in the request. */
const WEB: readonly string[] = ['http', 'https', 'data', 'blob'];
const FILE_SCHEME = 'fileid';

export function isExcepted(json: JsonReader, { except }: StateText): boolean {
  return except !== undefined && json.kind === 'string' && except.includes(textHere(json, ID_BYTES_MAX) ?? '');
}

/** Returns the reference in the next string; `null` if it has none; `unlisted` if the rule does not allow the string. */
export function shownByText(json: JsonReader, rule: Exclude<TextRule, StateText>): ShownReference | 'unlisted' | null {
  switch (rule) {
    case 'setting':
      return null;
    case 'shown':
      return shownByValue(json.bytes, json.offset);
    case 'server':
      return isPublicServer(textHere(json, ADDRESS_BYTES_MAX)) ? null : 'unlisted';
    default:
      return shownByAddress(json, rule);
  }
}

function shownByAddress(json: JsonReader, rule: 'prose' | 'link' | 'media'): ShownReference | null {
  const scheme = schemeAt(json.bytes, json.offset + 1);
  if (scheme === null) return rule === 'media' ? shownByBareMedia(json) : null;
  if (rule === 'prose' ? scheme === FILE_SCHEME : !WEB.includes(scheme)) {
    return { kind: 'file', id: textHere(json, ADDRESS_BYTES_MAX) ?? scheme };
  }
  const isFetched = rule === 'media' && scheme.startsWith('http');
  return isFetched && !isPublicServerAt(json.bytes, json.offset) ? { kind: 'network', id: '' } : null;
}

/** Reads a string that is base64, a file id, or a path, which some model servers open. */
function shownByBareMedia(json: JsonReader): ShownReference | null {
  const shown = shownByValue(json.bytes, json.offset);
  if (shown !== null) return shown;
  const path = textHere(json, ADDRESS_BYTES_MAX);
  return path?.includes('.') === true ? { kind: 'file', id: path } : null;
}

function textHere(json: JsonReader, sizeBytesMax: number): string | null {
  return json.from(json.offset).text(sizeBytesMax);
}

const SPACE = 0x20;
const QUOTE = 0x22;
const SLASH = 0x2f;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const SCHEME_BYTES_MAX = 32;
/** Maximum bytes of a scheme and the characters after it, if each is an escape. */
const ESCAPED_BYTES_MAX = 6 * (SCHEME_BYTES_MAX + 3);

/** Returns the scheme of an address in lower case; `null` if it has none. Decodes escapes and skips white space, as clients do. */
function schemeAt(bytes: Buffer, start: number): string | null {
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

/** An address with its scheme. `data` and `file` need no slashes. */
const ADDRESS = /^(?:([a-z\d+.-]+):\/\/|(data|file):)/i;

function decodedStart(bytes: Buffer, start: number): string {
  let from = start;
  while (isWhiteSpace(bytes, from)) from = escapeEnd(bytes, from);
  let end = from;
  while (bytes[end] !== QUOTE && end - from < ESCAPED_BYTES_MAX) end = escapeEnd(bytes, end);
  return decodeString(bytes, from, end);
}

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

/** Like `isPublicServer`, for the string whose opening quote is at `offset`. */
function isPublicServerAt(bytes: Buffer, offset: number): boolean {
  const start = offset + 1;
  const host = USUAL.exec(bytes.toString('latin1', start, start + USUAL_BYTES))?.[1];
  if (host !== undefined) return !isOwnDomain(host.toLowerCase());
  let end = start;
  while (bytes[end] !== QUOTE && end - start < ADDRESS_START_BYTES) end = escapeEnd(bytes, end);
  return isPublicServer(decodeString(bytes, start, end));
}

/** Fast path for nearly all addresses: a domain without port or escape. Parsing a URL takes ten times as long. */
const USUAL = /^https?:\/\/([\w.-]*\.[a-z][\w-]*)[/?#"]/i;
const USUAL_BYTES = 256;
const ADDRESS_START_BYTES = 1_024;

/** Whether an address is on the internet rather than in the provider's internal network. */
function isPublicServer(text: string | null): boolean {
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

/** Addresses with a backslash or a user name. URL parsers disagree about their host. */
const AMBIGUOUS = /^[^/\\]*[/\\]{2}[^/?#]*[\\@]/;

/** Domains that do not exist on the internet. */
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
