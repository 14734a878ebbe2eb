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

/** What was delivered of a response. It shows whether the reported usage can be true (`docs/providers.md`, "Usage that cannot be true"). */

export interface DeliveredOutput {
  readonly textBytes: number;
  /** Size of the text before the latest report of output; for a response that is not a stream, of all text. */
  readonly reportedTextBytes: number;
  /** The two sizes above without encrypted reasoning, which says little about its tokens. */
  readonly visibleBytes: number;
  readonly reportedVisibleBytes: number;
  readonly hasMedia: boolean;
  /** Whether results that are not a model's output were delivered, such as embeddings. */
  readonly hasResults: boolean;
}

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

/** Maximum length of a token in bytes. The longest tokens are runs of spaces. */
const TOKEN_BYTES_MAX = 128;
/** Maximum size of text after the final report that the report can still include. */
const UNREPORTED_BYTES_MAX = 128;

/**
 * Returns which counts of a usage cannot be true:
 * - output: zero although text or media were delivered, or less than the visible text if most of it came after the report
 * - input: zero although anything was delivered
 * - search units: zero although they determine the charge
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
 * Returns the output tokens of a stream without a final report: the latest report, plus an estimate for the text after it. If that report
 * came before all text, or is too small for the text before it, it is provisional, and the greatest report counts.
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

/** Counts the usage reports of a stream that contain output. Reports are cumulative, so lower ones are ignored. */
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
