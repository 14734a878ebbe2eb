import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool, PartitionQueryable } from '../../db/home-pools.ts';
import {
  bigintColumn,
  countColumn,
  instantColumn,
  jsonbColumn,
  orNull,
  selection,
  textColumn,
} from '../../db/table.ts';
import { KEY_LIMITS } from '../accounts/key-limit-tables.ts';
import type { CallNotes, CallStatus, RequestedVia, ReservedTokens, ResolutionNote } from '../calls/call-outcome.ts';
import { countedSql } from '../counts/counted-since.ts';
import { type CountedUse, countedText, keyChargeOf, keyChargeText, placeOf } from '../counts/counted-use.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import type { Routes } from '../partitions/routes.ts';
import type { RunningPeriods } from '../pricing/running-periods.ts';
import type { KeyState } from '../reservations/account-state.ts';
import { readKeys } from '../reservations/account-store.ts';
import { countKeySpending } from '../reservations/limits/key-budgets.ts';
import { type FoundCall, findCall, partWithCall } from './refund-store.ts';
import { decideResolution, type Resolution, type ResolutionRefusal, type ResolvableCall } from './resolution.ts';

/** Every end of a call, like a resolution, first locks the account. If both come at once, the second finds that the call has ended. */

/** Finds a call in flight. Scans the reservations of all calls in flight. */
const findInFlight: Statement = {
  name: 'resolutions.find-in-flight',
  text: 'select account_id from reservations where call_id = $1',
};

const RESOLVABLE = selection({
  keyId: textColumn('key_id'),
  status: textColumn<CallStatus>('status'),
  context: textColumn('context'),
  chargeNano: orNull(bigintColumn('charge_nano')),
  reservedNano: orNull(bigintColumn('reserved_nano')),
  notes: orNull(jsonbColumn<CallNotes>('notes')),
});

const readCall: Statement = {
  name: 'resolutions.read-call',
  text: `select ${RESOLVABLE.list} from calls
where account_id = $1 and id = $2 and started_at = $3::timestamptz`,
};

/** Stores the resolution. The record keeps the reserved amount, which is the maximum of the charge. */
const recordResolution: Statement = {
  name: 'resolutions.record',
  text: `update calls set status = 'resolved', charge_nano = $4::bigint, notes = coalesce(notes, '{}') || $5::jsonb,
  counted = $6::jsonb
where account_id = $1 and id = $2 and started_at = $3::timestamptz`,
};

const findKey: Statement = {
  name: 'resolutions.find-key',
  text: 'select from ledger_entries where account_id = $1 and idempotency_key = $2',
};

/** SQL: whether the counted day is the current one, which began at $4; $7 is the current time. */
const IS_OF_DAY = countedSql('day_began_at', '$4', '$7');

/** Charges the call. The charge counts on the day of the resolution, not on that of the call. */
const chargeCall: Statement = {
  name: 'resolutions.charge-call',
  text: `with moved as (
  update balances set balance_nano = balance_nano - $3::bigint, last_entry_no = last_entry_no + 1,
    spent_nano = case when ${IS_OF_DAY} then spent_nano else 0 end + $3::bigint,
    day_began_at = case when ${IS_OF_DAY} then day_began_at else $4::timestamptz end,
    day_no = case when ${IS_OF_DAY} then day_no else day_no + 1 end
  where account_id = $1
  returning account_id, balance_nano, last_entry_no, day_no, day_began_at
)
insert into ledger_entries (
  account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, memo, idempotency_key, created_at, day_no,
  day_began_at, counted_key
)
select account_id, last_entry_no, 'charge', -$3::bigint, balance_nano, $2, $5, $6, $7::timestamptz, day_no, day_began_at,
  $8::jsonb
from moved`,
};

const countInBudgets = KEY_LIMITS.update('resolutions.count-in-budgets');

const COUNTED_PERIODS = selection({ useNo: countColumn('use_no'), periodBeganAtMs: instantColumn('period_began_at') });

/** Counts tokens in the plan period of the admission, unless the subscription has begun a new period since. */
const countTokens: Statement = {
  name: 'resolutions.count-tokens',
  text: `update subscriptions set use_no = use_no + 1, period_tokens = period_tokens + $4::bigint
where account_id = $1 and id = $2 and period_no = $3::bigint
returning ${COUNTED_PERIODS.list}`,
};

export interface ResolutionRequest {
  readonly callId: string;
  readonly resolution: Resolution;
  readonly by: string | null;
  readonly via: RequestedVia;
  readonly memo: string | null;
  /** If the ledger contains the key, the request must repeat that resolution; otherwise it is a conflict. */
  readonly idempotencyKey: string | null;
  /** The current day, week and month by the database's clock. */
  readonly periods: RunningPeriods;
}

type ResolutionResult =
  | { readonly outcome: 'resolved' | 'repeated' }
  | { readonly outcome: 'refused'; readonly refusal: ResolutionRefusal; readonly call: ResolvableCall }
  | { readonly outcome: 'unknown_call' | 'in_flight' | 'key_conflict' };

export type ResolutionStore = ReturnType<typeof createResolutionStore>;

