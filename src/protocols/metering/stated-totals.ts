import { isRecord } from '../../lib/json/json.ts';
import type { CacheCounts } from './cache-counts.ts';
import { readCount, sumCounts } from './usage-facts.ts';

interface StatedTotals {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly cache: Pick<CacheCounts, 'read' | 'written' | 'unknown'>;
  /** Tokens with prices of their own that neither input nor output includes. The total might include them. */
  readonly separate?: { readonly citationTokens: number; readonly separateReasoningTokens: number } | null;
}

interface UnstatedTokens {
  readonly cacheTokens: number;
  /** Cache tokens under unknown names. They are charged as cache reads, which have the lowest price. */
  readonly unknownTokens: number;
  readonly outputTokens: number;
  /** Whether the total exceeds input and output for no known reason. The difference is then ignored. */
  readonly isDoubtful: boolean;
}

const NOTHING: UnstatedTokens = { cacheTokens: 0, unknownTokens: 0, outputTokens: 0, isDoubtful: false };

/** Path that the call record contains if the total is not credible. */
export const DOUBTFUL_TOTAL = 'usage.total_tokens';

/**
 * Determines what a total includes in addition to input and output. Output may exclude reasoning (xAI), even if it is not reported
 * (Gemini). Input may exclude cache tokens (relays to messages vendors). Counts that explain the difference are used first; the rest is
 * output, up to `outputTokensMax`. A difference that equals both reasoning and cache tokens is reasoning, unless the output can include the
 * reasoning and the cache counts have the names of the messages protocol.
 */
export function unstatedTokens(
  usage: Readonly<Record<string, unknown>>,
  { inputTokens, outputTokens, reasoningTokens, cache: { read, written, unknown }, separate = null }: StatedTotals,
  outputTokensMax: number,
): UnstatedTokens {
  const known = read + written;
  // A count under an unknown name may repeat one under a known name.
  const cache = known > 0 ? known : unknown;
  const beyondBoth = countOf(usage.total_tokens) - inputTokens - outputTokens;
  const beyond = separate === null ? beyondBoth : beyondSeparate(beyondBoth, separate);
  // Fast path for nearly all calls.
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
  // Cache counts that the input may exclude: it is large enough for the others.
  const parts = [cache, written, read].filter((part) => part > 0 && inputTokens + part >= cache);
  const isReasoning = beyond === reasoning;
  const isCache = parts.includes(beyond);
  if (isCache && (!isReasoning || (ofMessages > 0 && reasoning <= outputTokens))) return unstated(0, beyond);
  if (isReasoning) return unstated(reasoning);
  const part = reasoning === 0 ? undefined : parts.find((count) => count + reasoning === beyond);
  if (part !== undefined) return unstated(reasoning, part);
  return outputTokens + beyond <= outputTokensMax ? unstated(beyond) : unstated(0, outside, true);
}

/** Subtracts tokens with prices of their own from the difference. The total may include all of them, one kind, or none. */
function beyondSeparate(beyond: number, separate: NonNullable<StatedTotals['separate']>): number {
  const { citationTokens, separateReasoningTokens } = separate;
  const isOneKind = beyond === citationTokens || beyond === separateReasoningTokens;
  return isOneKind ? 0 : beyond - citationTokens - separateReasoningTokens;
}

/** Maximum ratio between two counts of the same input. They can differ by the tokens of a chat template. */
const SAME_INPUT_SHARE = 1.02;

function tokensOutside(inputTokens: number, read: number, written: number, ofMessages: number): number {
  if (ofMessages > inputTokens) return ofMessages;
  // Counts under other names may overlap, but none of them can exceed a total that includes it.
  return Math.max(read, written) > inputTokens * SAME_INPUT_SHARE ? read + written : 0;
}

/** Returns cache tokens under names of the messages protocol, whose input excludes them. Relays may use these names only for writes. */
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
