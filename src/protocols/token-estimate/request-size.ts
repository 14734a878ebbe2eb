import { estimateTokens } from '../metering/estimate.ts';
import { audioBudget, BUDGETS, fileBudget, totalTokens } from './budgets.ts';

/**
 * Input tokens of a JSON request by its size, for what is reserved before a call: by byte search, without parsing, in time
 * proportional to the size. Text counts a token for four bytes. A picture, a file or a sound that the request carries as
 * base64 goes by the budgets of the token estimator instead, with their margin: a picture of 1 MB is not 350,000 tokens of text.
 *
 * A value counts as media only under a key that has media at the vendors; anywhere else base64 is text to the model.
 */
export function estimateRequestTokens(json: Buffer): number {
  if (!mayHaveMedia(json)) return estimateTokens(json.length);
  let mediaBytes = 0;
  let mediaTokens = 0;
  for (const { sizeBytes, tokens } of mediaValues(json)) {
    mediaBytes += sizeBytes;
    mediaTokens += tokens;
  }
  return estimateTokens(json.length - mediaBytes) + totalTokens({ textTokens: 0, budgetTokens: mediaTokens }, 1);
}

/** A smaller value counts as text, which is less than any budget. */
const MEDIA_BYTES_MIN = 4096;
/** The bytes around a value that are read to find what the value is. */
const NEAR_BYTES = 256;
/** Members that are looked at; what follows counts as text, so that time does not grow with their number. */
const MEMBERS_MAX = 10_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SPACE = 0x20;
const EQUALS = 0x3d;

/** Under these the wire formats carry media: as a data URL, or as base64 without one. */
const MEDIA_KEYS = ['"url"', '"image_url"', '"file_data"', '"data"', '"result"'].map((key) => Buffer.from(key));

/** Bytes of media as text: base64, with escapes, and what escapes of URLs are made of. */
const MEDIA_BYTES = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[A-Za-z0-9+/=_\\%-]/.test(String.fromCharCode(byte)) ? 1 : 0,
);
/** Words of prose and code are shorter. */
const RUN_BYTES = 64;

/**
 * Whether anything in the text can be media, by samples: any value that is long enough has two of them, of which one at least is behind
 * the head of a data URL. Only then the keys of media are searched for, which takes longer than all else that is read of a prompt.
 */
function mayHaveMedia(json: Buffer): boolean {
  const stride = MEDIA_BYTES_MIN / 2;
  for (let at = stride; at + RUN_BYTES <= json.length; at += stride) {
    let end = at;
    while (end < at + RUN_BYTES && MEDIA_BYTES[json[end]!] === 1) end++;
    if (end === at + RUN_BYTES) return true;
  }
  return false;
}

interface MediaValue {
  readonly sizeBytes: number;
  readonly tokens: number;
}

function* mediaValues(json: Buffer): Generator<MediaValue> {
  /** The next place of each key; the length of the bytes if there is none. */
  const places = MEDIA_KEYS.map((key) => find(json, key, 0));
  for (let members = 0; members < MEMBERS_MAX; members++) {
    const place = Math.min(...places);
    if (json.length - place < MEDIA_BYTES_MIN) return;
    const key = MEDIA_KEYS[places.indexOf(place)]!;
    const start = stringStart(json, place + key.length);
    const end = start === -1 ? -1 : json.indexOf(QUOTE, start);
    let next = place + key.length;
    if (end - start >= MEDIA_BYTES_MIN && json[end - 1] !== BACKSLASH) {
      const tokens = tokensOf(json, start, end);
      if (tokens !== null) {
        yield { sizeBytes: end - start, tokens };
        next = end;
      }
    }
    for (const [index, at] of places.entries()) {
      if (at < next) places[index] = find(json, MEDIA_KEYS[index]!, next);
    }
  }
}

function find(json: Buffer, key: Buffer, from: number): number {
  const at = json.indexOf(key, from);
  return at === -1 ? json.length : at;
}

/** The offset behind the quote that opens the value of a key; -1 if the value is no string. */
function stringStart(json: Buffer, keyEnd: number): number {
  let at = keyEnd;
  while (at - keyEnd < NEAR_BYTES && json[at]! <= SPACE) at++;
  if (json[at++] !== COLON) return -1;
  while (at - keyEnd < NEAR_BYTES && json[at]! <= SPACE) at++;
  return json[at] === QUOTE ? at + 1 : -1;
}

const DATA_URL = /^data:([^;,]*)(?:;[^,]*)?;base64,/i;
/** PHP writes `/` as `\/`. */
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

/** By the beginning of the value, or by the members beside it; `null` if it is text. */
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
