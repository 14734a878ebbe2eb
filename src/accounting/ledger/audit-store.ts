import type { Database, Statement } from '../../db/database.ts';

/** One invariant of the ledger, as a statement that finds what breaks it. */
interface Invariant {
  readonly name: string;
  /** Rows of `(account_id, detail)`: each is a breach. */
  readonly breaches: Statement;
}

export interface Breach {
  readonly accountId: string;
  readonly detail: string;
}

export interface InvariantResult {
  readonly invariant: string;
  readonly breaches: readonly Breach[];
}

/** The most breaches that are listed of an invariant. */
const BREACHES_MAX = 100;

/** `id` names the statement. */
function invariant(id: string, name: string, text: string): Invariant {
  return { name, breaches: { name: `audit.${id}`, text: `${text} limit ${BREACHES_MAX}` } };
}

const invariants: readonly Invariant[] = [
  invariant(
    'balance-sum',
    'the balance is the sum of the ledger entries',
    `select b.account_id, 'balance ' || b.balance_nano || ', entries ' || coalesce(sum(e.amount_nano), 0) as detail
from balances b left join ledger_entries e using (account_id)
group by b.account_id, b.balance_nano having b.balance_nano <> coalesce(sum(e.amount_nano), 0)`,
  ),
  invariant(
    'reserved-sum',
    'reserved money is the sum of the open reservations',
    `select b.account_id, 'reserved ' || b.reserved_nano || ', reservations ' || coalesce(sum(r.amount_nano), 0) as detail
from balances b left join reservations r using (account_id)
group by b.account_id, b.reserved_nano having b.reserved_nano <> coalesce(sum(r.amount_nano), 0)`,
  ),
  invariant(
    'entry-chain',
    'entries are numbered without gaps and carry the balance forward',
    `select account_id, 'entry ' || entry_no as detail from (
  select account_id, entry_no, amount_nano, balance_after_nano,
    coalesce(lag(balance_after_nano) over each, 0) as balance_before_nano, row_number() over each as expected_no
  from ledger_entries window each as (partition by account_id order by entry_no)
) entry
where entry_no <> expected_no or balance_after_nano <> balance_before_nano + amount_nano`,
  ),
  invariant(
    'last-entry',
    'the last entry number of a balance is that of its ledger',
    `select b.account_id, 'last ' || b.last_entry_no || ', ledger ' || coalesce(max(e.entry_no), 0) as detail
from balances b left join ledger_entries e using (account_id)
group by b.account_id, b.last_entry_no having b.last_entry_no <> coalesce(max(e.entry_no), 0)`,
  ),
  invariant(
    'settled-calls',
    'every settled call has its entry with its charge',
    `select c.account_id, 'call ' || c.id as detail
from calls c left join ledger_entries e on e.account_id = c.account_id and e.call_id = c.id and e.kind = 'charge'
where c.charge_nano is not null and e.amount_nano is distinct from -c.charge_nano`,
  ),
  invariant(
    'charge-calls',
    'no charge without its call',
    `select e.account_id, 'entry ' || e.entry_no || ' of call ' || e.call_id as detail
from ledger_entries e left join calls c on c.account_id = e.account_id and c.id = e.call_id
where e.kind = 'charge' and c.charge_nano is null`,
  ),
  invariant(
    'unresolved-charges',
    'an unresolved call has no charge, a resolved one none above what it had reserved, which no other record has',
    `select account_id, 'call ' || id as detail from calls
where case status when 'unresolved' then charge_nano is not null when 'resolved' then charge_nano > coalesce(reserved_nano, 0)
  else reserved_nano is not null end`,
  ),
  invariant(
    'refunds',
    'refunds are of a charged call of their account, and never more than its charge',
    `select r.account_id, 'call ' || r.call_id || ' refunded ' || r.refunded_nano || ', charge ' || coalesce(max(c.charge_nano), 0) as detail
from (
  select account_id, call_id, sum(amount_nano) as refunded_nano, min(amount_nano) as least_nano
  from ledger_entries where kind = 'refund' group by account_id, call_id
) r
left join calls c on c.account_id = r.account_id and c.id = r.call_id
group by r.account_id, r.call_id, r.refunded_nano, r.least_nano
having r.least_nano <= 0 or r.refunded_nano > coalesce(max(c.charge_nano), 0)`,
  ),
  invariant(
    'recorded-prices',
    'the price list of every call record is there',
    `select c.account_id, 'call ' || c.id as detail
from calls c left join price_lists l on l.id = c.price_list
where c.price_list is not null and l.id is null`,
  ),
  invariant(
    'plan-in-flight',
    'a subscription counts its coding calls in flight',
    `select s.account_id, s.id || ' counts ' || s.in_flight || ', reservations ' || count(r.call_id) as detail
from subscriptions s left join reservations r on r.account_id = s.account_id and r.subscription_id = s.id
group by s.account_id, s.id, s.in_flight having s.in_flight <> count(r.call_id)`,
  ),
  invariant(
    'plan-reserved-tokens',
    'a subscription counts the tokens that calls in flight have reserved in its period',
    `select s.account_id,
  s.id || ' counts ' || s.period_reserved_tokens || ', reservations ' || coalesce(sum(r.tokens), 0) as detail
from subscriptions s
left join reservations r on r.account_id = s.account_id and r.subscription_id = s.id and r.period_no = s.period_no
group by s.account_id, s.id, s.period_reserved_tokens having s.period_reserved_tokens <> coalesce(sum(r.tokens), 0)`,
  ),
  invariant(
    'plan-slots',
    'a subscription counts the slots of its five-hour window',
    `select s.account_id, s.id || ' counts ' || s.slots || ', slots ' || count(p.call_id) as detail
from subscriptions s left join plan_slots p on p.account_id = s.account_id and p.subscription_id = s.id
group by s.account_id, s.id, s.slots having s.slots <> count(p.call_id)`,
  ),
  invariant(
    'key-in-flight',
    'a limited key counts its calls in flight and what they have reserved',
    `select l.account_id, l.key_id || ' counts ' || l.in_flight || ', reservations ' || count(r.call_id) as detail
from key_limits l
left join reservations r on r.account_id = l.account_id and r.key_id = l.key_id and r.key_day is not null
group by l.account_id, l.key_id, l.in_flight, l.reserved_nano
having l.in_flight <> count(r.call_id) or l.reserved_nano <> coalesce(sum(r.key_amount_nano), 0)`,
  ),
  invariant(
    'key-budgets',
    'what a limited key spent in a day is part of its week and its month, and these of what it spent in all',
    `select account_id, key_id || ' counts ' || spent_nano || ', ' || week_spent_nano || ' in its week, ' || month_spent_nano ||
  ' in its month, ' || total_spent_nano || ' in all' as detail
from key_limits
where spent_nano > least(week_spent_nano, month_spent_nano) or greatest(week_spent_nano, month_spent_nano) > total_spent_nano`,
  ),
  invariant(
    'coding-charges',
    'a coding call has no charge',
    `select account_id, 'call ' || id as detail from calls where context = 'coding' and charge_nano is not null`,
  ),
  invariant(
    'ended-reservations',
    'an ended call has nothing reserved',
    `select r.account_id, 'call ' || r.call_id as detail
from reservations r join calls c on c.account_id = r.account_id and c.id = r.call_id where true`,
  ),
];

/** Checks every invariant on the whole database. The books are sound where no invariant has a breach. */
export function auditLedger(database: Pick<Database, 'readTables'>): Promise<InvariantResult[]> {
  return database.readTables(async (reader) => {
    const results: InvariantResult[] = [];
    for (const { name, breaches } of invariants) {
      const rows = await reader.query<{ account_id: string; detail: string }>(breaches);
      results.push({
        invariant: name,
        breaches: rows.map((row) => ({ accountId: row.account_id, detail: row.detail })),
      });
    }
    return results;
  });
}
