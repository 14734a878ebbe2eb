import { rememberRecent } from '../../lib/recent.ts';
import { estimateTokens } from './estimate.ts';

interface CompletedStream {
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Size of the text without encrypted reasoning. */
  readonly visibleTextBytes: number;
  readonly durationMs: number;
}

/** Speed that is assumed for a route without observations. */
export const TOKENS_PER_SECOND_DEFAULT = 50;

/** Minimum duration of a stream to be measured. */
const DURATION_MS_MIN = 1_000;
const MEMORY = 0.9;
const ROUTES_MAX = 10_000;

interface Observed {
  tokens: number;
  seconds: number;
  /** Whether the route hides its reasoning; `null` until a stream reports reasoning. */
  reasonsUnseen: boolean | null;
}

/** Output speed and hidden reasoning of each route, learned from complete streams in this process. */
export class OutputSpeeds {
  readonly #routes = rememberRecent<Observed>(ROUTES_MAX);

  note(routeId: string, { outputTokens, reasoningTokens, visibleTextBytes, durationMs }: CompletedStream): void {
    const observed = this.#routes.get(routeId) ?? { tokens: 0, seconds: 0, reasonsUnseen: null };
    if (reasoningTokens > 0) {
      // Tokens of visible text are estimated. So reasoning counts as hidden only if more than half of its tokens are not in the text.
      observed.reasonsUnseen = outputTokens - estimateTokens(visibleTextBytes) > reasoningTokens / 2;
    }
    if (durationMs >= DURATION_MS_MIN) {
      observed.tokens = observed.tokens * MEMORY + outputTokens;
      observed.seconds = observed.seconds * MEMORY + durationMs / 1_000;
    }
    this.#routes.set(routeId, observed);
  }

  /** Estimates the number of hidden output tokens. `isKnown`: whether the configuration says that the model hides reasoning. */
  unseenTokens(routeId: string, elapsedMs: number, isKnown: boolean | null): number {
    const observed = this.#routes.get(routeId);
    if (!(isKnown ?? observed?.reasonsUnseen ?? false)) return 0;
    const isLearned = observed !== undefined && observed.seconds > 0;
    const tokensPerSecond = isLearned ? observed.tokens / observed.seconds : TOKENS_PER_SECOND_DEFAULT;
    return Math.ceil((Math.max(0, elapsedMs) / 1_000) * tokensPerSecond);
  }
}
