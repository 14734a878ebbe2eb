import { JsonCapture, type JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import type { HoldingRules } from '../../lib/json/json-holdings.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { ChargeBasis, MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

/** The members of a non-streaming response that were kept while it was relayed (see `JsonCapture`). */
export interface ReadResponse {
  member(name: string): unknown;
  /** Whether the member contains one of the markers in `keepMarked`. */
  isMarked(name: string): boolean;
  count(name: string): number | null;
  /** Number of items that contain something from a group in `holding`. */
  holding(group: string): number;
}

export interface ResponseReading {
  /** Top-level members to keep. They must be small, unless the whole response is small. */
  readonly keep: readonly string[];
  /** A member to keep if it contains a marker and is not large. Charging must not depend on it. Absent: none. */
  readonly keepMarked?: MarkedMember;
  /** Array members of any size whose items are counted. */
  readonly count: readonly string[];
  /** What to count in the response and its items, which can have any size. Absent: nothing. */
  readonly holding?: HoldingRules;
  /** Returns the usage; `null` if the response has another format, or lacks the quantity on which its charge is based. */
  usage(response: ReadResponse, basis: ChargeBasis): Usage | null;
  /** Returns the keys of everything in the response to which later calls can refer. Such calls must go to the same provider. */
  continuationKeys(response: ReadResponse): readonly string[];
  /** Where the response contains text by the model. Absent: nowhere. */
  readonly written?: WrittenRules;
  /** Whether the response contains results other than model output, such as embeddings. Absent: no. */
  hasResults?(response: ReadResponse): boolean;
  /** How to estimate the usage of a successful response without plausible usage. Absent: such a response is never charged. */
  readonly estimate?: ResponseEstimate;
}

interface EstimatedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  readonly searchUnits: number;
}

/** Estimates the usage of a successful response if the provider reports no plausible usage. */
export interface ResponseEstimate {
  readonly keep: readonly string[];
  readonly count: readonly string[];
  isSuccess(response: ReadResponse): boolean;
  /** Returns the tokens of audio and images in the output, except images within text. Absent: none. */
  mediaTokens?(response: ReadResponse): MediaTokens;
  /** Formats the estimate in the same members in which the provider would report it. */
  members(tokens: EstimatedTokens): Readonly<Record<string, unknown>>;
}

export function responseReading(
  keep: readonly string[],
  usage: (response: ReadResponse, basis: ChargeBasis) => Usage | null,
): ResponseReading {
  return { keep, count: [], usage, continuationKeys: () => [] };
}

/** Captures the members of a complete JSON object; `null` if the bytes are not a JSON object. */
export function captureWhole(bytes: Buffer, options: JsonCaptureOptions): ReadResponse | null {
  const capture = new JsonCapture(options);
  try {
    capture.push(bytes);
    capture.end();
  } catch (error) {
    if (error instanceof JsonSyntaxError) return null;
    throw error;
  }
  return capture.rootKind === 'object' ? capture : null;
}
