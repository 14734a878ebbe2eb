import { type Queryable, type Statement, toArray } from '../db/database.ts';
import type { Usage } from '../metering/usage-facts.ts';
import type { UnitPrices } from '../pricing/charge.ts';
import { createDeadHoldStore, type DeadHoldStore } from './dead-hold-store.ts';
import type { Admission, AdmissionVerdict, CallOutcome, EndedCall, Hold } from './holds.ts';

/** The SQL of holds, charges and balances. Only this file, `dead-hold-store.ts` and `ledger-store.ts` know their tables. */

/**
 * Admits a batch of calls. The accounts' rows are locked in the order of their ids, and the decision is taken on the
 * locked values: without that order two nodes deadlock, without the lock they both admit the last call (design 10).
 *
 * Each call is measured against the balance left after the holds of all calls before it in the batch, admitted or not.
 * Holds are never negative, so once one call is refused every later one of that account is too, and what is admitted is
 * a prefix in order of arrival. Why a call is refused follows from what was really admitted.
 *
 * Plan: balances by primary key, holds by insert; nothing else is read.
 */
const admitHolds: Statement = {
  name: 'billing.admit-holds',
  text: `with request as (
  select * from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::timestamptz[], $10::text[])
    with ordinality as r (account_id, call_id, amount_nano, key_id, model, held_at, facts, position)
),
locked as (
  select account_id, balance_nano, held_nano, coalesce(daily_cap_nano, $8::bigint) as daily_cap_nano,
    case when spent_on = $7::date then spent_nano else 0 end as spent_today_nano
  from balances
  where account_id = any ($1::text[])
  order by account_id
  for update
),
ranked as (
  select request.*, coalesce(sum(amount_nano) over (
      partition by account_id order by position rows between unbounded preceding and 1 preceding
    ), 0) as ahead_nano
  from request
),
judged as (
  select ranked.*, balance_nano - held_nano as available_nano, daily_cap_nano - spent_today_nano - held_nano as cap_left_nano,
    balance_nano - held_nano - ahead_nano > 0
      and coalesce(spent_today_nano + held_nano + ahead_nano < daily_cap_nano, true) as fits
  from ranked left join locked using (account_id)
),
counted as (
  select judged.*, coalesce(sum(amount_nano) filter (where fits) over (partition by account_id), 0) as admitted_nano
  from judged
),
decided as (
  select counted.*, case
      when available_nano is null then 'unknown_account'
      when fits then 'admitted'
      when available_nano - admitted_nano <= 0 then 'insufficient_balance'
      else 'daily_limit_exceeded'
    end as verdict
  from counted
),
held as (
  insert into holds (account_id, call_id, amount_nano, key_id, model, node_id, held_at, facts)
  select account_id, call_id, amount_nano, key_id, model, $9::text, held_at, facts from decided where verdict = 'admitted'
),
moved as (
  update balances set held_nano = balances.held_nano + added.amount_nano
  from (
    select account_id, sum(amount_nano)::bigint as amount_nano from decided where verdict = 'admitted' group by account_id
  ) added
  where balances.account_id = added.account_id
)
select verdict, case when verdict = 'admitted' then (available_nano - ahead_nano - amount_nano)::bigint end as available_nano
from decided order by position`,
};

/** All of a record but its key. What the call held is known of unresolved calls only, so it goes. */
const REPLACED = [
  'ended_at',
  'key_id',
  'context',
  'operation',
  'model',
  'provider',
  'provider_model',
  'is_stream',
  'status',
  'http_status',
  'error_code',
  'request_id',
  'first_byte_ms',
  'usage_source',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'cache_write_1h_tokens',
  'image_input_tokens',
  'output_tokens',
  'reasoning_tokens',
  'image_output_tokens',
  'images',
  'search_units',
  'price_rule',
  'prices',
  'charge_nano',
  'failed_routes',
  'notes',
  'held_nano',
];

