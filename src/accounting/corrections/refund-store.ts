import { fieldsOf } from '../../db/columns.ts';
import type { Statement, StoredRow } from '../../db/database.ts';
import { sqlState } from '../../db/errors.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import { bigintColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { type LedgerEntry, NUMERIC_OUT_OF_RANGE, postEntry, selectKeyedEntry } from '../ledger/ledger-store.ts';
import { accountIdOf, firstFound, mapByPartition, type Routes } from '../partitions/routes.ts';
import { decideRefund, type RefundableCall, type RefundRefusal } from './refund.ts';

/** This file refunds calls. A refund is a ledger entry that returns a call's charge, or a part of it. The call record does not change. */

const FOUND_CALLS = selection({ accountId: textColumn('account_id'), startedAt: dateColumn('started_at') });
export type FoundCall = RowOf<typeof FOUND_CALLS>;

/** Uses calls_by_id in each month. */
const selectCall: Statement = {
  name: 'corrections.find-call',
  text: `select ${FOUND_CALLS.list} from calls where id = $1`,
};

export const findCall = async (database: PartitionQueryable, callId: string): Promise<FoundCall | null> =>
  FOUND_CALLS.first(await database.query(selectCall, [callId]));

export const partWithCall = <Part extends { hasCall(callId: string): Promise<boolean> }>(
  routes: Routes<Part>,
  callId: string,
): Promise<Part | null> => firstFound(routes, async (part) => ((await part.hasCall(callId)) ? part : null));

const REFUNDABLE = selection({
  chargeNano: orNull(bigintColumn('c.charge_nano')),
  refundedNano: bigintColumn(`(
  select coalesce(sum(e.amount_nano), 0)::bigint from ledger_entries e
  where e.account_id = $1 and e.call_id = $2 and e.kind = 'refund'
) as refunded_nano`),
});

/** Locks the call record, so that retention cannot delete it before the refund is committed. */
const readCharge: Statement = {
  name: 'refunds.read-charge',
  text: `select ${REFUNDABLE.list}
from calls c where c.account_id = $1 and c.id = $2 and c.started_at = $3::timestamptz for key share of c`,
};

/** Marks the sums of a month that is being dropped as invalid, because they lack the refund. Retention computes them again. */
const voidSums: Statement = {
  name: 'refunds.void-sums',
  text: `update dropped_months set is_void = true
where month = date_trunc('month', $1::timestamptz at time zone 'UTC')::date and dropped_at is null`,
};

/** Uses ledger_refunds_by_call. */
const sumUpToEntry: Statement = {
  name: 'refunds.sum-up-to-entry',
  text: `select coalesce(sum(amount_nano), 0)::bigint as refunded_nano from ledger_entries
where account_id = $1 and call_id = $2 and kind = 'refund' and entry_no <= $3::bigint`,
};

const REFUNDS = selection({
  entryNo: bigintColumn('e.entry_no'),
  amountNano: bigintColumn('e.amount_nano'),
  memo: orNull(textColumn('e.memo')),
  at: dateColumn('e.created_at'),
});

export type CallRefund = RowOf<typeof REFUNDS>;

/** Uses ledger_refunds_by_call. */
const selectRefunds: Statement = {
  name: 'refunds.select',
  text: `select e.call_id, ${REFUNDS.list}
from unnest($1::text[], $2::text[]) as v (account_id, call_id)
join ledger_entries e on e.account_id = v.account_id and e.call_id = v.call_id and e.kind = 'refund'
order by e.entry_no`,
};

export interface RefundRequest {
  readonly callId: string;
  /** Amount to refund; `null`: what remains of the charge. */
  readonly amountNano: bigint | null;
  readonly memo: string | null;
  /** A repeated request returns the first refund; with another amount it is a conflict. */
  readonly idempotencyKey: string | null;
  readonly at: Date;
}

type RefundResult =
  | { readonly outcome: 'refunded' | 'repeated'; readonly entry: LedgerEntry; readonly call: RefundableCall }
  | { readonly outcome: 'refused'; readonly refusal: RefundRefusal; readonly call: RefundableCall }
  | { readonly outcome: 'unknown_call' | 'key_conflict' | 'out_of_range' };

