import type { Logger } from '../../lib/logger.ts';
import type { HeldCall } from '../../lib/two-phase.ts';

interface LateClaimsOptions {
  /** Frees claims that exist and whose calls have not ended. */
  readonly free: (claims: readonly HeldCall[]) => Promise<void>;
  readonly claimMs: number;
  readonly everyMs: number;
  readonly logger: Logger;
}

const CLAIMS_MAX = 10_000;
const AT_ONCE_MAX = 1_000;

/**
 * The database can carry out an aborted claim even after the claim was freed. Repeats would then wait until the claim expires. So such claims are
 * freed repeatedly until that time.
 */
export function createLateClaims({ free, claimMs, everyMs, logger }: LateClaimsOptions) {
  /** How many more times each claim is freed. The claim that has waited longest is the first one. */
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
      logger.warn({ err: error, claims: left.size }, 'freeing late claims of idempotency keys failed; retrying');
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
    /** Resolves when no statement is pending. The remaining claims expire. */
    async stop(): Promise<void> {
      clearInterval(timer);
      await freeing;
    },
  };
}
