/** This file estimates media output that the provider has not reported (`docs/client-aborts.md`, "Estimates"). */

/** Output tokens of an image by quality: those of a square GPT Image, the smallest that the vendor bills. */
const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
const TOKENS_OF_ANY = 1_056;

export function pictureTokens(quality: string | null): number {
  return quality !== null && Object.hasOwn(TOKENS_BY_QUALITY, quality) ? TOKENS_BY_QUALITY[quality]! : TOKENS_OF_ANY;
}

/** Bytes per second of 16-bit mono audio at 24 kHz, which OpenAI and DashScope stream as `pcm16` or `wav`. */
const PCM_BYTES_PER_SECOND = 48_000;
/**
 * Maximum bytes per second of compressed speech at 24 kHz: MPEG-2 Layer III has at most 160 kbit/s, AAC 6,144 bits per 1,024 samples, and
 * Opus needs 64 kbit/s for one channel (RFC 6716, 2.1.1). With the maximum, the estimated duration is never too long.
 */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = { mp3: 20_000, aac: 18_000, opus: 8_000 };

/** Tokens per second of audio: OpenAI counts one per 50 ms. */
const TOKENS_PER_SECOND = 20;
/** Output tokens per second of audio for models of DashScope. */
const TOKENS_PER_SECOND_OF: readonly (readonly [model: RegExp, tokens: number])[] = [
  [/qwen3(\.\d+)?-omni/, 12.5],
  [/qwen(2\.5)?-omni/, 25],
];

interface Sound {
  readonly sizeBytes: number;
  readonly format: string | null;
  readonly model: string | null;
}

export function soundTokens({ sizeBytes, format, model }: Sound): number {
  const known = format !== null && Object.hasOwn(BYTES_PER_SECOND, format) ? BYTES_PER_SECOND[format] : undefined;
  const rate = TOKENS_PER_SECOND_OF.find(([name]) => model !== null && name.test(model))?.[1] ?? TOKENS_PER_SECOND;
  return Math.ceil((sizeBytes / (known ?? PCM_BYTES_PER_SECOND)) * rate);
}

export function base64Size(characters: number): number {
  return Math.floor((characters * 3) / 4);
}