/**
 * Ends a batch of calls: records them, charges those that have a charge, and frees their holds. The record decides: a call
 * ends once, with the first end that is recorded, whatever comes later or at the same time from another node. So it is safe
 * to repeat, and an end without a charge keeps every later one from charging. Only a call that was taken for one that nobody
 * ends may end after it was recorded: its record is replaced, and it is charged.
 *
 * No two outcomes of a batch may be of one call: a statement cannot write one record twice. Accounts are locked first, then
 * records are written in the order of their keys, by everything that writes them.
 *
 * Everything starts from outcomes that are joined with their locked rows. The parts of a statement run in no fixed order,
 * and a row that this statement had updated before locking it would be missing among the locked ones.
 *
 * Calls name their price list by its place among those of the batch: each is long, and nearly all have the same.
 *
 * Plan: balances and holds by primary key, inserts that find calls by primary key; ledger_one_charge_a_call stands behind
 * all this.
 */
const endCalls: Statement = {
  name: 'billing.end-calls',
  text: `with locked as (
  select account_id, balance_nano, last_entry_no from balances
  where account_id = any ($1::text[])
  order by account_id
  for update
),
outcome as (
  select o.*, locked.balance_nano, locked.last_entry_no from unnest(
    $1::text[], $2::text[], $3::bigint[], $4::timestamptz[], $5::timestamptz[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[], $12::boolean[], $13::text[], $14::int[], $15::text[], $16::text[], $17::int[],
    $18::text[], $19::bigint[], $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[], $25::bigint[],
    $26::bigint[], $27::bigint[], $28::bigint[], $29::text[], $30::int[], $32::text[], $34::text[]
  ) with ordinality as o (
    account_id, id, charge_nano, started_at, ended_at, key_id, context, operation,
    model, provider, provider_model, is_stream, status, http_status, error_code, request_id, first_byte_ms,
    usage_source, input_tokens, cached_input_tokens, cache_write_tokens, cache_write_1h_tokens, image_input_tokens,
    output_tokens, reasoning_tokens, image_output_tokens, images, search_units, price_rule, price_list_no, failed_routes,
    notes, position
  ) left join locked using (account_id)
),
freed as (
  delete from holds using outcome
  where holds.account_id = outcome.account_id and holds.call_id = outcome.id and outcome.balance_nano is not null
  returning holds.account_id, holds.amount_nano
),
recorded as (
  insert into calls (
    account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream, status,
    http_status, error_code, request_id, first_byte_ms, usage_source, input_tokens, cached_input_tokens,
    cache_write_tokens, cache_write_1h_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens,
    images, search_units, price_rule, prices, charge_nano, failed_routes, notes
  )
  select account_id, id, started_at, ended_at, key_id, context, operation, model, provider, provider_model, is_stream,
    status, http_status, error_code, request_id, first_byte_ms, usage_source, input_tokens, cached_input_tokens,
    cache_write_tokens, cache_write_1h_tokens, image_input_tokens, output_tokens, reasoning_tokens, image_output_tokens,
    images, search_units, price_rule, ($33::jsonb[])[price_list_no], charge_nano,
    failed_routes::jsonb, notes::jsonb
  from outcome
  where balance_nano is not null
  order by account_id, id
  on conflict (account_id, id, started_at) do update set
    ${REPLACED.map((column) => `${column} = excluded.${column}`).join(', ')}
  where calls.status = 'unresolved'
  returning account_id, id
),
fresh as (
  select outcome.*, row_number() over so_far as entry_offset, sum(charge_nano) over so_far as charged_so_far_nano
  from recorded join outcome using (account_id, id)
  where charge_nano is not null
  window so_far as (partition by outcome.account_id order by position rows unbounded preceding)
),
charged as (
  insert into ledger_entries (account_id, entry_no, kind, amount_nano, balance_after_nano, call_id, created_at)
  select account_id, last_entry_no + entry_offset, 'charge', -charge_nano, balance_nano - charged_so_far_nano, id, ended_at
  from fresh
),
change as (
  select account_id, sum(freed_nano)::bigint as freed_nano, sum(charged_nano)::bigint as charged_nano,
    sum(entries)::bigint as entries
  from (
    select account_id, amount_nano as freed_nano, 0 as charged_nano, 0 as entries from freed
    union all
    select account_id, 0, charge_nano, 1 from fresh
  ) part
  group by account_id
),
moved as (
  update balances set
    balance_nano = balances.balance_nano - change.charged_nano,
    held_nano = balances.held_nano - change.freed_nano,
    last_entry_no = balances.last_entry_no + change.entries,
    spent_nano = case when balances.spent_on >= $31::date then balances.spent_nano else 0 end + change.charged_nano,
    spent_on = greatest(balances.spent_on, $31::date)
  from change
  where balances.account_id = change.account_id
  returning balances.account_id, balances.balance_nano - balances.held_nano as available_nano
)
select moved.available_nano from outcome left join moved using (account_id) order by outcome.position`,
};

