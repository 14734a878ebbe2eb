/** Estimates of output that is no text, if its provider has not reported it (`docs/client-aborts.md`, "Estimates"). */

/**
 * Output tokens of a picture of a quality: those of a square picture of GPT Image, the fewest that its vendor bills. Without a
 * known quality a picture counts as a medium one.
 */
const TOKENS_BY_QUALITY: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
const TOKENS_OF_ANY = 1_056;

/** The output tokens of a picture, by its quality; `null`: not known. */
export function pictureTokens(quality: string | null): number {
  return quality !== null && Object.hasOwn(TOKENS_BY_QUALITY, quality) ? TOKENS_BY_QUALITY[quality]! : TOKENS_OF_ANY;
}

/** Samples of 16 bits at 24 kHz, one channel: what OpenAI and DashScope stream, whether it is called `pcm16` or `wav`. */
const PCM_BYTES_PER_SECOND = 48_000;
/**
 * The most bytes that a second of speech takes in a compressed format at 24 kHz: MPEG-2 Layer III has 160 kbit/s at most, AAC
 * 6,144 bits for 1,024 samples, and Opus needs 64 kbit/s for one channel (RFC 6716, 2.1.1). So a sound counts as too short
 * rather than too long.
 */
const BYTES_PER_SECOND: Readonly<Record<string, number>> = { mp3: 20_000, aac: 18_000, opus: 8_000 };

/** OpenAI: a token of output for 50 ms. */
const TOKENS_PER_SECOND = 20;
/** DashScope: by the beginning of the name of the model. */
const TOKENS_PER_SECOND_OF: readonly (readonly [model: RegExp, tokens: number])[] = [
  [/qwen3(\.\d+)?-omni/, 12.5],
  [/qwen(2\.5)?-omni/, 25],
];

/** A sound that a model made. */
interface Sound {
  readonly sizeBytes: number;
  /** As the request asks for it; `null`: it does not say. */
  readonly format: string | null;
  /** The model, as its provider calls it. */
  readonly model: string | null;
}

/** The output tokens of a sound, by its length. */
export function soundTokens({ sizeBytes, format, model }: Sound): number {
  const known = format !== null && Object.hasOwn(BYTES_PER_SECOND, format) ? BYTES_PER_SECOND[format] : undefined;
  const rate = TOKENS_PER_SECOND_OF.find(([name]) => model !== null && name.test(model))?.[1] ?? TOKENS_PER_SECOND;
  return Math.ceil((sizeBytes / (known ?? PCM_BYTES_PER_SECOND)) * rate);
}

/** The bytes that a text of base64 stands for, by its length. */
export function base64Size(characters: number): number {
  return Math.floor((characters * 3) / 4);
}
