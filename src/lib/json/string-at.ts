import { parseJson } from './json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The value of the string that begins at the offset, as bytes if they are the value; `null` if none begins. */
export function stringAt(bytes: Buffer, start: number): Buffer | string | null {
  if (start === -1 || bytes[start] !== QUOTE) return null;
  const end = stringEnd(bytes, start + 1);
  if (end === -1) return null;
  const content = bytes.subarray(start + 1, end);
  if (!content.includes(BACKSLASH)) return content;
  const value = parseJson(bytes.toString('utf8', start, end + 1));
  return typeof value === 'string' ? value : null;
}

/** The offset of the quote that ends the string; -1 if none does. */
function stringEnd(bytes: Buffer, start: number): number {
  const quote = bytes.indexOf(QUOTE, start);
  if (quote === -1 || bytes[quote - 1] !== BACKSLASH) return quote;
  // Providers encrypt to base64, which needs no escapes; only other content is read byte by byte.
  let at = start;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at < bytes.length ? at : -1;
}
