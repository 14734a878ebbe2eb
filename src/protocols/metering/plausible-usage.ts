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
 * Whether reported usage can be that of what was delivered (`docs/providers.md`, "Usage that cannot be true"). One rule for all protocols,
 * whole responses and streams: impossible figures count as missing, and all others are charged as reported.
 */

/** What a response delivered, by the size of its text. */
export interface DeliveredOutput {
  readonly textBytes: number;
  /** The text that had come with the last report of output, in a whole response all of it. */
  readonly reportedTextBytes: number;
  /** Both without reasoning that is encrypted, whose size says little: the text, and what of it had come with the last report. */
  readonly visibleBytes: number;
  readonly reportedVisibleBytes: number;
  /** Whether sounds or pictures were delivered, which are output too. */
  readonly hasMedia: boolean;
  /** Whether something was delivered that is no output of a model: embeddings, ranks. */
  readonly hasResults: boolean;
}

/** What a whole response delivered, whose report is that of all of it. */
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

/** No token of a vocabulary has more bytes; the longest are runs of spaces. */
const TOKEN_BYTES_MAX = 128;
/** Text after the last report that its figures may not include: a few words. */
const UNREPORTED_BYTES_MAX = 128;

/**
 * The sides of a usage that cannot be true:
 *
 * - no output, if text, sounds or pictures were delivered; or less than the visible text, if most of it came after the report;
 * - no input, if anything was delivered, since no prompt is empty; no search units, if they are the basis of the charge.
 *
 * A response that delivered nothing may have used nothing.
 */
export function doubtsOf(usage: Usage, delivered: DeliveredOutput, basis: ChargeBasis): readonly DoubtedSide[] {
  const { textBytes, visibleBytes, reportedVisibleBytes, hasMedia, hasResults } = delivered;
  const outputTokens = outputTokensOf(usage);
  const hasOutput = textBytes > 0 || hasMedia;
  const isBehind = visibleBytes - reportedVisibleBytes > UNREPORTED_BYTES_MAX;
  const isEarly = isBehind && outputTokens < estimateTokens(visibleBytes);
  const hasAny = hasOutput || hasResults || outputTokens > 0;
  const doubts: DoubtedSide[] = [];
  if (basis === 'tokens' && hasAny && inputTokensOf(usage) === 0) doubts.push('input');
  if ((hasOutput && outputTokens === 0) || isEarly) doubts.push('output');
  if (basis === 'searchUnits' && hasResults && usage.searchUnits === 0) doubts.push('searchUnits');
  return doubts.length === 0 ? NO_DOUBTS : doubts;
}

/**
 * The output of a stream whose figures are not final: the last report covers the text before it, and the text after it is estimated. A
 * report before all text is provisional, such as that of `message_start`, and so is a report that is too small for the text before it. Then
 * the greatest of the figures counts.
 */
export function boundedOutput(
  reportedTokens: number,
  { textBytes, reportedTextBytes }: DeliveredOutput,
  unseenTokens: number,
): number {
  const isSoFar = reportedTextBytes > 0 && reportedTextBytes <= reportedTokens * TOKEN_BYTES_MAX;
  if (!isSoFar) return Math.max(reportedTokens, estimateTokens(textBytes), unseenTokens);
  const bytesBehind = textBytes - reportedTextBytes;
  const isOfAll = bytesBehind <= UNREPORTED_BYTES_MAX && reportedTokens >= estimateTokens(textBytes);
  return isOfAll ? reportedTokens : reportedTokens + estimateTokens(bytesBehind);
}

/** Counts the reports of a stream that state output. Figures are cumulative, so one that falls is none. */
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
