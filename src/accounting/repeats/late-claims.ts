import type { Logger } from '../../lib/logger.ts';
import type { HeldCall } from '../../lib/two-phase.ts';

interface LateClaimsOptions {
  /** Frees claims, if they are there and their calls have not ended. */
  readonly free: (claims: readonly HeldCall[]) => Promise<void>;
  /** How long a claim lasts. */
  readonly claimMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
}

const CLAIMS_MAX = 10_000;
const AT_ONCE_MAX = 1_000;

/**
 * Claims of idempotency keys that were given up because the database took too long. It may carry one out even after it was
 * freed, and no call would end or renew it: repeats would wait until it runs out. So it is freed again for as long as that.
 */
export function createLateClaims({ free, claimMs, everyMs, logger }: LateClaimsOptions) {
  /** How often each is still to be freed; what waited longest comes first. */
  const left = new Map<HeldCall, number>();
  let freeing: Promise<void> | null = null;
  const timer = setInterval(() => {
    if (left.size === 0 || freeing !== null) return;
    freeing = freeSome().finally(() => {
      freeing = null;
    });
  }, everyMs);
  timer.unref();

  async function freeSome(): Promise<void> {
    const claims = [...left.keys()].slice(0, AT_ONCE_MAX);
    try {
      await free(claims);
    } catch (error) {
      logger.warn({ err: error, claims: left.size }, 'claims of idempotency keys that came late wait to be freed');
      return;
    }
    for (const claim of claims) {
      const rounds = left.get(claim)! - 1;
      left.delete(claim);
      if (rounds > 0) left.set(claim, rounds);
    }
  }

  return {
    add({ accountId, callId }: HeldCall): void {
      if (left.size < CLAIMS_MAX) left.set({ accountId, callId }, Math.ceil(claimMs / everyMs));
    },
    /** Resolves when nothing is under way; what is left runs out. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await freeing;
    },
  };
}
