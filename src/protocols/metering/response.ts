import { JsonCapture, type JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import type { HoldingRules } from '../../lib/json/json-holdings.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { ChargeBasis, MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

/** Members of a non-streaming response that were kept while it was relayed. */
export interface ReadResponse {
  member(name: string): unknown;
  /** Whether the member contains one of the marks of `keepMarked`. */
  isMarked(name: string): boolean;
  count(name: string): number | null;
  /** Number of items that contain a member of a group (`ResponseReading.holding`). */
  holding(group: string): number;
}

export interface ResponseReading {
  /** Top-level members to keep. They must be small. */
  readonly keep: readonly string[];
  /** A member to keep if it contains a mark and is small. The charge must not depend on it. */
  readonly keepMarked?: MarkedMember;
  /** Arrays of any size whose items are counted. */
  readonly count: readonly string[];
  readonly holding?: HoldingRules;
  /** Returns the usage; `null` if the response has another format, or lacks the quantity that determines its charge. */
  usage(response: ReadResponse, basis: ChargeBasis): Usage | null;
  /** Returns keys of everything to which later calls can refer. Such calls must go to the same provider. */
  continuationKeys(response: ReadResponse): readonly string[];
  /** Where the response contains text by the model. */
  readonly written?: WrittenRules;
  /** Whether the response contains results other than model output, such as embeddings. */
  hasResults?(response: ReadResponse): boolean;
  /** Absent: a response without plausible usage is not charged. */
  readonly estimate?: ResponseEstimate;
}

interface EstimatedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  readonly searchUnits: number;
}

/** Estimates the usage of a successful response without plausible usage. */
export interface ResponseEstimate {
  readonly keep: readonly string[];
  readonly count: readonly string[];
  isSuccess(response: ReadResponse): boolean;
  /** Returns the tokens of audio and images in the output, except images within text. */
  mediaTokens?(response: ReadResponse): MediaTokens;
  /** Formats the estimate as the provider would report it. */
  members(tokens: EstimatedTokens): Readonly<Record<string, unknown>>;
}

export function responseReading(
  keep: readonly string[],
  usage: (response: ReadResponse, basis: ChargeBasis) => Usage | null,
): ResponseReading {
  return { keep, count: [], usage, continuationKeys: () => [] };
}

/** Returns `null` if the bytes are not a JSON object. */
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
