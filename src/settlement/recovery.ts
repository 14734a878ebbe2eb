import type { UnresolvedCall } from '../billing/holds.ts';
import type { BillingStore } from '../billing/store.ts';
import type { KeyLimitStore } from '../key-limits/store.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { PlanStore } from '../plans/store.ts';
import { formatYuan } from '../pricing/yuan.ts';

export interface RecoveryOptions {
  readonly billing: Pick<BillingStore, 'listDeadHolds' | 'resolveHolds' | 'recordUnresolved'>;
  readonly plans: Pick<PlanStore, 'listDeadHolds' | 'endCalls'>;
  readonly keys: Pick<KeyLimitStore, 'listDeadHolds' | 'releaseCalls'>;
  /** This process, which is alive. */
  readonly nodeId: string;
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: () => string;
  /** Brings into the books what dead nodes of this machine have left in their journals; their outcome is known. */
  readonly recoverJournals: () => Promise<unknown>;
  readonly clock: Clock;
  readonly logger: Logger;
}

const HOLDS_AT_ONCE_MAX = 500;

/**
 * Resolves the calls of nodes that died: what they hold is given back, they are on record as `unresolved`, and nobody is
 * charged for an outcome that nobody knows (design 6). Several nodes may do so at once, and the node may turn out to be
 * alive: each call is resolved once, and its own end, should it still come, replaces the record.
 */
export function createRecovery(options: RecoveryOptions): (deadAfterMs: number) => Promise<void> {
  const { billing, plans, keys, nodeId, today, recoverJournals, clock, logger } = options;

  async function resolvePaidCalls(deadAfterMs: number): Promise<number> {
    const holds = await billing.listDeadHolds(nodeId, deadAfterMs, HOLDS_AT_ONCE_MAX);
    if (holds.length === 0) return 0;
    for (const call of await billing.resolveHolds(holds, new Date(clock.nowMs()))) {
      logger.warn({ ...namesOf(call), heldYuan: formatYuan(call.amountNano) }, UNRESOLVED);
    }
    return holds.length;
  }

  async function resolveCodingCalls(deadAfterMs: number): Promise<number> {
    const calls = await plans.listDeadHolds(nodeId, deadAfterMs, HOLDS_AT_ONCE_MAX);
    if (calls.length === 0) return 0;
    for (const call of await billing.recordUnresolved(calls, new Date(clock.nowMs()))) {
      logger.warn(namesOf(call), UNRESOLVED);
    }
    await plans.endCalls(calls.map(({ accountId, callId }) => ({ accountId, callId, counts: false, tokens: 0 })));
    return calls.length;
  }

  async function resolveLimitedCalls(deadAfterMs: number): Promise<number> {
    const calls = await keys.listDeadHolds(nodeId, deadAfterMs, HOLDS_AT_ONCE_MAX);
    if (calls.length > 0) await keys.releaseCalls(calls, today());
    return calls.length;
  }

  async function areThereDeadCalls(deadAfterMs: number): Promise<boolean> {
    const found = await Promise.all([billing, plans, keys].map((store) => store.listDeadHolds(nodeId, deadAfterMs, 1)));
    return found.some((holds) => holds.length > 0);
  }

  return async function resolveDeadCalls(deadAfterMs) {
    if (!(await areThereDeadCalls(deadAfterMs))) return;
    await recoverJournals();
    for (const resolve of [resolvePaidCalls, resolveCodingCalls, resolveLimitedCalls]) {
      while ((await resolve(deadAfterMs)) === HOLDS_AT_ONCE_MAX);
    }
  };
}

/** What a log says of a call; its record says the rest. */
function namesOf({ accountId, callId, keyId, model, heldAt }: UnresolvedCall): object {
  return { accountId, callId, keyId, model, heldAt };
}

const UNRESOLVED =
  'a call was in flight when its node ended; what it held is given back, nothing is charged, its outcome is unknown';
