import { hideKeys } from '../providers/upstream/secrets.ts';

const TEXT_CHARS_MAX = 1_000;
/** Stands for text that is too long or may be secret. */
export const CUT = '…';

/** Maximum length of a scheme. A longer word before `://` is none. */
const SCHEME_CHARS_MAX = 40;
const SCHEME_CHARACTER = /[a-z\d+.-]/i;
const WEB_ADDRESS = /^(?:https?|wss?|ftp):/i;

/** Returns a text without characters that the database cannot store, with API keys hidden and URLs reduced to their origin. */
export function toRecordedText(value: string): string {
  const stored = hidePaths(hideKeys(value.slice(0, TEXT_CHARS_MAX)))
    .replaceAll('\u0000', '')
    .toWellFormed();
  return value.length > TEXT_CHARS_MAX ? stored + CUT : stored;
}

/** Reduces URLs to their origin, because a path may be secret. The URL parser decides what is a URL. */
function hidePaths(text: string): string {
  return text
    .split(/(\s)/)
    .map((word) => {
      const start = startOfAddress(word);
      return start === null ? word : word.slice(0, start) + originOf(word.slice(start));
    })
    .join('');
}

/** Whether a text is a URL for a parser, which accepts `https:\\host`, `https:/host` and `https:host`, too. */
function isWebAddress(text: string): boolean {
  return WEB_ADDRESS.test(text) && URL.canParse(text);
}

/** Returns the index at which a URL begins that ends with the word; `null`: none does. */
function startOfAddress(word: string): number | null {
  if (isWebAddress(word)) return 0;
  for (let end = word.indexOf('://'); end !== -1; end = word.indexOf('://', end + 1)) {
    let start = end;
    while (start > Math.max(0, end - SCHEME_CHARS_MAX) && SCHEME_CHARACTER.test(word[start - 1]!)) start--;
    if (start < end) return start;
  }
  return null;
}

/** Returns the origin of a URL; if it cannot be parsed, only its scheme. */
function originOf(address: string): string {
  const scheme = `${address.slice(0, address.indexOf(':'))}://`;
  if (!URL.canParse(address)) return scheme + CUT;
  const { host, pathname, search, hash } = new URL(address);
  const isOriginAlone = (pathname === '/' || pathname === '') && search === '' && hash === '';
  return isOriginAlone ? scheme + host : `${scheme}${host}/${CUT}`;
}
