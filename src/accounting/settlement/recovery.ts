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
  readonly nodeId: string;
  readonly time: () => BillingTime;
  /** Settles the calls in journals of dead nodes on this machine. Their outcome is known, so they do not become unresolved. */
  readonly recoverJournals: () => Promise<unknown>;
  readonly logger: Logger;
  readonly onUnresolved?: (() => void) | undefined;
}

const CALLS_AT_ONCE_MAX = 500;

/**
 * Releases calls of dead nodes without a charge, because their outcome is unknown. Several nodes may do so at once. A node that counts as
 * dead may be alive: then the call's own end replaces the `unresolved` record.
 */
export function createRecovery(options: RecoveryOptions): (deadAfterMs: number) => Promise<void> {
  const { reservations, settlement, nodeId, time, recoverJournals, logger, onUnresolved } = options;

  /** Resolves a batch. Returns its last call if there may be more. */
  async function resolveSome(deadAfterMs: number, behind: CallName | undefined): Promise<CallName | undefined> {
    const calls = await reservations.listOfDeadNodes(nodeId, deadAfterMs, CALLS_AT_ONCE_MAX, behind);
    if (calls.length === 0) return undefined;
    for (const call of await resolveFree(calls)) {
      logger.warn(namesOf(call), UNRESOLVED);
      onUnresolved?.();
    }
    return calls.length === CALLS_AT_ONCE_MAX ? calls.at(-1) : undefined;
  }

  /** Resolves calls, except those of locked accounts, which are tried again at the next heartbeat. */
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

function namesOf({ accountId, callId, keyId, model, reservedAtMs, amountNano }: OpenReservation): object {
  const names = { accountId, callId, keyId, model, reservedAt: new Date(reservedAtMs) };
  return amountNano === null ? names : { ...names, reservedYuan: formatYuan(amountNano) };
}

const UNRESOLVED =
  'a call was in flight when its node died: its reservation is released, nothing is charged, its outcome is unknown';
