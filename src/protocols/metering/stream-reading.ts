import type { MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

/** What the events of one protocol mean. */
export interface StreamReading {
  /** A byte test: whether an event in this run may have to be read. If it says no, the run is passed on unread. */
  matters(run: Buffer): boolean;
  /** Where the model writes in an event; `null`: nowhere, its output is no text. */
  readonly written: WrittenRules | null;
  /** The text of an event that repeats all of it, if no other event had any. Absent: none. */
  readonly repeatedTextBytes?: number;
  /** How many reports of usage stated output, none of them less than one before. */
  readonly outputReports: { readonly count: number };
  /** Whether output came that is no text and that is charged also if an error follows. Absent: no. */
  readonly hasOtherOutput?: boolean;
  /** The estimated tokens of output that came and is no text: sounds and pictures. Absent: none. */
  mediaTokens?(): MediaTokens;
  /** Reads one event of a run that matters. */
  read(event: Buffer): EventMeaning;
  /** What the provider has reported, once that includes the whole output; the greatest figure of each field. */
  usage(): Usage | null;
  /** What it has reported so far; `null` if nothing readable came. */
  partialUsage(): Usage | null;
  /** Whether an end of the output has been seen. */
  readonly hasOutputEnd: boolean;
  /** Whether the stream may end here although no terminal event was seen. */
  readonly canEndHere: boolean;
  /**
   * Whether an event that grows large has to be read as a whole, by how it begins; others are passed on in parts.
   * Absent: never.
   */
  isNeededWhole?(beginning: Buffer): boolean;
  /** Takes note of an event that passes in parts, by how it begins. Absent: nothing is to be noted. */
  noteLarge?(beginning: Buffer): void;
  /** Takes note of each part of such an event, the first one included. Absent: nothing is to be noted. */
  notePart?(part: Buffer, isLast: boolean): void;
  /** Keys of what a later call may refer to, once the stream is complete. Absent: none. */
  continuationKeys?(): readonly string[];
  /** Whether what follows the end belongs to the response, such as a preview of an image. Absent: no. */
  readonly goesOnBehindEnd?: boolean;
  /** Whether a stream that broke off is charged by estimate. Absent: yes. */
  readonly isNeverEstimated?: boolean;
}

/**
 * - `pass`: goes on to the client.
 * - `drop`: was asked for by the gateway, not by the client.
 * - `terminal`: the last event of a complete stream, with what it delivers.
 * - `done`: the last event of a complete stream, which delivers nothing itself.
 * - `error`: the provider says that it failed.
 * - `failed`: the last event of a stream, in which the provider says that it failed.
 */
export type EventMeaning = 'pass' | 'drop' | 'terminal' | 'done' | 'error' | 'failed';
