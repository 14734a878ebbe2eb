import { measures, REFUND_COLUMN } from './measures.ts';

/** Columns of the usage sums. */

export const ROLLUP_KEY = [
  'account_id',
  'day',
  'key_id',
  'model',
  'provider',
  'status',
  'context',
  'group_id',
] as const;
export const TOTALS_KEY = ROLLUP_KEY.filter((name) => name !== 'account_id' && name !== 'key_id');
export const ROLLUP_SUMS = measures.map(({ column }) => column);

/** SQL: the day of a call's charge, on which the call ended or an operator resolved it. */
export const DAY_OF_CALL = `((case when c.status = 'resolved' then coalesce((c.notes -> 'resolution' ->> 'at')::timestamptz, c.ended_at)
    else c.ended_at end) at time zone $1::text)::date`;

/** SQL: keys and measures of the sums, from call records `c`. The billing time zone is $1. */
export const OF_CALLS = `c.account_id, ${DAY_OF_CALL} as day, c.key_id, c.model, c.provider, c.status,
    c.context, coalesce(c.group_id, '') as group_id, ${measures.map(({ column, ofCall }) => `${ofCall} as ${column}`).join(', ')}`;

/** SQL: the same columns as `OF_CALLS`, from a refund `e`. A refund belongs to the day of its ledger entry. */
export const OF_REFUNDS = `c.account_id, (e.created_at at time zone $1::text)::date, c.key_id, c.model, c.provider, c.status, c.context,
    coalesce(c.group_id, ''), ${measures.map(({ column }) => (column === REFUND_COLUMN ? 'e.amount_nano' : '0')).join(', ')}`;
