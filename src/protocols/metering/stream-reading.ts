import type { MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

export interface StreamReading {
  /** Whether any event in these bytes must be parsed. Otherwise they are forwarded unread. */
  matters(run: Buffer): boolean;
  /** Where events have text that the model wrote; `null`: the output is not text. */
  readonly written: WrittenRules | null;
  /** Size of the text in an event that repeats the whole output. It counts only if no other event had text. */
  readonly repeatedTextBytes?: number;
  /** Usage reports that contain output. Reports with a lower count than before are not included. */
  readonly outputReports: { readonly count: number };
  /** Whether output other than text has arrived. It is charged even if an error follows. */
  readonly hasOtherOutput?: boolean;
  mediaTokens?(): MediaTokens;
  read(event: Buffer): EventMeaning;
  usage(): Usage | null;
  partialUsage(): Usage | null;
  readonly hasOutputEnd: boolean;
  /** Whether a stream that ends here without a terminal event is complete. */
  readonly canEndHere: boolean;
  /** Whether a large event must be kept as a whole, judged by its beginning. Absent: large events are forwarded in chunks. */
  isNeededWhole?(beginning: Buffer): boolean;
  noteLarge?(beginning: Buffer): void;
  /** Called for each chunk of an event that is forwarded in chunks. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Returns continuation keys for everything in a complete stream to which later calls can refer. */
  continuationKeys?(): readonly string[];
  /** Whether events after the end still belong to the response, such as image previews. */
  readonly continuesAfterEnd?: boolean;
  /** Whether an interrupted stream is never charged by an estimate. */
  readonly isNeverEstimated?: boolean;
}

/**
 * What an event means. `pass`: it is forwarded. `drop`: it is not, because only the gateway asked for it. `terminal`, `done`: it is the
 * last one of a complete stream, with or without content. `error`: an error. `failed`: an error that ends the stream.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';
