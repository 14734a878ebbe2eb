import { parseJson } from './json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Returns the string at an offset, as bytes if it has no escapes; `null` if no string begins there. */
export function stringAt(bytes: Buffer, start: number): Buffer | string | null {
  if (start === -1 || bytes[start] !== QUOTE) return null;
  const end = stringEnd(bytes, start + 1);
  if (end === -1) return null;
  const content = bytes.subarray(start + 1, end);
  if (!content.includes(BACKSLASH)) return content;
  const value = parseJson(bytes.toString('utf8', start, end + 1));
  return typeof value === 'string' ? value : null;
}

/** Returns the offset of the closing quote; -1: none. */
function stringEnd(bytes: Buffer, start: number): number {
  const quote = bytes.indexOf(QUOTE, start);
  if (quote === -1 || bytes[quote - 1] !== BACKSLASH) return quote;
  // Slow path, which is rare: encrypted content of providers is base64, without escapes.
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at < bytes.length ? at : -1;
}