export function createResolutionStore(database: PartitionPool) {
  async function find(callId: string): Promise<FoundCall | 'in_flight' | null> {
    const found = await findCall(database, callId);
    if (found !== null) return found;
    if ((await database.query(findInFlight, [callId])).length > 0) return 'in_flight';
    // Searches again, because the call may have ended between the two queries.
    return findCall(database, callId);
  }

  return {
    hasCall: async (callId: string): Promise<boolean> => (await find(callId)) !== null,
    async resolve(request: ResolutionRequest): Promise<ResolutionResult> {
      const call = await find(request.callId);
      if (call === null) return { outcome: 'unknown_call' };
      if (call === 'in_flight') return { outcome: 'in_flight' };
      return database.transaction((transaction) => resolveCall(transaction, call, request));
    },
  };
}

export const routedResolutions = (routes: Routes<ResolutionStore>): ResolutionStore => ({
  hasCall: async (callId) => (await partWithCall(routes, callId)) !== null,
  async resolve(request) {
    const resolutions = await partWithCall(routes, request.callId);
    return resolutions === null ? { outcome: 'unknown_call' } : resolutions.resolve(request);
  },
});

async function resolveCall(
  transaction: PartitionQueryable,
  { accountId, startedAt }: FoundCall,
  request: ResolutionRequest,
): Promise<ResolutionResult> {
  const { callId, resolution, idempotencyKey, memo, periods } = request;
  const at = new Date(periods.nowMs);
  await lockAccount(transaction, accountId);
  const found = RESOLVABLE.first(await transaction.query(readCall, [accountId, callId, startedAt]));
  // Retention has dropped the record since it was found.
  if (found === null) return { outcome: 'unknown_call' };
  const { keyId, ...call } = found;
  const verdict = decideResolution(call, resolution);
  if (verdict === 'repeated') return { outcome: 'repeated' };
  if (verdict !== 'resolve') return { outcome: 'refused', refusal: verdict.refusal, call };
  if (idempotencyKey !== null && (await transaction.query(findKey, [accountId, idempotencyKey])).length > 0) {
    return { outcome: 'key_conflict' };
  }
  const chargeNano = resolution.action === 'charge' ? resolution.chargeNano : null;
  const reserved = call.notes?.reservedTokens;
  const counted =
    resolution.action === 'count' && reserved !== undefined
      ? await countUse(transaction, accountId, { ...reserved, tokens: resolution.tokens })
      : null;
  const notes: CallNotes = { resolution: noteOf(request) };
  await transaction.query(recordResolution, [
    accountId,
    callId,
    startedAt,
    chargeNano,
    JSON.stringify(notes),
    countedText(counted),
  ]);
  if (chargeNano !== null) {
    const { memberId, budgetIds } = call.notes ?? {};
    const chargeTo = (ownerId: string | null | undefined): Promise<KeyState | null> =>
      chargeOwner(transaction, accountId, ownerId ?? null, chargeNano, periods);
    const callers: KeyState[] = [];
    for (const id of budgetIds?.callers ?? []) {
      const row = await chargeTo(id);
      if (row !== null) callers.push(row);
    }
    const countedKey = keyChargeOf({
      key: await chargeTo(keyId),
      member: await chargeTo(memberId),
      keyModel: await chargeTo(budgetIds?.key),
      memberModel: await chargeTo(budgetIds?.member),
      callers,
    });
    await transaction.query(chargeCall, [
      accountId,
      callId,
      chargeNano,
      new Date(periods.dayBeganAtMs),
      memo,
      idempotencyKey,
      at,
      countedKey && keyChargeText(countedKey),
    ]);
  }
  return { outcome: 'resolved' };
}

/** Counts tokens in the plan's quota. Returns the use for the record; `null` if the plan period is over. */
async function countUse(
  transaction: PartitionQueryable,
  accountId: string,
  { subscriptionId, periodNo, tokens }: ReservedTokens,
): Promise<CountedUse | null> {
  const values = [accountId, subscriptionId, periodNo, tokens];
  const counted = COUNTED_PERIODS.first(await transaction.query(countTokens, values));
  if (counted === null) return null;
  const period = placeOf(periodNo, counted.periodBeganAtMs);
  return { plan: { id: subscriptionId, no: counted.useNo, week: null, period, tokens } };
}

/** Counts the charge for a key, a member or a budget for a model, an end user or a tag. Returns the new counts; `null` if the owner has no limits. */
async function chargeOwner(
  transaction: PartitionQueryable,
  accountId: string,
  ownerId: string | null,
  chargeNano: bigint,
  periods: RunningPeriods,
): Promise<KeyState | null> {
  if (ownerId === null) return null;
  const [row] = await transaction.query<StoredRow>(readKeys, [toArray([accountId]), toArray([ownerId])]);
  if (row === undefined) return null;
  const owner = KEY_LIMITS.columns.read(row);
  countKeySpending(owner, chargeNano, periods);
  await transaction.query(countInBudgets, [KEY_LIMITS.written.rows.parameter([owner])]);
  return owner;
}

function noteOf({ resolution, by, via, memo, periods }: ResolutionRequest): ResolutionNote {
  const counted = resolution.action === 'count' ? { tokens: resolution.tokens } : {};
  return { action: resolution.action, ...counted, by, via, memo, at: new Date(periods.nowMs).toISOString() };
}
