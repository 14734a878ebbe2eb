import { type Database, type Queryable, type Statement, toArray } from '../db/database.ts';
import type { HeldCall } from '../lib/two-phase.ts';
import { IS_OF_DEAD_NODE } from '../nodes/dead.ts';

/**
 * The SQL of limited keys. Each batch is a transaction of two statements: the first locks the rows of its keys in the order
 * of their ids, the second decides on what they say then.
 */

/** What a key may use; `null` is not limited. */
export interface KeyLimits {
  readonly dailySpendCapNano: bigint | null;
  readonly dailyCallsMax: number | null;
  readonly concurrencyMax: number | null;
}

/** Limits to set; what is absent stays as it is. */
export type KeyLimitChange = { readonly [Limit in keyof KeyLimits]?: KeyLimits[Limit] | undefined };

/** A call of a limited key that asks to be let through. */
export interface LimitedCall extends HeldCall {
  readonly keyId: string;
  /** What it may cost; `null` where it costs no money, so that the cap of spending does not matter. */
  readonly amountNano: bigint | null;
}

/** The end of a call of a limited key. */
export interface EndedLimitedCall extends HeldCall {
  /** Whether its success had begun. */
  readonly counts: boolean;
  readonly chargeNano: bigint;
}

/** What a limited key is answered, in the order of the checks. */
export type LimitVerdict = 'admitted' | 'spend_limited' | 'calls_limited' | 'concurrency_limited';

/** Plan: primary key. */
const lockKeys: Statement = {
  name: 'key-limits.lock',
  text: `select from key_limits join unnest($1::text[], $2::text[]) as k (account_id, key_id) using (account_id, key_id)
order by account_id, key_id for update of key_limits`,
};

/** As `lockKeys`, of the keys that calls in flight belong to. */
const lockKeysOfCalls: Statement = {
  name: 'key-limits.lock-of-calls',
  text: `select from key_limits join (
  select distinct account_id, key_id
  from key_holds join unnest($1::text[], $2::text[]) as c (account_id, call_id) using (account_id, call_id)
) k using (account_id, key_id)
order by account_id, key_id for update of key_limits`,
};

/**
 * As `lockKeys`, of all limited keys of the accounts: waits for an admission that may be under way in the server, whose
 * holds nobody can see yet.
 */
const lockKeysOfAccounts: Statement = {
  name: 'key-limits.lock-of-accounts',
  text: 'select from key_limits where account_id = any ($1::text[]) order by account_id, key_id for update',
};

/**
 * Admits a batch. As with the balance, a call is measured against what is left after all calls of its key before it, so
 * what is admitted is a prefix in order of arrival, and why a call is refused follows from what was really admitted. Two
 * prefixes, because calls that cost no money pass by those that the cap of spending stopped.
 *
 * A day is never taken back: where the clock of another node is ahead, its day is the one that counts.
 *
 * Plan: key_limits by primary key, inserts.
 */
