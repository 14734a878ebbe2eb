/**
 * What the text of a data URL or of a base64 value stands for, without decoding it.
 */
export interface DataUrl {
  /** In lower case, without parameters; `text/plain` if the URL has none (RFC 2397). */
  readonly mediaType: string;
  readonly isBase64: boolean;
  readonly data: string;
}

/** A media type and its parameters take less; what has no comma within is no data URL. */
const HEADER_CHARS_MAX = 256;

/** Reads `data:[<media type>][;parameter]...[;base64],<data>`; `null` if the text is something else. */
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

/** The size in bytes of what base64 text decodes to, from its length. Line breaks in it count a little too much. */
export function decodedSizeBytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding);
}

/** The text that base64 stands for, either alphabet; bytes that are no UTF-8 become U+FFFD. */
export function decodeText(base64: string): string {
  return Buffer.from(base64, 'base64').toString('utf8');
}

/** The text behind the comma of a data URL of text. A broken percent escape leaves it as it is. */
export function dataUrlText({ isBase64, data }: DataUrl): string {
  if (isBase64) return decodeText(data);
  try {
    return decodeURIComponent(data);
  } catch {
    return data;
  }
}

/** `text/plain`, whatever its parameters. */
export function isPlainText(mediaType: unknown): boolean {
  return typeof mediaType === 'string' && /^\s*text\/plain\s*(?:;|$)/i.test(mediaType);
}
