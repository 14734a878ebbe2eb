import type { MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

export interface StreamReading {
  /** A byte test: whether any event in these bytes must be parsed. If not, they are forwarded unread. */
  matters(run: Buffer): boolean;
  /** Where events contain text by the model; `null`: the output is not text. */
  readonly written: WrittenRules | null;
  /** Size of the text in an event that repeats the whole output, if no other event had text. Absent: none. */
  readonly repeatedTextBytes?: number;
  /** Number of usage reports with output, without reports lower than an earlier one. */
  readonly outputReports: { readonly count: number };
  /** Whether output other than text was received that is charged even if an error follows. Absent: no. */
  readonly hasOtherOutput?: boolean;
  /** Estimated. Absent: none. */
  mediaTokens?(): MediaTokens;
  read(event: Buffer): EventMeaning;
  /** The reported usage, once it covers the whole output. The maximum of each figure counts. */
  usage(): Usage | null;
  partialUsage(): Usage | null;
  readonly hasOutputEnd: boolean;
  /** Whether the stream can be complete here without a terminal event. */
  readonly canEndHere: boolean;
  /** Whether a large event must be buffered as a whole, judged by its beginning. Others are forwarded in chunks. Absent: never. */
  isNeededWhole?(beginning: Buffer): boolean;
  /** Called with the beginning of an event that is forwarded in chunks. */
  noteLarge?(beginning: Buffer): void;
  /** Called with each chunk of such an event, including the first. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Keys of what later calls may refer to, once the stream is complete. Absent: none. */
  continuationKeys?(): readonly string[];
  /** Whether events after the end belong to the response, such as image previews. Absent: no. */
  readonly continuesAfterEnd?: boolean;
  /** Whether a stream that broke off is never charged by an estimate. Absent: it may be. */
  readonly isNeverEstimated?: boolean;
}

/**
 * - `pass`: forward to the client.
 * - `drop`: requested by the gateway, not by the client.
 * - `terminal`: the last event of a complete stream, with content.
 * - `done`: the last event of a complete stream, without content.
 * - `error`: the provider reports an error.
 * - `failed`: the provider reports an error, and the stream ends.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';