const admitCalls: Statement = {
  name: 'key-limits.admit',
  text: `with request as (
  select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
    with ordinality as r (account_id, key_id, call_id, amount_nano, position)
),
ranked as (
  select request.*, coalesce(sum(amount_nano) over ahead, 0) as ahead_nano
  from request
  window ahead as (partition by account_id, key_id order by position rows between unbounded preceding and 1 preceding)
),
judged as (
  select ranked.*, greatest(l.day, $5::date) as day,
    l.daily_spend_cap_nano - l.held_nano - case when l.day >= $5::date then l.spent_nano else 0 end as cap_left_nano,
    l.daily_calls_max - case when l.day >= $5::date then l.calls else 0 end as calls_left,
    l.concurrency_max - l.in_flight as concurrency_left
  from ranked left join key_limits l using (account_id, key_id)
),
paying as (
  select judged.*, coalesce(amount_nano is null or ahead_nano < cap_left_nano, true) as is_within_cap from judged
),
queued as (
  select paying.*, count(*) filter (where is_within_cap) over ahead as calls_ahead
  from paying
  window ahead as (partition by account_id, key_id order by position rows between unbounded preceding and 1 preceding)
),
fitting as (
  select queued.*, is_within_cap and coalesce(calls_ahead < calls_left, true)
      and coalesce(calls_ahead < concurrency_left, true) as fits
  from queued
),
counted as (
  select fitting.*, count(*) filter (where fits) over each as admitted,
    coalesce(sum(amount_nano) filter (where fits) over each, 0) as admitted_nano
  from fitting window each as (partition by account_id, key_id)
),
decided as (
  select counted.*, case
      when fits then 'admitted'
      when amount_nano is not null and cap_left_nano - admitted_nano <= 0 then 'spend_limited'
      when calls_left - admitted <= 0 then 'calls_limited'
      else 'concurrency_limited'
    end as verdict
  from counted
),
held as (
  insert into key_holds (account_id, call_id, key_id, amount_nano, day, node_id, held_at)
  select account_id, call_id, key_id, coalesce(amount_nano, 0), day, $6::text, $7::timestamptz
  from decided where verdict = 'admitted'
),
moved as (
  update key_limits l set
    spent_nano = case when l.day >= $5::date then l.spent_nano else 0 end,
    calls = case when l.day >= $5::date then l.calls else 0 end + taken.calls,
    day = greatest(l.day, $5::date),
    held_nano = l.held_nano + taken.amount_nano,
    in_flight = l.in_flight + taken.calls
  from (
    select account_id, key_id, count(*) as calls, coalesce(sum(amount_nano), 0)::bigint as amount_nano
    from decided where verdict = 'admitted' group by account_id, key_id
  ) taken
  where l.account_id = taken.account_id and l.key_id = taken.key_id
)
select verdict from decided order by position`,
};

/**
 * Ends a batch. A call that does not count gives its place in the day back; a charge counts on the day on which it is
 * made. Safe to repeat: a hold that is gone changes nothing.
 *
 * Plan: key_holds and key_limits by primary key.
 */
const endCalls: Statement = {
  name: 'key-limits.end',
  text: `with ended as (
  select * from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[]) as e (account_id, call_id, counts, charge_nano)
),
freed as (
  delete from key_holds using ended
  where key_holds.account_id = ended.account_id and key_holds.call_id = ended.call_id
  returning key_holds.account_id, key_holds.key_id, key_holds.amount_nano, key_holds.day, ended.counts, ended.charge_nano
),
change as (
  select l.account_id, l.key_id, count(*) as in_flight, sum(freed.amount_nano)::bigint as held_nano,
    count(*) filter (where not freed.counts and freed.day = l.day and l.day >= $5::date) as calls,
    sum(freed.charge_nano)::bigint as spent_nano
  from freed join key_limits l using (account_id, key_id)
  group by l.account_id, l.key_id
)
update key_limits l set
  in_flight = l.in_flight - change.in_flight,
  held_nano = l.held_nano - change.held_nano,
  calls = case when l.day >= $5::date then l.calls else 0 end - change.calls,
  spent_nano = case when l.day >= $5::date then l.spent_nano else 0 end + change.spent_nano,
  day = greatest(l.day, $5::date)
from change
where l.account_id = change.account_id and l.key_id = change.key_id`,
};

/** As many rows as there are calls of limited keys in flight: key_holds and nodes by sequence. */
const listDeadHolds: Statement = {
  name: 'key-limits.list-dead-holds',
  text: `select account_id, call_id from key_holds h
where ${IS_OF_DEAD_NODE}
order by account_id, call_id limit $3::int`,
};

/** Sets the limits that are named, in one statement, so that two changes of different limits both hold. */
const changeLimits: Statement = {
  name: 'key-limits.change',
  text: `insert into key_limits as l (account_id, key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max)
values ($1, $2, $3::bigint, $4::bigint, $5::bigint)
on conflict (account_id, key_id) do update set
  daily_spend_cap_nano = case when $6::boolean then excluded.daily_spend_cap_nano else l.daily_spend_cap_nano end,
  daily_calls_max = case when $7::boolean then excluded.daily_calls_max else l.daily_calls_max end,
  concurrency_max = case when $8::boolean then excluded.concurrency_max else l.concurrency_max end
returning key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max`,
};

/** By primary key, for the keys of one account. */
const selectLimits: Statement = {
  name: 'key-limits.select',
  text: `select key_id, daily_spend_cap_nano, daily_calls_max, concurrency_max from key_limits
where account_id = $1 and key_id = any ($2::text[])`,
};

