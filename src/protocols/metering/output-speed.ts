import { rememberRecent } from '../../lib/recent.ts';
import { estimateTokens } from './estimate.ts';

/** A stream that reached its end, as its provider reported it. */
export interface CompletedStream {
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** The size of the text that came through, without reasoning that is encrypted. */
  readonly visibleTextBytes: number;
  /** From its first event to its last. */
  readonly durationMs: number;
}

/** Output tokens a second of a model of which nothing is known yet. */
export const TOKENS_PER_SECOND_DEFAULT = 50;

/** A shorter stream says little about a speed. */
const DURATION_MS_MIN = 1_000;
/** The weight of the earlier streams of a route beside the next one. */
const MEMORY = 0.9;
const ROUTES_MAX = 10_000;

interface Observed {
  tokens: number;
  seconds: number;
  /** `null`: no stream of it has reported reasoning. */
  reasonsUnseen: boolean | null;
}

/**
 * What is known of routes: how fast they write, and whether they reason without showing it. Learned from the streams of
 * this process that reached their end, and forgotten with it.
 */
export class OutputSpeeds {
  readonly #routes = rememberRecent<Observed>(ROUTES_MAX);

  note(routeId: string, { outputTokens, reasoningTokens, visibleTextBytes, durationMs }: CompletedStream): void {
    const observed = this.#routes.get(routeId) ?? { tokens: 0, seconds: 0, reasonsUnseen: null };
    if (reasoningTokens > 0) {
      // The size of text says its tokens only roughly, so that half of the reasoning has to be missing from it.
      observed.reasonsUnseen = outputTokens - estimateTokens(visibleTextBytes) > reasoningTokens / 2;
    }
    if (durationMs >= DURATION_MS_MIN) {
      observed.tokens = observed.tokens * MEMORY + outputTokens;
      observed.seconds = observed.seconds * MEMORY + durationMs / 1_000;
    }
    this.#routes.set(routeId, observed);
  }

  /**
   * The output tokens that a route has written unseen in a time: 0 where it shows all that it writes. `isKnown`
   * overrides what was learned.
   */
  unseenTokens(routeId: string, elapsedMs: number, isKnown: boolean | null): number {
    const observed = this.#routes.get(routeId);
    if (!(isKnown ?? observed?.reasonsUnseen ?? false)) return 0;
    const isLearned = observed !== undefined && observed.seconds > 0;
    const tokensPerSecond = isLearned ? observed.tokens / observed.seconds : TOKENS_PER_SECOND_DEFAULT;
    return Math.ceil((Math.max(0, elapsedMs) / 1_000) * tokensPerSecond);
  }
}
