import type { Logger } from '../../lib/logger.ts';
import type { HeldCall } from '../../lib/two-phase.ts';

interface LateClaimsOptions {
  readonly free: (claims: readonly HeldCall[]) => Promise<void>;
  readonly claimMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
}

const CLAIMS_MAX = 10_000;
const AT_ONCE_MAX = 1_000;

/**
 * Frees keys whose claim was aborted. The database may still execute such a claim later, and repeated requests would then wait until it
 * expires. So each key is freed repeatedly until then.
 */
export function createLateClaims({ free, claimMs, everyMs, logger }: LateClaimsOptions) {
  /** How many more times each claim will be freed. The first one was freed least recently. */
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
      logger.warn(
        { err: error, claims: left.size },
        'failed to release the idempotency keys of calls that did not begin; retrying',
      );
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
    async stop(): Promise<void> {
      clearInterval(timer);
      await freeing;
    },
  };
}
