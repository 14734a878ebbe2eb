import type { MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

export interface StreamReading {
  /** Tests bytes: whether any event in them must be parsed. If not, they are forwarded without being read. */
  matters(run: Buffer): boolean;
  /** Where events contain text by the model; `null`: the output is not text. */
  readonly written: WrittenRules | null;
  /** Size of the text in an event that repeats the whole output. It is used if no other event contained text. Absent: none. */
  readonly repeatedTextBytes?: number;
  /** Number of usage reports that contain output, excluding reports with a lower figure than an earlier one. */
  readonly outputReports: { readonly count: number };
  /** Whether output other than text was received that is charged even if an error follows. Absent: no. */
  readonly hasOtherOutput?: boolean;
  /** Returns the estimated tokens of audio and images. Absent: none. */
  mediaTokens?(): MediaTokens;
  read(event: Buffer): EventMeaning;
  /** Returns the reported usage, once it covers the whole output. The maximum of each figure counts. */
  usage(): Usage | null;
  partialUsage(): Usage | null;
  readonly hasOutputEnd: boolean;
  /** Whether the stream counts as complete if it ends here without a terminal event. */
  readonly canEndHere: boolean;
  /**
   * Whether a large event must be buffered as a whole, judged by its beginning. Other large events are forwarded in chunks. Absent: never.
   */
  isNeededWhole?(beginning: Buffer): boolean;
  /** Called with the beginning of an event that is forwarded in chunks. */
  noteLarge?(beginning: Buffer): void;
  /** Called with each chunk of an event that is forwarded in chunks, including the first. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Returns the keys of everything in a complete stream to which later calls can refer. Absent: none. */
  continuationKeys?(): readonly string[];
  /** Whether events after the end belong to the response, such as image previews. Absent: no. */
  readonly continuesAfterEnd?: boolean;
  /** Whether a stream that broke off is never charged by an estimate. Absent: no. */
  readonly isNeverEstimated?: boolean;
}

/**
 * - `pass`: the event is forwarded to the client.
 * - `drop`: the event is not forwarded, because only the gateway requested it.
 * - `terminal`: the last event of a complete stream, with content.
 * - `done`: the last event of a complete stream, without content.
 * - `error`: the provider reports an error.
 * - `failed`: the provider reports an error that ends the stream.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';
