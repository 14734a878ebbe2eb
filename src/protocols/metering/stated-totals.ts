import { isRecord } from '../../lib/json/json.ts';
import type { CacheCounts } from './cache-counts.ts';
import { readCount, sumCounts } from './usage-facts.ts';

/** Input and output as a usage object states them, and the parts that it names. */
interface StatedTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cache: Pick<CacheCounts, 'read' | 'written' | 'unknown'>;
  /** Tokens outside of input and output with prices of their own, which a total may include. Absent: none. */
  readonly separate?: { readonly citationTokens: number; readonly separateReasoningTokens: number } | null;
}

/** What a call read and wrote in addition to the stated input and output. */
interface UnstatedTokens {
  /** Tokens of the cache that the stated input leaves out. */
  readonly cacheTokens: number;
  /** Those of them that are counted in no known spelling. They have the price of reads, the least that a cache costs. */
  readonly unknownTokens: number;
  readonly outputTokens: number;
  /** Whether the total exceeds input and output by more than anything explains. Then it is not believed. */
  readonly isDoubtful: boolean;
}

const NOTHING: UnstatedTokens = { cacheTokens: 0, unknownTokens: 0, outputTokens: 0, isDoubtful: false };

/** How a total that is not believed is marked on the record. */
export const DOUBTFUL_TOTAL = 'usage.total_tokens';

/**
 * Says what the total of a usage object counts in addition to input and output, in the dialects of vendors and relays: reasoning
 * that the output leaves out (xAI), also if it is not stated (Gemini); tokens of the cache that the input leaves out, all of
 * them or those of one kind (relays to vendors of messages); or both. What is stated explains the total first. What follows
 * from the total alone is output, as far as the request allows: `outputTokensMax`.
 *
 * If the reasoning is as much as the tokens of the cache, each of them explains the total. Then it is the reasoning, unless the
 * output is large enough to include that and the cache has its names in messages.
 */
export function unstatedTokens(
  usage: Readonly<Record<string, unknown>>,
  { inputTokens, outputTokens, reasoningTokens, cache: { read, written, unknown }, separate = null }: StatedTotals,
  outputTokensMax: number,
): UnstatedTokens {
  const known = read + written;
  // Another spelling may repeat what a known one counts.
  const cache = known > 0 ? known : unknown;
  const beyondBoth = countOf(usage.total_tokens) - inputTokens - outputTokens;
  const beyond = separate === null ? beyondBoth : beyondSeparate(beyondBoth, separate);
  // Nearly all calls.
  if (beyond <= 0 && cache <= inputTokens) return NOTHING;
  const ofMessages = cacheOfMessages(usage, read);
  const outside = tokensOutside(inputTokens, read, known > 0 ? written : unknown, ofMessages);
  const unstated = (output: number, cacheTokens = outside, isDoubtful = false): UnstatedTokens => ({
    cacheTokens,
    unknownTokens: known > 0 ? 0 : cacheTokens,
    outputTokens: output,
    isDoubtful,
  });
  if (beyond <= 0) return unstated(0);
  const reasoning = Math.max(reasoningTokens, countOf(usage.reasoning_tokens));
  // What the input leaves out, if it is large enough to include the rest of the cache.
  const parts = [cache, written, read].filter((part) => part > 0 && inputTokens + part >= cache);
  const isReasoning = beyond === reasoning;
  const isCache = parts.includes(beyond);
  if (isCache && (!isReasoning || (ofMessages > 0 && reasoning <= outputTokens))) return unstated(0, beyond);
  if (isReasoning) return unstated(reasoning);
  const part = reasoning === 0 ? undefined : parts.find((count) => count + reasoning === beyond);
  if (part !== undefined) return unstated(reasoning, part);
  return outputTokens + beyond <= outputTokensMax ? unstated(beyond) : unstated(0, outside, true);
}

/** The tokens of a total beyond input and output, without those that have prices of their own: it may include all of these, or one kind. */
function beyondSeparate(beyond: number, separate: NonNullable<StatedTotals['separate']>): number {
  const { citationTokens, separateReasoningTokens } = separate;
  const isOneKind = beyond === citationTokens || beyond === separateReasoningTokens;
  return isOneKind ? 0 : beyond - citationTokens - separateReasoningTokens;
}

/** Figures of one input, counted twice, differ by the tokens of a chat template. */
const SAME_INPUT_SHARE = 1.02;

/** The tokens of the cache that an input is too small to include. */
function tokensOutside(inputTokens: number, read: number, written: number, ofMessages: number): number {
  if (ofMessages > inputTokens) return ofMessages;
  // Counts under other names may overlap, but none is larger than what it is a part of.
  return Math.max(read, written) > inputTokens * SAME_INPUT_SHARE ? read + written : 0;
}

/**
 * The tokens of the cache under their names in messages, a protocol whose input leaves them out, and under those that relays derive.
 * A relay may have such names for the writes alone, and the reads where chat has them.
 */
function cacheOfMessages(usage: Readonly<Record<string, unknown>>, read: number): number {
  const { cache_creation: lifetimes } = usage;
  const written = Math.max(
    countOf(usage.cache_creation_input_tokens),
    isRecord(lifetimes) ? sumCounts(lifetimes) : 0,
    countOf(usage.claude_cache_creation_5_m_tokens) + countOf(usage.claude_cache_creation_1_h_tokens),
  );
  const hasReads = usage.cache_read_input_tokens !== undefined || written === 0;
  return (hasReads ? countOf(usage.cache_read_input_tokens) : read) + written;
}

function countOf(value: unknown): number {
  return readCount(value) ?? 0;
}
