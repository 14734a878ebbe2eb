import type { MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

export interface StreamReading {
  /** Whether any event in these bytes must be parsed. If not, they are forwarded unread. */
  matters(run: Buffer): boolean;
  /** Where events contain text by the model; `null`: the output is not text. */
  readonly written: WrittenRules | null;
  /** Size of the text in an event that repeats the whole output. Used if no other event contained text. */
  readonly repeatedTextBytes?: number;
  /** Number of usage reports that contain output, excluding decreasing ones. */
  readonly outputReports: { readonly count: number };
  /** Whether output other than text was received that is charged even if an error follows. */
  readonly hasOtherOutput?: boolean;
  mediaTokens?(): MediaTokens;
  read(event: Buffer): EventMeaning;
  usage(): Usage | null;
  partialUsage(): Usage | null;
  readonly hasOutputEnd: boolean;
  /** Whether the stream is complete if it ends here without a terminal event. */
  readonly canEndHere: boolean;
  /** Whether a large event must be buffered as a whole, by its beginning. Absent: large events are forwarded in chunks. */
  isNeededWhole?(beginning: Buffer): boolean;
  noteLarge?(beginning: Buffer): void;
  /** Called with each chunk of an event that is forwarded in chunks. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Returns keys of everything in a complete stream to which later calls can refer. */
  continuationKeys?(): readonly string[];
  /** Whether events after the end belong to the response, such as image previews. */
  readonly continuesAfterEnd?: boolean;
  /** Whether an interrupted stream is never charged by an estimate. */
  readonly isNeverEstimated?: boolean;
}

/**
 * `pass`: forwarded. `drop`: not forwarded, because only the gateway requested it. `terminal`, `done`: the last event of a complete stream,
 * with and without content. `error`: an error. `failed`: an error that ends the stream.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';