interface ListedCall {
  readonly accountId: string;
  readonly id: string;
}

export type RefundStore = ReturnType<typeof createRefundStore>;

export function createRefundStore(database: PartitionPool) {
  return {
    hasCall: async (callId: string): Promise<boolean> => (await findCall(database, callId)) !== null,
    /** Refunds a call. All refunds together never exceed the charge. */
    async refund(request: RefundRequest): Promise<RefundResult> {
      const found = await findCall(database, request.callId);
      if (found === null) return { outcome: 'unknown_call' };
      try {
        return await database.transaction((transaction) => refundCall(transaction, found, request));
      } catch (error) {
        if (sqlState(error) === NUMERIC_OUT_OF_RANGE) return { outcome: 'out_of_range' };
        throw error;
      }
    },
    /** Returns refunds by call id, in the order of their ledger entries. Calls without refunds are absent. */
    async refundsOf(calls: readonly ListedCall[]): Promise<ReadonlyMap<string, readonly CallRefund[]>> {
      if (calls.length === 0) return new Map();
      const names = fieldsOf(calls, 'accountId', 'id');
      const rows = await database.query<StoredRow & { call_id: string }>(selectRefunds, names);
      return new Map([...Map.groupBy(rows, (row) => row.call_id)].map(([id, found]) => [id, REFUNDS.all(found)]));
    },
  };
}

export function routedRefunds(routes: Routes<RefundStore>): RefundStore {
  return {
    hasCall: async (callId) => (await partWithCall(routes, callId)) !== null,
    async refund(request) {
      const refunds = await partWithCall(routes, request.callId);
      return refunds === null ? { outcome: 'unknown_call' } : refunds.refund(request);
    },
    refundsOf: (calls) => mapByPartition(routes, calls, accountIdOf, (refunds, those) => refunds.refundsOf(those)),
  };
}

async function refundCall(
  transaction: PartitionQueryable,
  { accountId, startedAt }: FoundCall,
  { callId, amountNano, memo, idempotencyKey, at }: RefundRequest,
): Promise<RefundResult> {
  await lockAccount(transaction, accountId);
  const readCall = async (): Promise<RefundableCall | null> =>
    REFUNDABLE.first(await transaction.query(readCharge, [accountId, callId, startedAt]));
  const call = await readCall();
  // Retention has dropped the record since it was found.
  if (call === null) return { outcome: 'unknown_call' };
  const first = idempotencyKey === null ? null : await selectKeyedEntry(transaction, accountId, idempotencyKey);
  if (first !== null) {
    const isSame = first.kind === 'refund' && first.callId === callId && first.memo === memo;
    const isSameAmount =
      amountNano === null ? isSame && (await wasAll(transaction, first, call)) : first.amountNano === amountNano;
    return isSame && isSameAmount ? { outcome: 'repeated', entry: first, call } : { outcome: 'key_conflict' };
  }
  const verdict = decideRefund(call, amountNano);
  if ('refusal' in verdict) return { outcome: 'refused', refusal: verdict.refusal, call };
  const entry = { accountId, kind: 'refund', callId, memo, idempotencyKey, at } as const;
  const posted = await postEntry(transaction, { ...entry, amountNano: verdict.amountNano });
  if (posted.outcome !== 'posted') throw new Error(`a refund was not posted: ${posted.outcome}`);
  await transaction.query(voidSums, [startedAt]);
  return { outcome: 'refunded', entry: posted.entry, call: (await readCall())! };
}

/** Whether an earlier refund returned the whole remaining charge, which a request without an amount asks for. */
async function wasAll(
  transaction: PartitionQueryable,
  { accountId, callId, entryNo }: LedgerEntry,
  { chargeNano }: RefundableCall,
): Promise<boolean> {
  const [row] = await transaction.query<{ refunded_nano: bigint }>(sumUpToEntry, [accountId, callId, entryNo]);
  return row!.refunded_nano === chargeNano;
}
