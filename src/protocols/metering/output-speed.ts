import { rememberRecent } from '../../lib/recent.ts';
import { estimateTokens } from './estimate.ts';

interface CompletedStream {
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Size of the text, excluding encrypted reasoning. */
  readonly visibleTextBytes: number;
  readonly durationMs: number;
}

/** Assumed for a route without observations. */
export const TOKENS_PER_SECOND_DEFAULT = 50;

/** Shorter streams are not measured. */
const DURATION_MS_MIN = 1_000;
const MEMORY = 0.9;
const ROUTES_MAX = 10_000;

interface Observed {
  tokens: number;
  seconds: number;
  /** Whether the route generates reasoning without showing it; `null` until a stream reports reasoning. */
  reasonsUnseen: boolean | null;
}

/** Output speed and hidden reasoning of routes, learned from complete streams of this process. */
export class OutputSpeeds {
  readonly #routes = rememberRecent<Observed>(ROUTES_MAX);

  note(routeId: string, { outputTokens, reasoningTokens, visibleTextBytes, durationMs }: CompletedStream): void {
    const observed = this.#routes.get(routeId) ?? { tokens: 0, seconds: 0, reasonsUnseen: null };
    if (reasoningTokens > 0) {
      // The tokens of visible text are an estimate, so reasoning counts as hidden only if more than half of its tokens are missing.
      observed.reasonsUnseen = outputTokens - estimateTokens(visibleTextBytes) > reasoningTokens / 2;
    }
    if (durationMs >= DURATION_MS_MIN) {
      observed.tokens = observed.tokens * MEMORY + outputTokens;
      observed.seconds = observed.seconds * MEMORY + durationMs / 1_000;
    }
    this.#routes.set(routeId, observed);
  }

  /** Returns the estimated number of hidden output tokens. `isKnown` overrides the observations. */
  unseenTokens(routeId: string, elapsedMs: number, isKnown: boolean | null): number {
    const observed = this.#routes.get(routeId);
    if (!(isKnown ?? observed?.reasonsUnseen ?? false)) return 0;
    const isLearned = observed !== undefined && observed.seconds > 0;
    const tokensPerSecond = isLearned ? observed.tokens / observed.seconds : TOKENS_PER_SECOND_DEFAULT;
    return Math.ceil((Math.max(0, elapsedMs) / 1_000) * tokensPerSecond);
  }
}