/**
 * Waits until whatever has these accounts locked is over. An admission whose connection was lost may still be under way in
 * the server; a statement that had to wait for it would not see its hold, because its view of the holds is older.
 */
const awaitBalances: Statement = {
  name: 'billing.await-balances',
  text: 'select from balances where account_id = any ($1::text[]) order by account_id for update',
};

/** Gives holds back without a record, for calls whose admission failed so that it is unknown whether it took place. */
const releaseHolds: Statement = {
  name: 'billing.release-holds',
  text: `with abandoned as (
  select * from unnest($1::text[], $2::text[]) as a (account_id, call_id)
),
locked as (
  select account_id from balances where account_id = any ($1::text[]) order by account_id for update
),
freed as (
  delete from holds using abandoned, locked
  where holds.account_id = abandoned.account_id and holds.call_id = abandoned.call_id
    and locked.account_id = abandoned.account_id
  returning holds.account_id, holds.amount_nano
)
update balances set held_nano = balances.held_nano - change.freed_nano
from (select account_id, sum(amount_nano)::bigint as freed_nano from freed group by account_id) change
where balances.account_id = change.account_id`,
};

export interface AdmissionTerms {
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: string;
  /** The cap of accounts that have none of their own; `null` for no cap. */
  readonly defaultDailyCapNano: bigint | null;
  readonly nodeId: string;
}

export interface BillingStore extends DeadHoldStore {
  /** One answer a hold, in the same order. All or nothing: an error admits none. */
  admitHolds(holds: readonly Hold[], terms: AdmissionTerms): Promise<Admission[]>;
  /**
   * One answer an outcome, in the same order: what is left of the account after the whole batch. Of several outcomes of
   * one call the first counts.
   */
  endCalls(outcomes: readonly CallOutcome[], today: string): Promise<EndedCall[]>;
  releaseHolds(holds: readonly Pick<Hold, 'accountId' | 'callId'>[]): Promise<void>;
}

