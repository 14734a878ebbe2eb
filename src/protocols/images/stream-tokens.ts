import { isRecord } from '../../lib/json/json.ts';
import { pictureTokens } from '../metering/media-tokens.ts';
import { addUsage, noUsage, readCount, totalTokens, type Usage } from '../metering/usage-facts.ts';
import { readImageUsage } from './usage.ts';

/** Tokens of an image stream. OpenAI reports them with each image; Ark and MiniMax report their total in an event without an image. */
export class StreamTokens {
  #ofPictures = noUsage;
  #ofStream: Usage | null = null;
  #unreported = 0;
  /** Output tokens of the whole stream, reported without the other totals. */
  #outputOfStream = 0;

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

  get lacksAny(): boolean {
    return this.#unreported > 0 && this.#ofStream === null;
  }

  /** Returns the tokens of the stream: its total, or the sum of its images if that is greater. */
  reported(): Usage {
    const ofStream = this.#ofStream ?? noUsage;
    return totalTokens(ofStream) > totalTokens(this.#ofPictures) ? ofStream : this.#ofPictures;
  }

  estimated(): Usage {
    const output = Math.max(this.#ofPictures.imageOutputTokens + this.#unreported, this.#outputOfStream);
    return { ...this.#ofPictures, imageOutputTokens: output };
  }
}

function outputAlone(usage: unknown): number {
  return isRecord(usage) ? (readCount(usage.output_tokens) ?? 0) : 0;
}
