import type { MediaBlock, RawText } from './conversation.ts';

/** A base64 `data:` URL: its media type without parameters, and its data. */
const DATA_URL = /^data:([a-zA-Z0-9.+/-]{1,128})(?:;[^;,]{0,128}){0,4};base64,/;

/** Reads the URL of an image or a file: a link, or a `data:` URL with the content. */
export function sourceOf(url: RawText): MediaBlock['source'] {
  // A slash may be escaped. The data of base64 has other characters that need none.
  const head = url.slice(0, HEAD_LENGTH).replaceAll('\\/', '/');
  const match = DATA_URL.exec(head);
  if (match === null) return { url };
  const comma = url.indexOf(',');
  return { base64: url.slice(comma + 1), mediaType: match[1]! };
}

const HEAD_LENGTH = 1_024;
