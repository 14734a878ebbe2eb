import { type Queryable, type Statement, toArray } from '../db/database.ts';
import type { HeldCall } from '../lib/two-phase.ts';
import { IS_OF_DEAD_NODE } from '../nodes/dead.ts';
import { type CallFacts, type DeadHold, readFacts, type UnresolvedCall } from './holds.ts';

/** The SQL of calls that nobody lives to end: their holds go, and what is known of them is recorded (design 6). */

/** As many rows as there are calls in flight: holds and nodes by sequence. */
const listDeadHolds: Statement = {
  name: 'billing.list-dead-holds',
  text: `select account_id, call_id, amount_nano, key_id, model, facts, held_at from holds h
where ${IS_OF_DEAD_NODE}
order by account_id, call_id limit $3::int`,
};

/** The calls of a batch. */
const UNRESOLVED_CALLS = `select * from unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::timestamptz[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::boolean[], $11::text[], $12::text[]
  ) as c (
    account_id, id, key_id, model, started_at, context, operation, provider, provider_model, is_stream, request_id,
    price_rule
  )`;

/** What is recorded of an unresolved call: what was known when it was admitted, and nothing of its end. */
const recordOf = (heldNano: string): string => `insert into calls (
    account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream, status,
    error_code, request_id, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, output_tokens,
    reasoning_tokens, price_rule, held_nano
  )
  select c.account_id, c.id, c.started_at, $13::timestamptz, c.key_id, c.context, c.operation, c.model, c.provider,
    c.provider_model, c.is_stream, 'unresolved', 'call_unresolved', c.request_id, 0, 0, 0, 0, 0, 0, c.price_rule, ${heldNano}`;

/**
 * Takes over the holds of calls that nobody lives to end: frees those that are still there, and records their calls. A
 * call that ends meanwhile, because its node was only taken for dead, meets this statement at the account's row: whoever
 * comes second finds no hold. If that is this one, nothing is recorded; if it is the end, it charges all the same and
 * replaces the record.
 *
 * Plan: balances and holds by primary key, inserts.
 */
const resolveHolds: Statement = {
  name: 'billing.resolve-holds',
  text: `with dead as (
  ${UNRESOLVED_CALLS}
),
locked as (
  select account_id from balances where account_id = any ($1::text[]) order by account_id for update
),
freed as (
  delete from holds using dead, locked
  where holds.account_id = dead.account_id and holds.call_id = dead.id and locked.account_id = dead.account_id
  returning holds.account_id, holds.call_id, holds.amount_nano
),
moved as (
  update balances set held_nano = balances.held_nano - change.freed_nano
  from (select account_id, sum(amount_nano)::bigint as freed_nano from freed group by account_id) change
  where balances.account_id = change.account_id
),
recorded as (
  ${recordOf('freed.amount_nano')}
  from freed join dead c on c.account_id = freed.account_id and c.id = freed.call_id
  order by c.account_id, c.id
  on conflict do nothing
)
select account_id, call_id from freed`,
};

/**
 * Records calls whose holds are not here but on a plan. Where the end of one comes at the same time, the two meet at its
 * record: this one writes none where the end has, and the end replaces what this one wrote. Plan: inserts.
 */
const recordUnresolved: Statement = {
  name: 'billing.record-unresolved',
  text: `with dead as (
  ${UNRESOLVED_CALLS}
),
recorded as (
  ${recordOf('null')}
  from dead c
  order by c.account_id, c.id
  on conflict do nothing
  returning account_id, id
)
select account_id, id as call_id from recorded`,
};

export interface DeadHoldStore {
  /** Holds of nodes other than this one that were not heard for so long; the first `limit` of them. */
  listDeadHolds(selfId: string, deadAfterMs: number, limit: number): Promise<DeadHold[]>;
  /**
   * Frees holds and records their calls as unresolved, with nothing charged; answers those that were still there. All or
   * nothing, and safe to repeat.
   */
  resolveHolds(holds: readonly DeadHold[], now: Date): Promise<DeadHold[]>;
  /** Records calls of a plan as unresolved; answers those of which there was no record. Safe to repeat. */
  recordUnresolved<Call extends UnresolvedCall>(calls: readonly Call[], now: Date): Promise<Call[]>;
}

interface HoldRow {
  account_id: string;
  call_id: string;
  amount_nano: bigint;
  key_id: string;
  model: string;
  facts: string;
  held_at: Date;
}

interface CallRow {
  account_id: string;
  call_id: string;
}

export function createDeadHoldStore(database: Queryable): DeadHoldStore {
  return {
    async listDeadHolds(selfId, deadAfterMs, limit) {
      const rows = await database.query<HoldRow>(listDeadHolds, [selfId, deadAfterMs, limit]);
      return rows.map((row) => ({
        accountId: row.account_id,
        callId: row.call_id,
        keyId: row.key_id,
        model: row.model,
        heldAt: row.held_at,
        facts: row.facts,
        amountNano: row.amount_nano,
      }));
    },
    async resolveHolds(holds, now) {
      const rows = await database.query<CallRow>(resolveHolds, [...columnsOf(holds, 'balance'), now]);
      return those(holds, rows);
    },
    async recordUnresolved(calls, now) {
      const rows = await database.query<CallRow>(recordUnresolved, [...columnsOf(calls, 'coding'), now]);
      return those(calls, rows);
    },
  };
}

/** What the facts do not say, because an older version admitted the call, is recorded empty. */
function columnsOf(calls: readonly UnresolvedCall[], context: string): string[] {
  const known = calls.map((call) => ({ call, facts: readFacts(call.facts) }));
  type Known = { readonly call: UnresolvedCall; readonly facts: Partial<CallFacts> };
  const column = (read: (known: Known) => string | boolean): string => toArray(known.map(read));
  return [
    column(({ call }) => call.accountId),
    column(({ call }) => call.callId),
    column(({ call }) => call.keyId),
    column(({ call }) => call.model),
    column(({ call, facts }) => new Date(facts.startedAtMs ?? call.heldAt).toISOString()),
    column(({ facts }) => facts.context ?? context),
    column(({ facts }) => facts.operation ?? ''),
    column(({ facts }) => facts.provider ?? ''),
    column(({ facts }) => facts.providerModel ?? ''),
    column(({ facts }) => facts.isStream ?? false),
    column(({ facts }) => facts.requestId ?? ''),
    column(({ facts }) => facts.priceRule ?? 'base'),
  ];
}

function those<Call extends HeldCall>(calls: readonly Call[], rows: readonly CallRow[]): Call[] {
  const named = new Set(rows.map((row) => `${row.account_id} ${row.call_id}`));
  return calls.filter(({ accountId, callId }) => named.has(`${accountId} ${callId}`));
}
