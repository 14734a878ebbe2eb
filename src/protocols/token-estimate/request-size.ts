import { estimateTokens } from '../metering/estimate.ts';
import { audioBudget, BUDGETS, fileBudget, totalTokens } from './budgets.ts';

/**
 * Estimates the input tokens of a JSON request from its size, for the reservation. Text counts as one token per four bytes, and media in
 * base64 by budgets (`budgets.ts`) plus 10 %. A value counts as media only under a key that vendors use for media; under other keys, the
 * model reads base64 as text.
 * @param longValues start and end offsets of long values, as found by `scanJson`
 */
export function estimateRequestTokens(json: Buffer, longValues: readonly number[]): number {
  let mediaBytes = 0;
  let mediaTokens = 0;
  for (let i = 0; i < longValues.length; i += 2) {
    const [start, end] = [longValues[i]! + 1, longValues[i + 1]! - 1];
    if (end - start < MEDIA_BYTES_MIN || json[start - 1] !== QUOTE || !isUnderMediaKey(json, start - 1)) continue;
    const tokens = tokensOf(json, start, end);
    if (tokens === null || json.indexOf(QUOTE, start) !== end) continue;
    mediaBytes += end - start;
    mediaTokens += tokens;
  }
  const text = estimateTokens(json.length - mediaBytes);
  return mediaTokens === 0 ? text : text + totalTokens({ textTokens: 0, budgetTokens: mediaTokens }, 1);
}

/** Minimum bytes of a value that counts as media. A shorter one has fewer tokens as text than any media. */
const MEDIA_BYTES_MIN = 4096;
/** Number of bytes around a value in which its type is searched. */
const NEAR_BYTES = 256;

const QUOTE = 0x22;
const COLON = 0x3a;
const SPACE = 0x20;
const EQUALS = 0x3d;

const MEDIA_KEYS = ['"url"', '"image_url"', '"file_data"', '"data"', '"result"'].map((key) => Buffer.from(key));

function isUnderMediaKey(json: Buffer, start: number): boolean {
  let at = skipSpaceBefore(json, start);
  if (json[at - 1] !== COLON) return false;
  at = skipSpaceBefore(json, at - 1);
  return MEDIA_KEYS.some((key) => json.subarray(Math.max(0, at - key.length), at).equals(key));
}

function skipSpaceBefore(json: Buffer, end: number): number {
  let at = end;
  while (end - at < NEAR_BYTES && json[at - 1]! <= SPACE) at--;
  return at;
}

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,/i;
/** Base64 with backslashes, because PHP writes `/` as `\/`. */
const BASE64 = /^[A-Za-z0-9+/=_\\-]*$/;
const IMAGE_TYPE = /"(?:media_type|mime_?type)"\s*:\s*"image\\?\//i;
const AUDIO_TYPE = /"format"\s*:\s*"\w+"|"(?:media_type|mime_?type)"\s*:\s*"audio\\?\//i;
const IMAGE_RESULT = /"result"\s*:\s*"$/;

function paddingBytes(json: Buffer, end: number): number {
  if (json[end - 1] !== EQUALS) return 0;
  return json[end - 2] === EQUALS ? 2 : 1;
}

function text(json: Buffer, start: number, end: number): string {
  return json.toString('latin1', start, end);
}

/** Returns the tokens of a media value; `null` if it is text. Its first bytes or adjacent members determine the type. */
function tokensOf(json: Buffer, start: number, end: number): number | null {
  const beginning = text(json, start, Math.min(end, start + NEAR_BYTES));
  const url = DATA_URL.exec(beginning);
  const dataBytes = end - start - (url?.[0].length ?? 0);
  const decodedBytes = Math.floor((dataBytes * 3) / 4) - paddingBytes(json, end);
  if (url !== null) {
    const mediaType = url[1]!.toLowerCase().replaceAll('\\', '');
    if (mediaType.startsWith('image/')) return BUDGETS.image.tokens;
    if (mediaType.startsWith('audio/')) return audioBudget(decodedBytes);
    return mediaType === '' || mediaType.startsWith('text/') ? null : fileBudget(decodedBytes);
  }
  if (!BASE64.test(beginning) || !BASE64.test(text(json, end - NEAR_BYTES, end))) return null;
  const before = text(json, Math.max(0, start - NEAR_BYTES), start);
  const near = before + text(json, end, end + NEAR_BYTES);
  if (IMAGE_TYPE.test(near)) return BUDGETS.imageMessages.tokens;
  if (IMAGE_RESULT.test(before)) return BUDGETS.image.tokens;
  if (AUDIO_TYPE.test(near)) return audioBudget(decodedBytes);
  return fileBudget(decodedBytes);
}
