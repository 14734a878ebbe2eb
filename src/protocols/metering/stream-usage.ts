import { pictureTokens } from './media-tokens.ts';
import { boundedOutput, type DeliveredOutput, doubtsOf, NO_DOUBTS } from './plausible-usage.ts';
import type { StreamReading } from './stream-reading.ts';
import {
  type DoubtedSide,
  inputTokensOf,
  type MediaTokens,
  noUsage,
  type Usage,
  type UsageFacts,
} from './usage-facts.ts';
import type { WrittenText } from './written-text.ts';

/** What has come of a stream. */
interface StreamState {
  /** Whether an event of a response has come through; keep-alive comments and errors do not count. */
  readonly hasBegun: boolean;
  /** Whether the provider reported an error inside the stream. */
  readonly hasError: boolean;
}

/** What a stream has used so far, by the reports of its provider and by what came through. */
export class StreamUsage {
  readonly #reading: StreamReading;
  /** `null`: the output of the stream is no text. */
  readonly #text: WrittenText | null;
  readonly #stream: StreamState;
  /** The reports of output so far, and the text that had come with the last one. */
  #reports = 0;
  #reportedBytes = 0;
  #reportedVisibleBytes = 0;

  constructor(reading: StreamReading, text: WrittenText | null, stream: StreamState) {
    this.#reading = reading;
    this.#text = text;
    this.#stream = stream;
  }

  /** Takes note of a report in the event that was read last. */
  noteReport(): void {
    const { count } = this.#reading.outputReports;
    if (count <= this.#reports) return;
    this.#reports = count;
    this.#reportedBytes = this.#textBytes();
    this.#reportedVisibleBytes = this.#visibleBytes();
  }

  /**
   * Whether the provider has reported the whole output. A report that cannot be of what came through is not final: the
   * figures may still follow, such as with a second terminal event.
   */
  get isFinal(): boolean {
    const usage = this.#reading.usage();
    return usage !== null && !this.#doubtsIn(usage).includes('output');
  }

  /** What the provider has reported so far; `null` if nothing readable came. */
  get reported(): Usage | null {
    return this.#reading.usage() ?? this.#reading.partialUsage();
  }

  /** The size of the text that has come through, without reasoning that is encrypted. */
  get visibleTextBytes(): number {
    return this.#text?.visibleBytes ?? 0;
  }

  /** Whether a stream without usage facts of its own is no success: nothing is estimated and nothing charged. */
  get failsClosed(): boolean {
    return this.#reading.isNeverEstimated ?? false;
  }

  /** Whether `facts` need an estimate of the input: the provider has not reported it. */
  get needsInputEstimate(): boolean {
    const observed = this.#reading.usage();
    if (observed !== null) return this.#doubtsIn(observed).includes('input');
    return this.#isEstimable() && !holdsInput(this.#reading.partialUsage());
  }

  /** The provider's figures; `null` if they are not final, or cannot be of what came through. */
  observed(): UsageFacts | null {
    const usage = this.#reading.usage();
    return usage === null || this.#doubtsIn(usage).length > 0 ? null : { ...usage, source: 'observed' };
  }

  /**
   * What was used: the provider's figures if they are final and can be of what came through. Else an estimate of what they do not
   * cover: of the input, and of the output by the size of its text or, where the model reasons unseen, by
   * `unseenOutputTokens`. `null` if nothing of a response came through.
   */
  facts(inputTokensEstimate: number, unseenOutputTokens = 0): UsageFacts | null {
    const observed = this.#reading.usage();
    const doubted = observed === null ? NO_DOUBTS : this.#doubtsIn(observed);
    if (observed === null && !this.#isEstimable()) return null;
    if (observed !== null && doubted.length === 0) return { ...observed, source: 'observed' };
    const reported = observed ?? this.#reading.partialUsage() ?? noUsage;
    const inputTokens = holdsInput(reported) ? reported.inputTokens : inputTokensEstimate;
    const how = { source: 'estimated', ...(observed && { doubted }) } as const;
    if (observed !== null && !doubted.includes('output')) return { ...reported, inputTokens, ...how };
    const output = withMedia(reported, this.#mediaTokens());
    const outputTokens = boundedOutput(output.outputTokens, this.#delivered(), unseenOutputTokens);
    return { ...output, inputTokens, outputTokens, ...how };
  }

  /** What of the reported figures cannot be of what came through. Images have facts of their own. */
  #doubtsIn(usage: Usage): readonly DoubtedSide[] {
    return this.#text === null ? NO_DOUBTS : doubtsOf(usage, this.#delivered(), 'tokens');
  }

  #delivered(): DeliveredOutput {
    const textBytes = this.#textBytes();
    return {
      textBytes,
      reportedTextBytes: this.#reportedBytes,
      visibleBytes: this.#visibleBytes(),
      reportedVisibleBytes: this.#reportedVisibleBytes,
      // It is asked for only where there is no text.
      hasMedia: textBytes === 0 && this.#hasMedia(),
      hasResults: false,
    };
  }

  #visibleBytes(): number {
    return this.#text === null ? 0 : this.#text.visibleBytes || (this.#reading.repeatedTextBytes ?? 0);
  }

  #textBytes(): number {
    return this.#text === null ? 0 : this.#text.sizeBytes || (this.#reading.repeatedTextBytes ?? 0);
  }

  #mediaTokens(): MediaTokens {
    const media = this.#reading.mediaTokens?.() ?? NO_MEDIA;
    const pictures = this.#text?.pictures ?? 0;
    if (pictures === 0) return media;
    return { ...media, imageOutputTokens: media.imageOutputTokens + pictures * pictureTokens(null) };
  }

  #hasMedia(): boolean {
    const media = this.#mediaTokens();
    return media.audioOutputTokens + media.imageOutputTokens > 0 || (media.parts ?? []).length > 0;
  }

  /** A stream that has nothing but an error is not charged. */
  #isEstimable(): boolean {
    const { hasBegun, hasError } = this.#stream;
    if (this.#reading.isNeverEstimated || !hasBegun) return false;
    return !hasError || this.#textBytes() > 0 || this.#reading.hasOtherOutput === true || this.#hasMedia();
  }
}

const NO_MEDIA: MediaTokens = { audioOutputTokens: 0, imageOutputTokens: 0 };

/**
 * What was reported, with sounds and pictures that it lacks. A report that does not tell the kinds of output apart has them in
 * its `outputTokens`, and is not counted twice.
 */
function withMedia(reported: Usage, media: MediaTokens): Usage {
  const audioOutputTokens = Math.max(reported.audioOutputTokens, media.audioOutputTokens);
  const imageOutputTokens = Math.max(reported.imageOutputTokens, media.imageOutputTokens);
  const more = audioOutputTokens + imageOutputTokens - reported.audioOutputTokens - reported.imageOutputTokens;
  const outputTokens = Math.max(reported.outputTokens - more, 0);
  const { parts = reported.parts } = media;
  return { ...reported, outputTokens, audioOutputTokens, imageOutputTokens, ...(parts && { parts }) };
}

/** Some providers report zeros before they report figures; no request has an input of nothing. */
function holdsInput(usage: Usage | null): boolean {
  return usage !== null && inputTokensOf(usage) > 0;
}
