import { JsonCapture, type JsonCaptureOptions } from '../../lib/json/json-capture.ts';
import type { MarkedMember } from '../../lib/json/json-captured-members.ts';
import type { HoldingRules } from '../../lib/json/json-holdings.ts';
import { JsonSyntaxError } from '../../lib/json/json-scan.ts';
import type { ChargeBasis, MediaTokens, Usage } from './usage-facts.ts';
import type { WrittenRules } from './written-paths.ts';

/** Members of a response that were captured while it was relayed. */
export interface ReadResponse {
  member(name: string): unknown;
  /** Whether the member contains a mark of `keepMarked`. */
  isMarked(name: string): boolean;
  count(name: string): number | null;
  /** Returns the number of items with a member of a group (`ResponseReading.holding`). */
  holding(group: string): number;
}

export interface ResponseReading {
  /** Top-level members to capture. They must be small. */
  readonly keep: readonly string[];
  /** A member to capture if it contains a mark and is small. The charge must not depend on it. */
  readonly keepMarked?: MarkedMember;
  /** Arrays whose items are counted. They may have any size. */
  readonly count: readonly string[];
  readonly holding?: HoldingRules;
  /** Returns the usage; `null` if the format is wrong, or if the response lacks what determines its charge. */
  usage(response: ReadResponse, basis: ChargeBasis): Usage | null;
  /** Returns continuation keys for everything to which later calls can refer. They must go to the same provider. */
  continuationKeys(response: ReadResponse): readonly string[];
  /** Where a response has text that the model wrote. */
  readonly written?: WrittenRules;
  /** Whether the response has results that are not a model's output, such as embeddings. */
  hasResults?(response: ReadResponse): boolean;
  /** How missing usage is estimated; absent: a response without credible usage is not charged. */
  readonly estimate?: ResponseEstimate;
}

interface EstimatedTokens {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens: number;
  readonly searchUnits: number;
}

/** How to estimate the usage of a successful response without credible usage. */
export interface ResponseEstimate {
  readonly keep: readonly string[];
  readonly count: readonly string[];
  isSuccess(response: ReadResponse): boolean;
  /** Returns the tokens of audio and images in the output, without images in text. */
  mediaTokens?(response: ReadResponse): MediaTokens;
  /** Formats estimated tokens as the provider would report them. */
  members(tokens: EstimatedTokens): Readonly<Record<string, unknown>>;
}

export function responseReading(
  keep: readonly string[],
  usage: (response: ReadResponse, basis: ChargeBasis) => Usage | null,
): ResponseReading {
  return { keep, count: [], usage, continuationKeys: () => [] };
}

/** Captures members of a complete response; `null` if the bytes are no JSON object. */
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
