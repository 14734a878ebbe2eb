import { isRecord } from '../../lib/json/json.ts';
import { base64Size, pictureTokens, soundTokens } from '../metering/media-tokens.ts';
import type { MediaTokens } from '../metering/usage-facts.ts';
import { compilePaths } from '../metering/written-paths.ts';
import { WrittenText } from '../metering/written-text.ts';

/** Media in chat responses: base64 in `audio.data`, `image_url` objects in `images` (OpenRouter, LiteLLM), or content parts. */
interface ChatMedia {
  add(choices: unknown): void;
  addPart(part: Buffer, isLast: boolean): void;
  tokens(model: string | null): MediaTokens;
}

const AUDIO = Buffer.from('"audio"');
const SOUND = { paths: compilePaths({ text: [], encrypted: ['choices[].delta.audio.data'] }) };
export const PICTURE_MARKS: readonly Buffer[] = ['"images"', '"image_url"'].map((mark) => Buffer.from(mark));
const ADDRESS_OF_DATA = Buffer.from(';base64,');

export function chatMedia(format: string | null): ChatMedia {
  let audioBytes = 0;
  let pictures = 0;
  /** Choice and index of each image, to recognize repeats: some relays send all images again in the last event. */
  const placed = new Set<string>();
  let large: LargeEvent | null = null;

  function addMessage(message: unknown, choice: unknown): void {
    if (!isRecord(message)) return;
    const { audio, images, content } = message;
    if (isRecord(audio) && typeof audio.data === 'string') audioBytes += base64Size(audio.data.length);
    for (const image of listOf(images)) addPicture(image, choice);
    for (const part of listOf(content)) if (isRecord(part) && part.type !== 'text') addPicture(part, choice);
  }

  function addPicture(image: unknown, choice: unknown): void {
    if (!holdsPicture(image)) return;
    if (typeof image.index === 'number') placed.add(`${choice}.${image.index}`);
    else pictures++;
  }

  return {
    add(choices) {
      for (const [place, choice] of listOf(choices).entries()) {
        if (!isRecord(choice)) continue;
        addMessage(choice.message ?? choice.delta, choice.index ?? place);
      }
    },
    addPart(part, isLast) {
      large ??= new LargeEvent(part);
      large.add(part, isLast);
      if (!isLast) return;
      audioBytes += large.audioBytes;
      pictures += large.pictures;
      large = null;
    },
    tokens: (model) => ({
      audioOutputTokens: soundTokens({ sizeBytes: audioBytes, format, model }),
      imageOutputTokens: (pictures + placed.size) * pictureTokens(null),
    }),
  };
}

function holdsPicture(item: unknown): item is Readonly<Record<string, unknown>> {
  if (!isRecord(item)) return false;
  const address = isRecord(item.image_url) ? item.image_url.url : item.image_url;
  return [address, item.url, item.b64_json].some((value) => typeof value === 'string' && value !== '');
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An event of more than 1 MiB, which is measured in chunks. The first chunk determines its kind of media. */
class LargeEvent {
  readonly #audio: WrittenText | null;
  readonly #hasPictures: boolean;
  #pictures = 0;
  #rest = Buffer.alloc(0);

  constructor(beginning: Buffer) {
    this.#audio = beginning.includes(AUDIO) ? new WrittenText(SOUND) : null;
    this.#hasPictures = PICTURE_MARKS.some((mark) => beginning.includes(mark));
  }

  add(part: Buffer, isLast: boolean): void {
    this.#audio?.addPart(part, isLast);
    if (!this.#hasPictures) return;
    const bytes = Buffer.concat([this.#rest, part]);
    for (let at = bytes.indexOf(ADDRESS_OF_DATA); at !== -1; at = bytes.indexOf(ADDRESS_OF_DATA, at + 1))
      this.#pictures++;
    this.#rest = Buffer.from(bytes.subarray(Math.max(0, bytes.length - ADDRESS_OF_DATA.length + 1)));
  }

  get audioBytes(): number {
    return this.#audio?.sizeBytes ?? 0;
  }

  get pictures(): number {
    return this.#hasPictures ? Math.max(1, this.#pictures) : 0;
  }
}
