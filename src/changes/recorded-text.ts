import { hideKeys } from '../providers/upstream/secrets.ts';

const TEXT_CHARS_MAX = 1_000;
/** Stands where something was left out because it is too large, or may be as good as a password. */
export const CUT = '…';

/** A longer word of letters before `://` is no scheme. */
const SCHEME_CHARS_MAX = 40;
const SCHEME_CHARACTER = /[a-z\d+.-]/i;
const WEB_ADDRESS = /^(?:https?|wss?|ftp):/i;

/** A text that the database can store, without keys that somebody may have written into it, and of addresses the origin alone. */
export function toRecordedText(value: string): string {
  const stored = hidePaths(hideKeys(value.slice(0, TEXT_CHARS_MAX)))
    .replaceAll('\u0000', '')
    .toWellFormed();
  return value.length > TEXT_CHARS_MAX ? stored + CUT : stored;
}

/** A path may be as good as a password. What is an address is for the parser to say, and not for a pattern of its characters. */
function hidePaths(text: string): string {
  return text
    .split(/(\s)/)
    .map((word) => {
      const start = startOfAddress(word);
      return start === null ? word : word.slice(0, start) + originOf(word.slice(start));
    })
    .join('');
}

/** Parsers know `https:\\host`, `https:/host` and `https:host` as addresses too. */
function isWebAddress(text: string): boolean {
  return WEB_ADDRESS.test(text) && URL.canParse(text);
}

/** Where an address begins that ends with the word; `null` where there is none. */
function startOfAddress(word: string): number | null {
  if (isWebAddress(word)) return 0;
  for (let end = word.indexOf('://'); end !== -1; end = word.indexOf('://', end + 1)) {
    let start = end;
    while (start > Math.max(0, end - SCHEME_CHARS_MAX) && SCHEME_CHARACTER.test(word[start - 1]!)) start--;
    if (start < end) return start;
  }
  return null;
}

/** The address without name, password, path, query and fragment; the scheme alone if it cannot be parsed. */
function originOf(address: string): string {
  const scheme = `${address.slice(0, address.indexOf(':'))}://`;
  if (!URL.canParse(address)) return scheme + CUT;
  const { host, pathname, search, hash } = new URL(address);
  const isOriginAlone = (pathname === '/' || pathname === '') && search === '' && hash === '';
  return isOriginAlone ? scheme + host : `${scheme}${host}/${CUT}`;
}