export function createBillingStore(database: Queryable): BillingStore {
  return {
    async admitHolds(holds, terms) {
      const rows = await database.query<{ verdict: AdmissionVerdict; available_nano: bigint | null }>(admitHolds, [
        toArray(holds.map((hold) => hold.accountId)),
        toArray(holds.map((hold) => hold.callId)),
        toArray(holds.map((hold) => hold.amountNano)),
        toArray(holds.map((hold) => hold.keyId)),
        toArray(holds.map((hold) => hold.model)),
        toArray(holds.map((hold) => toTimestamp(hold.heldAtMs))),
        terms.today,
        terms.defaultDailyCapNano,
        terms.nodeId,
        toArray(holds.map((hold) => hold.facts)),
      ]);
      return rows.map((row) => ({ verdict: row.verdict, availableNano: row.available_nano }));
    },
    async endCalls(outcomes, today) {
      const { distinct, places } = distinctCalls(outcomes);
      const priceLists = [...new Set(distinct.map((o) => o.price.prices))];
      const column = (read: (outcome: CallOutcome) => string | number | bigint | boolean | null): string =>
        toArray(distinct.map(read));
      const rows = await database.query<{ available_nano: bigint | null }>(endCalls, [
        column((o) => o.accountId),
        column((o) => o.callId),
        column((o) => o.chargeNano),
        column((o) => toTimestamp(o.startedAtMs)),
        column((o) => toTimestamp(o.endedAtMs)),
        column((o) => o.keyId),
        column((o) => o.context),
        column((o) => o.operation),
        column((o) => o.model),
        column((o) => o.provider),
        column((o) => o.providerModel),
        column((o) => o.isStream),
        column((o) => o.status),
        column((o) => o.httpStatus),
        column((o) => o.errorCode),
        column((o) => o.requestId),
        column((o) => o.firstByteMs),
        column((o) => o.usage?.source ?? null),
        column((o) => o.usage?.inputTokens ?? 0),
        column((o) => o.usage?.cachedInputTokens ?? 0),
        column((o) => o.usage?.cacheWriteTokens ?? 0),
        column((o) => o.usage?.cacheWrite1hTokens ?? 0),
        column((o) => o.usage?.imageInputTokens ?? 0),
        column((o) => o.usage?.outputTokens ?? 0),
        column((o) => o.usage?.reasoningTokens ?? 0),
        column((o) => o.usage?.imageOutputTokens ?? 0),
        column((o) => countImages(o.usage)),
        column((o) => o.usage?.searchUnits ?? 0),
        column((o) => o.price.rule),
        column((o) => priceLists.indexOf(o.price.prices) + 1),
        today,
        column((o) => (o.failedRoutes.length === 0 ? null : JSON.stringify(o.failedRoutes))),
        toArray(priceLists.map(pricesText)),
        column((o) => (o.notes === undefined ? null : JSON.stringify(o.notes))),
      ]);
      return places.map((place) => ({ availableNano: rows[place]!.available_nano }));
    },
    async releaseHolds(holds) {
      const accountIds = toArray(holds.map((hold) => hold.accountId));
      await database.query(awaitBalances, [accountIds]);
      await database.query(releaseHolds, [accountIds, toArray(holds.map((hold) => hold.callId))]);
    },
    ...createDeadHoldStore(database),
  };
}

/** Each call once, by its first outcome, and for each outcome the place of its call among these. */
function distinctCalls(outcomes: readonly CallOutcome[]): { distinct: CallOutcome[]; places: number[] } {
  const distinct: CallOutcome[] = [];
  const placeOf = new Map<string, number>();
  const places = outcomes.map((outcome) => {
    const call = `${outcome.accountId} ${outcome.callId}`;
    let place = placeOf.get(call);
    if (place === undefined) {
      place = distinct.push(outcome) - 1;
      placeOf.set(call, place);
    }
    return place;
  });
  return { distinct, places };
}

function countImages(usage: Usage | null): number {
  return usage === null ? 0 : usage.images.reduce((sum, { count }) => sum + count, 0);
}

/** Price lists belong to the configuration and recur in every call, so their text is kept as long as they live. */
const priceTexts = new WeakMap<UnitPrices, string>();

function pricesText(prices: UnitPrices): string {
  let text = priceTexts.get(prices);
  if (text === undefined) {
    text = JSON.stringify(prices, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
    priceTexts.set(prices, text);
  }
  return text;
}

let keptSecond = Number.NaN;
let keptSecondText = '';

/** As `toISOString` has it, which shows in a profile: every call has three, and most are of one second. */
function toTimestamp(epochMs: number): string {
  const second = Math.floor(epochMs / 1_000);
  if (second !== keptSecond) {
    keptSecond = second;
    keptSecondText = new Date(epochMs).toISOString().slice(0, -'000Z'.length);
  }
  return `${keptSecondText}${String(epochMs - second * 1_000).padStart(3, '0')}Z`;
}
