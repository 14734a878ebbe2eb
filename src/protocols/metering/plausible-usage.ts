import { isRecord } from '../../lib/json/json.ts';
import { estimateTokens } from './estimate.ts';
import {
  type ChargeBasis,
  type DoubtedSide,
  inputTokensOf,
  outputTokensOf,
  readCount,
  type Usage,
} from './usage-facts.ts';

/**
 * Decides whether reported usage is plausible for the delivered output (`docs/providers.md`, "Usage that cannot be true"). The same rules apply to
 * all protocols and to streams: impossible figures count as missing, all others are charged as reported.
 */

export interface DeliveredOutput {
  readonly textBytes: number;
  /** Text received before the latest report of output; all text if not streaming. */
  readonly reportedTextBytes: number;
  /** The same figures without encrypted reasoning, whose size is a poor measure. */
  readonly visibleBytes: number;
  readonly reportedVisibleBytes: number;
  readonly hasMedia: boolean;
  /** Whether results other than model output were delivered: embeddings, rankings. */
  readonly hasResults: boolean;
}

/** For a non-streaming response. */
export function deliveredAsWhole(textBytes: number, hasMedia = false, hasResults = false): DeliveredOutput {
  return {
    textBytes,
    reportedTextBytes: textBytes,
    visibleBytes: textBytes,
    reportedVisibleBytes: textBytes,
    hasMedia,
    hasResults,
  };
}

export const NO_DOUBTS: readonly DoubtedSide[] = [];

/** No token is longer; the longest are runs of spaces. */
const TOKEN_BYTES_MAX = 128;
/** The last few words may arrive after the final report without being missing from it. */
const UNREPORTED_BYTES_MAX = 128;

/**
 * Returns the sides of a usage that are implausible:
 * - output, if it is zero although text or media were delivered, or less than the visible text and most of that arrived after the report;
 * - input, if it is zero although anything was delivered, since no prompt is empty;
 * - search units, if they are zero and the charge is based on them.
 *
 * A response that delivered nothing may have used nothing.
 */
export function doubtsOf(usage: Usage, delivered: DeliveredOutput, basis: ChargeBasis): readonly DoubtedSide[] {
  const { textBytes, visibleBytes, reportedVisibleBytes, hasMedia, hasResults } = delivered;
  const outputTokens = outputTokensOf(usage);
  const hasOutput = textBytes > 0 || hasMedia;
  const isOutdated = visibleBytes - reportedVisibleBytes > UNREPORTED_BYTES_MAX;
  const isEarly = isOutdated && outputTokens < estimateTokens(visibleBytes);
  const hasAny = hasOutput || hasResults || outputTokens > 0;
  const doubts: DoubtedSide[] = [];
  if (basis === 'tokens' && hasAny && inputTokensOf(usage) === 0) doubts.push('input');
  if ((hasOutput && outputTokens === 0) || isEarly) doubts.push('output');
  if (basis === 'searchUnits' && hasResults && usage.searchUnits === 0) doubts.push('searchUnits');
  return doubts.length === 0 ? NO_DOUBTS : doubts;
}

/**
 * The output of a stream without final figures. The latest report covers the text before it; the text after it is estimated. A report that precedes
 * all text (such as `message_start`), or is too small for the text before it, is provisional; then the maximum of all figures counts.
 */
export function boundedOutput(
  reportedTokens: number,
  { textBytes, reportedTextBytes }: DeliveredOutput,
  unseenTokens: number,
): number {
  const isSoFar = reportedTextBytes > 0 && reportedTextBytes <= reportedTokens * TOKEN_BYTES_MAX;
  if (!isSoFar) return Math.max(reportedTokens, estimateTokens(textBytes), unseenTokens);
  const laterBytes = textBytes - reportedTextBytes;
  const isOfAll = laterBytes <= UNREPORTED_BYTES_MAX && reportedTokens >= estimateTokens(textBytes);
  return isOfAll ? reportedTokens : reportedTokens + estimateTokens(laterBytes);
}

/** Counts the reports of a stream that contain output. Reports are cumulative, so one with a lower figure is ignored. */
export class OutputReports {
  count = 0;
  #greatest = 0;

  note(usage: unknown): void {
    if (!isRecord(usage)) return;
    const stated = Math.max(readCount(usage.completion_tokens) ?? 0, readCount(usage.output_tokens) ?? 0);
    if (stated === 0 || stated < this.#greatest) return;
    this.#greatest = stated;
    this.count++;
  }
}
