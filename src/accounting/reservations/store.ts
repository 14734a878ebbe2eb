import { insertOfRows } from '../../db/citus.ts';
import { fieldsOf, writeRows } from '../../db/columns.ts';
import { type Query, type ReadRows, type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { HomeDatabases } from '../../db/home-pools.ts';
import { deadOf } from '../../db/nodes/nodes-store.ts';
import { selection, textColumn } from '../../db/table.ts';
import type { Logger } from '../../lib/logger.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import type { BillingTime, RunningPeriods } from '../pricing/running-periods.ts';
import type { AdmissionTerms } from './account-state.ts';
import {
  type AccountRead,
  type AskedAccounts,
  accountReads,
  addKeys,
  addRates,
  addSubscriptions,
  lockingStatement,
  type ReadAccounts,
  readAccounts,
  readBalances,
} from './account-store.ts';
import { accountWrites, copyAccounts } from './account-writes-store.ts';
import { futureCounts, warnOfFutureCounts } from './future-counts.ts';
import type { LockMode } from './locked-accounts.ts';
import { freeReservation, NO_USE } from './release.ts';
import { CALL_NAME, type CallName, callKey, type OpenReservation } from './reservation.ts';
import { HAS_SLOT, RATE_LIMITS, RESERVATIONS, type Reservation, SUBSCRIPTIONS } from './tables.ts';

const insertReservations = insertOfRows(
  'reservations.insert',
  (condition) =>
    `insert into reservations (${RESERVATIONS.names.join(', ')}) select * from ${RESERVATIONS.rows.as('v')} ${condition}`,
  RESERVATIONS.rows,
  'v',
);

export const deleteReservations: Statement = {
  name: 'reservations.delete',
  text: `delete from reservations r using unnest($1::text[], $2::text[]) as v (account_id, call_id)
where r.account_id = v.account_id and r.call_id = v.call_id`,
};

/** Selects reservations, with their slots if these still exist. */
const readReservations: Statement = {
  name: 'reservations.read',
  text: `select ${RESERVATIONS.of('r')}, ${HAS_SLOT}
from unnest($1::text[], $2::text[]) as v (account_id, call_id)
join reservations r on r.account_id = v.account_id and r.call_id = v.call_id`,
};

/** Selects the subscriptions of calls, including those that are no longer current. */
const readSubscriptionsOfCalls: Statement = {
  name: 'reservations.read-subscriptions-of-calls',
  text: `select ${SUBSCRIPTIONS.columns.of('s')} from subscriptions s
where (s.account_id, s.id) in (
  select r.account_id, r.subscription_id from unnest($1::text[], $2::text[]) as v (account_id, call_id)
  join reservations r on r.account_id = v.account_id and r.call_id = v.call_id
)`,
};

const readKeysOfCalls: Statement = {
  name: 'reservations.read-keys-of-calls',
  text: `select ${KEY_LIMITS.columns.of('l')}
from key_limits l
where (l.account_id, l.key_id) in (
  select r.account_id, o.id from unnest($1::text[], $2::text[]) as v (account_id, call_id)
  join reservations r on r.account_id = v.account_id and r.call_id = v.call_id
  cross join lateral (
    values (case when r.key_day_no is not null then r.key_id end), (r.member_id), (r.key_budget_id), (r.member_budget_id)
    union all
    select jsonb_array_elements_text(r.caller_budget_ids)
  ) as o (id)
)`,
};

const readRatesOfCalls: Statement = {
  name: 'reservations.read-rates-of-calls',
  text: `select ${RATE_LIMITS.columns.of('l')}
from rate_limits l
where (l.account_id, l.key_id, l.model) in (
  select r.account_id, k.key_id, m.model from unnest($1::text[], $2::text[]) as v (account_id, call_id)
  join reservations r on r.account_id = v.account_id and r.call_id = v.call_id
  cross join lateral (values (''), (r.key_id)) as k (key_id)
  cross join lateral (values (''), (r.model)) as m (model)
  where r.rate_tokens is not null
)`,
};

const NAMES = selection({ accountId: textColumn('account_id'), callId: textColumn('call_id') });

/** Lists nodes with reservations. Like the next two statements, it scans the reservations of all calls in flight. */
const listOtherNodes: Statement = {
  name: 'reservations.list-other-nodes',
  text: 'select distinct node_id from reservations where node_id <> $1::text',
};

const listOfNodes: Statement = {
  name: 'reservations.list-of-nodes',
  text: `select ${NAMES.list} from reservations
where node_id = any ($1::text[]) and (account_id, call_id) > ($3::text, $4::text)
order by account_id, call_id limit $2::int`,
};

const listOfNode: Statement = {
  name: 'reservations.list-of-node',
  text: `select ${NAMES.list} from reservations where node_id = $1::text`,
};

export type ReservationStore = ReturnType<typeof createReservationStore>;

export function createReservationStore(
  { directory, partition }: HomeDatabases,
  logger: Pick<Logger, 'warn'> | null = null,
) {
  return {
    look(asked: AskedAccounts, terms: AdmissionTerms, signal?: AbortSignal): Promise<ReadAccounts> {
      const reads = accountReads(readBalances, asked, terms);
      const decide = (rows: ReadRows) => ({ result: readAccounts(reads, rows, terms.nowMs), writes: [] });
      return partition.readThenWrite({ name: 'reservations.look', reads, decide }, signal);
    },
    /** Releases the reservations of calls, and writes no call records. Returns those calls whose accounts could be locked. */
    release(calls: readonly CallName[], time: BillingTime, locks: LockMode = 'all'): Promise<readonly CallName[]> {
      const reads = openCallReads(calls, locks);
      return partition.readThenWrite({
        name: 'reservations.release',
        reads,
        decide(rows) {
          const { accounts, reservations, periods } = openCallsOf(reads, rows, time);
          const before = copyAccounts(accounts);
          const freed = [...reservations.values()].filter(({ accountId }) => accounts.has(accountId));
          for (const reservation of freed) {
            freeReservation(reservation, NO_USE, accounts.get(reservation.accountId)!, periods);
          }
          warnOfFutureCounts(logger, futureCounts(accounts, before, periods.nowMs));
          const writes = [...deleteWrites(freed), ...accountWrites(accounts, before)];
          const result = locks === 'free' ? calls.filter(({ accountId }) => accounts.has(accountId)) : calls;
          return { result, writes };
        },
      });
    },
    /** Returns up to `limit` calls of dead nodes, in order, after the call `behind`. */
    async listOfDeadNodes(selfId: string, deadAfterMs: number, limit: number, behind?: CallName): Promise<CallName[]> {
      const { accountId = '', callId = '' } = behind ?? {};
      const others = await partition.query<{ node_id: string }>(listOtherNodes, [selfId]);
      // A node without a heartbeat counts as dead: a living one writes its first heartbeat before it admits calls.
      let dead = await deadOf(
        directory,
        others.map((row) => row.node_id),
        deadAfterMs,
      );
      while (dead.length > 0) {
        const calls = NAMES.all(await partition.query(listOfNodes, [toArray(dead), limit, accountId, callId]));
        // Checks again: a node that is alive after all keeps its calls.
        const still = await deadOf(directory, dead, deadAfterMs);
        if (still.length === dead.length) return calls;
        dead = still;
      }
      return [];
    },
    listOfNode: async (nodeId: string): Promise<CallName[]> => NAMES.all(await partition.query(listOfNode, [nodeId])),
  };
}

/** @param names query parameters that identify the calls */
export function countedReads(names: readonly string[], hasPlans = true, hasRates = true): AccountRead[] {
  const reads: AccountRead[] = [];
  if (hasPlans) reads.push({ statement: readSubscriptionsOfCalls, parameters: names, addTo: addSubscriptions });
  if (hasRates) reads.push({ statement: readRatesOfCalls, parameters: names, addTo: addRates });
  return reads;
}

interface OpenCalls extends ReadAccounts {
  readonly reservations: Map<string, OpenReservation>;
  readonly periods: RunningPeriods;
}

export function openCallReads(calls: readonly CallName[], locks: LockMode): AccountRead[] {
  const accountIds = [...new Set(calls.map(({ accountId }) => accountId))];
  const names = fieldsOf(calls, ...CALL_NAME);
  return [
    { statement: lockingStatement(locks), parameters: [toArray(accountIds)] },
    { statement: readReservations, parameters: names },
    { statement: readKeysOfCalls, parameters: names, addTo: addKeys },
    ...countedReads(names),
  ];
}

export function openCallsOf(reads: readonly AccountRead[], rows: ReadRows, time: BillingTime): OpenCalls {
  const { accounts, nowMs } = readAccounts(reads, rows, time.nowMs);
  const reservations = new Map<string, OpenReservation>();
  for (const row of rows[1] as readonly (StoredRow & { readonly has_slot: boolean })[]) {
    const reservation = { ...RESERVATIONS.read(row), hasSlot: row.has_slot };
    reservations.set(callKey(reservation), reservation);
  }
  return { accounts, nowMs, periods: time.periodsAt(nowMs), reservations };
}

export function reservationWrites(reservations: readonly Reservation[]): Query[] {
  return RESERVATIONS.rows.write(insertReservations, reservations);
}

export function deleteWrites(reservations: readonly CallName[]): Query[] {
  return writeRows(deleteReservations, reservations, CALL_NAME);
}
