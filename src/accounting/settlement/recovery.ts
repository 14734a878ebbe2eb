import type { Logger } from '../../lib/logger.ts';
import { formatYuan } from '../../lib/yuan.ts';
import type { BillingTime } from '../pricing/running-periods.ts';
import { pastLocked } from '../reservations/locked-accounts.ts';
import type { CallName, OpenReservation } from '../reservations/reservation.ts';
import type { ReservationStore } from '../reservations/store.ts';
import type { SettlementStore } from './store.ts';

interface RecoveryOptions {
  readonly reservations: Pick<ReservationStore, 'listOfDeadNodes'>;
  readonly settlement: Pick<SettlementStore, 'resolve'>;
  /** This process, which is alive. */
  readonly nodeId: string;
  readonly time: () => BillingTime;
  /** Writes to the database what dead nodes of this machine have left in their journals; the outcome of these calls is known. */
  readonly recoverJournals: () => Promise<unknown>;
  readonly logger: Logger;
  /** A call was recorded as unresolved: for metrics. */
  readonly onUnresolved?: (() => void) | undefined;
}

const CALLS_AT_ONCE_MAX = 500;

/**
 * Resolves the calls of nodes that died: their reservations are released, they are recorded as `unresolved`, and nothing is
 * charged, because their outcome is unknown. Several nodes may do so at once, and the node may turn out to be alive: each
 * call is resolved once, and its own end, should it still come, replaces the record.
 */
export function createRecovery(options: RecoveryOptions): (deadAfterMs: number) => Promise<void> {
  const { reservations, settlement, nodeId, time, recoverJournals, logger, onUnresolved } = options;

  /** Resolves the first calls behind one; returns the last of them, where there may be more. */
  async function resolveSome(deadAfterMs: number, behind: CallName | undefined): Promise<CallName | undefined> {
    const calls = await reservations.listOfDeadNodes(nodeId, deadAfterMs, CALLS_AT_ONCE_MAX, behind);
    if (calls.length === 0) return undefined;
    for (const call of await resolveFree(calls)) {
      logger.warn(namesOf(call), UNRESOLVED);
      onUnresolved?.();
    }
    return calls.length === CALLS_AT_ONCE_MAX ? calls.at(-1) : undefined;
  }

  /** Resolves calls, but for those whose accounts somebody else has locked: these come again at the next heartbeat. */
  function resolveFree(calls: readonly CallName[]): Promise<readonly OpenReservation[]> {
    return pastLocked((locks) => settlement.resolve(calls, time(), locks));
  }

  return async function resolveDeadCalls(deadAfterMs) {
    if ((await reservations.listOfDeadNodes(nodeId, deadAfterMs, 1)).length === 0) return;
    await recoverJournals();
    let last: CallName | undefined;
    do last = await resolveSome(deadAfterMs, last);
    while (last !== undefined);
  };
}

/** What is logged of a call; its record has the rest. */
function namesOf({ accountId, callId, keyId, model, reservedAtMs, amountNano }: OpenReservation): object {
  const names = { accountId, callId, keyId, model, reservedAt: new Date(reservedAtMs) };
  return amountNano === null ? names : { ...names, reservedYuan: formatYuan(amountNano) };
}

const UNRESOLVED =
  'a call was in flight when its node ended; what it reserved is given back, nothing is charged, its outcome is unknown';
