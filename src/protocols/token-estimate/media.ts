export interface DataUrl {
  /** Media type in lower case, without parameters; `text/plain` if the URL has none (RFC 2397). */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly data: string;
}

/** Maximum characters before the comma of a data URL. Even media types with parameters are shorter. */
const HEADER_CHARS_MAX = 256;

/** Parses `data:[<media type>][;parameter]...[;base64],<data>`; `null` if the text is not a data URL. */
export function readDataUrl(text: string): DataUrl | null {
  if (text.slice(0, 5).toLowerCase() !== 'data:') return null;
  const header = text.slice(5, HEADER_CHARS_MAX);
  const comma = header.indexOf(',');
  if (comma === -1) return null;
  const [mediaType = '', ...parameters] = header
    .slice(0, comma)
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  return {
    mediaType: mediaType === '' ? 'text/plain' : mediaType,
    isBase64: parameters.includes('base64'),
    data: text.slice(5 + comma + 1),
  };
}

/** Returns the decoded size; slightly too large if the text has line breaks. */
export function decodedSizeBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}

/** Decodes base64 in either alphabet as UTF-8. Invalid bytes become U+FFFD. */
export function decodeText(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** Returns the text of a data URL; without decoding if a percent escape is invalid. */
export function dataUrlText({ isBase64, data }: DataUrl): string {
  if (isBase64) return decodeText(data);
  try {
    return decodeURIComponent(data);
  } catch {
    return data;
  }
}

export function isPlainText(mediaType: unknown): boolean {
  return typeof mediaType === 'string' && /^\s*text\/plain\s*(?:;|$)/i.test(mediaType);
}
