import { isRecord } from '../../lib/json/json.ts';
import { pictureTokens } from '../metering/media-tokens.ts';
import { addUsage, noUsage, readCount, totalTokens, type Usage } from '../metering/usage-facts.ts';
import { readImageUsage } from './usage.ts';

/**
 * The tokens of a stream of pictures. OpenAI reports those of each picture with it; Ark and MiniMax report one usage of all
 * in an event without a picture.
 */
export class StreamTokens {
  #ofPictures = noUsage;
  #ofStream: Usage | null = null;
  /** The estimated tokens of pictures whose tokens have not been reported. */
  #unreported = 0;
  /** Output of the whole stream, in a usage that lacks other totals. */
  #outputOfStream = 0;

  /** An event with this usage and so many pictures. */
  add(usage: unknown, pictures: number, quality: string | null): void {
    const used = readImageUsage(usage);
    if (pictures === 0) {
      if (used !== null && totalTokens(used) >= totalTokens(this.#ofStream ?? noUsage)) this.#ofStream = used;
      this.#outputOfStream = Math.max(this.#outputOfStream, outputAlone(usage));
    } else if (used !== null) {
      this.#ofPictures = addUsage(this.#ofPictures, used);
    } else {
      this.#unreported += pictures * pictureTokens(quality);
    }
  }

  /** Whether pictures have come whose tokens are not known. */
  get lacksAny(): boolean {
    return this.#unreported > 0 && this.#ofStream === null;
  }

  /** What was reported: of the stream as a whole, or of its pictures if that is more. */
  reported(): Usage {
    const ofStream = this.#ofStream ?? noUsage;
    return totalTokens(ofStream) > totalTokens(this.#ofPictures) ? ofStream : this.#ofPictures;
  }

  /** What was reported, and an estimate of what was not. */
  estimated(): Usage {
    const output = Math.max(this.#ofPictures.imageOutputTokens + this.#unreported, this.#outputOfStream);
    return { ...this.#ofPictures, imageOutputTokens: output };
  }
}

/** The output of a usage that is no usage for the rest, such as that of Ark. */
function outputAlone(usage: unknown): number {
  return isRecord(usage) ? (readCount(usage.output_tokens) ?? 0) : 0;
}
