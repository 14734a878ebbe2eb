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
 * Decides whether reported usage is plausible for the delivered output (`docs/providers.md`, "Usage that cannot be true"). The same rules
 * apply to all protocols and to streams. Impossible figures count as missing; all other figures are charged as reported.
 */

export interface DeliveredOutput {
  readonly textBytes: number;
  /** Size of the text received before the latest report of output; the size of all text if the response is not streaming. */
  readonly reportedTextBytes: number;
  /** This member and the next one repeat the two above without encrypted reasoning, whose size says little about its tokens. */
  readonly visibleBytes: number;
  readonly reportedVisibleBytes: number;
  readonly hasMedia: boolean;
  /** Whether results other than model output were delivered, such as embeddings or rankings. */
  readonly hasResults: boolean;
}

/** Describes the output of a non-streaming response. */
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

/** Maximum length of a token. The longest tokens are runs of spaces. */
const TOKEN_BYTES_MAX = 128;
/** Maximum size of text that can arrive after the final report and still be included in it, such as the last few words. */
const UNREPORTED_BYTES_MAX = 128;

/**
 * Returns the sides of a usage that are implausible:
 * - the output, if it is zero although text or media were delivered, or if it is less than the visible text and most of that text arrived
 *   after the report;
 * - the input, if it is zero although anything was delivered, because no prompt is empty;
 * - the search units, if they are zero and the charge is based on them.
 *
 * If nothing was delivered, zero usage is plausible.
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
 * Returns the output tokens of a stream without final figures. The latest report covers the text before it; the text after it is estimated.
 * A report is provisional if it precedes all text (such as `message_start`) or is too small for the text before it. In that case, the
 * maximum of all figures counts.
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

/**
 * Counts the usage reports of a stream that contain output. Reports are cumulative, so a report with a lower figure than before is ignored.
 */
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
