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

interface StreamState {
  /** Whether an event of a response has arrived. Keep-alive comments and errors are no such events. */
  readonly hasBegun: boolean;
  readonly hasError: boolean;
}

/** Usage of a stream so far, from the provider's reports and the output that has arrived. */
export class StreamUsage {
  readonly #reading: StreamReading;
  readonly #text: WrittenText | null;
  readonly #stream: StreamState;
  /** Number of usage reports with output so far. The next two fields are text sizes before the latest one. */
  #reports = 0;
  #reportedBytes = 0;
  #reportedVisibleBytes = 0;

  constructor(reading: StreamReading, text: WrittenText | null, stream: StreamState) {
    this.#reading = reading;
    this.#text = text;
    this.#stream = stream;
  }

  noteReport(): void {
    const { count } = this.#reading.outputReports;
    if (count <= this.#reports) return;
    this.#reports = count;
    this.#reportedBytes = this.#textBytes();
    this.#reportedVisibleBytes = this.#visibleBytes();
  }

  /** Whether the provider has reported the whole output. A report that cannot be true is not final, because another may follow. */
  get isFinal(): boolean {
    const usage = this.#reading.usage();
    return usage !== null && !this.#doubtsIn(usage).includes('output');
  }

  get reported(): Usage | null {
    return this.#reading.usage() ?? this.#reading.partialUsage();
  }

  get visibleTextBytes(): number {
    return this.#text?.visibleBytes ?? 0;
  }

  /** Whether a stream without usage counts as failed, and is free of charge. */
  get failsClosed(): boolean {
    return this.#reading.isNeverEstimated ?? false;
  }

  get needsInputEstimate(): boolean {
    const observed = this.#reading.usage();
    if (observed !== null) return this.#doubtsIn(observed).includes('input');
    return this.#isEstimable() && !holdsInput(this.#reading.partialUsage());
  }

  /** Returns the reported usage; `null` if it is not final or cannot be true. */
  observed(): UsageFacts | null {
    const usage = this.#reading.usage();
    return usage === null || this.#doubtsIn(usage).length > 0 ? null : { ...usage, source: 'observed' };
  }

  /**
   * Returns the reported counts, with estimates for those that are missing or cannot be true. Output is estimated by the size of its text
   * or, for models with hidden reasoning, by `unseenOutputTokens`. Returns `null` if nothing of a response has arrived.
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

  /** Whether usage can be estimated. A stream with nothing but an error is not charged. */
  #isEstimable(): boolean {
    const { hasBegun, hasError } = this.#stream;
    if (this.#reading.isNeverEstimated || !hasBegun) return false;
    return !hasError || this.#textBytes() > 0 || this.#reading.hasOtherOutput === true || this.#hasMedia();
  }
}

const NO_MEDIA: MediaTokens = { audioOutputTokens: 0, imageOutputTokens: 0 };

/** Adds audio and image tokens that a report does not list, and subtracts them from `outputTokens`. */
function withMedia(reported: Usage, media: MediaTokens): Usage {
  const audioOutputTokens = Math.max(reported.audioOutputTokens, media.audioOutputTokens);
  const imageOutputTokens = Math.max(reported.imageOutputTokens, media.imageOutputTokens);
  const more = audioOutputTokens + imageOutputTokens - reported.audioOutputTokens - reported.imageOutputTokens;
  const outputTokens = Math.max(reported.outputTokens - more, 0);
  const { parts = reported.parts } = media;
  return { ...reported, outputTokens, audioOutputTokens, imageOutputTokens, ...(parts && { parts }) };
}

/** Whether a usage states the input. Some providers report zero at first, but no input is empty. */
function holdsInput(usage: Usage | null): boolean {
  return usage !== null && inputTokensOf(usage) > 0;
}
