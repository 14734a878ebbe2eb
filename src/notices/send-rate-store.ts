import { columnsOf, toTimestamp } from '../db/columns.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { decideSend, type SendRate } from './send-rates.ts';

/** This file counts sends. The counts are stored, so restarts and more nodes do not raise the limit. */

/** Locks all rows in a fixed order, and creates missing ones. */
const lockRates: Statement = {
  name: 'send-rates.lock',
  text: `insert into send_rates as r (subject, repaid_at)
select subject, '1970-01-01T00:00:00Z' from unnest($1::text[]) as v (subject) order by subject
on conflict (subject) do update set repaid_at = r.repaid_at
returning subject, repaid_at`,
};

const setRates: Statement = {
  name: 'send-rates.set',
  text: `update send_rates r set repaid_at = v.repaid_at
from unnest($1::text[], $2::timestamptz[]) as v (subject, repaid_at) where r.subject = v.subject`,
};

/** Deletes old rows, more than one count adds. Uses send_rates_by_repaid_at. */
const forgetRepaid: Statement = {
  name: 'send-rates.forget',
  text: `delete from send_rates where subject in (
  select subject from send_rates where repaid_at < $1 order by repaid_at limit 10 for update skip locked
)`,
};

/** Counts a send and returns 0 if it is allowed. Otherwise counts nothing and returns the milliseconds to wait. */
export async function countSend(
  transaction: DirectoryQueryable,
  rates: readonly SendRate[],
  at: Date,
): Promise<number> {
  const subjects = rates.map(({ subject }) => subject);
  const rows = await transaction.query<{ subject: string; repaid_at: Date }>(lockRates, [toArray(subjects)]);
  const decision = decideSend(
    rates,
    new Map(rows.map(({ subject, repaid_at }) => [subject, repaid_at.getTime()])),
    at.getTime(),
  );
  if ('waitMs' in decision) return decision.waitMs;
  const debts = rates.map(({ subject }, i) => ({ subject, repaidAtMs: decision.repaidAtMs[i]! }));
  await transaction.query(
    setRates,
    columnsOf(
      debts,
      ({ subject }) => subject,
      ({ repaidAtMs }) => toTimestamp(repaidAtMs),
    ),
  );
  await transaction.query(forgetRepaid, [at]);
  return 0;
}

type CountSend = (rates: readonly SendRate[], at: Date) => Promise<number>;

export function createCountSend(database: DirectoryPool): CountSend {
  return (rates, at) => database.transaction((transaction) => countSend(transaction, rates, at));
}