interface LimitsRow {
  key_id: string;
  daily_spend_cap_nano: bigint | null;
  daily_calls_max: bigint | null;
  concurrency_max: bigint | null;
}

export interface LimitTerms {
  /** The billing time zone's date, `YYYY-MM-DD`. */
  readonly today: string;
  readonly now: Date;
  readonly nodeId: string;
}

export interface KeyLimitStore {
  admitCalls(calls: readonly LimitedCall[], terms: LimitTerms): Promise<LimitVerdict[]>;
  endCalls(calls: readonly EndedLimitedCall[], today: string): Promise<void>;
  /** Gives back what calls hold that did not run, or of which nobody knows whether they were ever admitted. */
  releaseCalls(calls: readonly HeldCall[], today: string): Promise<void>;
  /** Calls of nodes other than this one that were not heard for so long; the first `limit` of them. */
  listDeadHolds(selfId: string, deadAfterMs: number, limit: number): Promise<HeldCall[]>;
  /** Sets the limits that the change names, and answers all of them. */
  change(accountId: string, keyId: string, change: KeyLimitChange): Promise<KeyLimits>;
  /** The limits of those keys that have any. */
  find(accountId: string, keyIds: readonly string[]): Promise<ReadonlyMap<string, KeyLimits>>;
}

export function createKeyLimitStore(database: Database): KeyLimitStore {
  async function end(transaction: Queryable, calls: readonly EndedLimitedCall[], today: string): Promise<void> {
    await transaction.query(endCalls, [
      toArray(calls.map((call) => call.accountId)),
      toArray(calls.map((call) => call.callId)),
      toArray(calls.map((call) => call.counts)),
      toArray(calls.map((call) => call.chargeNano)),
      today,
    ]);
  }

  return {
    admitCalls(calls, { today, now, nodeId }) {
      const accountIds = toArray(calls.map((call) => call.accountId));
      const keyIds = toArray(calls.map((call) => call.keyId));
      return database.transaction(async (transaction) => {
        await transaction.query(lockKeys, [accountIds, keyIds]);
        const rows = await transaction.query<{ verdict: LimitVerdict }>(admitCalls, [
          accountIds,
          keyIds,
          toArray(calls.map((call) => call.callId)),
          toArray(calls.map((call) => call.amountNano)),
          today,
          nodeId,
          now,
        ]);
        return rows.map(({ verdict }) => verdict);
      });
    },
    endCalls: (calls, today) =>
      database.transaction(async (transaction) => {
        const accountIds = toArray(calls.map((call) => call.accountId));
        await transaction.query(lockKeysOfCalls, [accountIds, toArray(calls.map((call) => call.callId))]);
        await end(transaction, calls, today);
      }),
    releaseCalls: (calls, today) =>
      database.transaction(async (transaction) => {
        await transaction.query(lockKeysOfAccounts, [toArray(calls.map((call) => call.accountId))]);
        const given = calls.map((call) => ({ ...call, counts: false, chargeNano: 0n }));
        await end(transaction, given, today);
      }),
    async listDeadHolds(selfId, deadAfterMs, limit) {
      const parameters = [selfId, deadAfterMs, limit];
      const rows = await database.query<{ account_id: string; call_id: string }>(listDeadHolds, parameters);
      return rows.map((row) => ({ accountId: row.account_id, callId: row.call_id }));
    },
    async change(accountId, keyId, { dailySpendCapNano, dailyCallsMax, concurrencyMax }) {
      const values = [dailySpendCapNano, dailyCallsMax, concurrencyMax];
      const [row] = await database.query<LimitsRow>(changeLimits, [
        accountId,
        keyId,
        ...values.map((value) => value ?? null),
        ...values.map((value) => value !== undefined),
      ]);
      return toLimits(row!);
    },
    async find(accountId, keyIds) {
      const rows = await database.query<LimitsRow>(selectLimits, [accountId, toArray(keyIds)]);
      return new Map(rows.map((row) => [row.key_id, toLimits(row)]));
    },
  };
}

function toLimits(row: LimitsRow): KeyLimits {
  return {
    dailySpendCapNano: row.daily_spend_cap_nano,
    dailyCallsMax: row.daily_calls_max === null ? null : Number(row.daily_calls_max),
    concurrencyMax: row.concurrency_max === null ? null : Number(row.concurrency_max),
  };
}
