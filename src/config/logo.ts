import { isUtf8 } from 'node:buffer';
import { parsed } from './fields.ts';
import { readRegularFile } from './regular-file.ts';

/** Maximum size of a logo: pages load it before anything else. */
const BYTES_MAX = 256 * 1024;

const PNG_SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** Characters of an SVG document within which its root begins, after an XML declaration and comments. */
const SVG_HEAD_LENGTH = 4096;

/**
 * A logo, given as the path of a PNG or SVG file; the result is a data URL. The file is read while the configuration is parsed, so an
 * unreadable one is reported with line and key. An SVG can contain scripts: pages must show it only as an image, where browsers run none.
 */
export const logo = parsed(readLogo, 'the path of a readable PNG or SVG file of at most 256 KiB');

function readLogo(path: string): string | null {
  const bytes = readBytes(path);
  if (bytes === null || bytes.length > BYTES_MAX) return null;
  const contentType = contentTypeOf(bytes);
  return contentType === null ? null : `data:${contentType};base64,${bytes.toString('base64')}`;
}

/** The content of a logo. */
export interface LogoContent {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Returns the content of a data URL that `logo` returned. */
export function logoContent(dataUrl: string): LogoContent {
  const [head = '', content = ''] = dataUrl.split(';base64,');
  return { contentType: head.slice('data:'.length), bytes: Buffer.from(content, 'base64') };
}

/** Returns a description such as `(image/png, 3 KiB)`. */
export function showLogo(dataUrl: string): string {
  const { contentType, bytes } = logoContent(dataUrl);
  return `(${contentType}, ${Math.ceil(bytes.length / 1024)} KiB)`;
}

function contentTypeOf(bytes: Buffer): string | null {
  if (bytes.subarray(0, PNG_SIGNATURE.length).equals(PNG_SIGNATURE)) return 'image/png';
  if (!isUtf8(bytes)) return null;
  const head = bytes.toString('utf8', 0, SVG_HEAD_LENGTH).trimStart();
  return head.startsWith('<') && /<svg[\s>]/.test(head) ? 'image/svg+xml' : null;
}

function readBytes(path: string): Buffer | null {
  try {
    return readRegularFile(path).bytes;
  } catch {
    return null;
  }
}
