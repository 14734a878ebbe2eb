import { OF_CALLS, OF_REFUNDS, ROLLUP_KEY, ROLLUP_SUMS } from './rollup-columns.ts';

/**
 * This file sums final calls by what their callers chose: end user, program and tags (`docs/decisions/0083-sums-by-caller.md`). The statements
 * of `rollup-store.ts` contain this SQL, so each call is summed exactly once. Calls without recorded callers add nothing.
 */

/** Maximum number of values of an account, a day and a kind. Further ones are summed as one value, the empty text. */
export const CALLER_VALUES_MAX = 200;

const CALLER_KEY = ['account_id', 'day', 'kind', 'value', ...ROLLUP_KEY.slice(2)];
const PLACE = ['account_id', 'day', 'kind'];

const onPlace = (left: string, right: string) =>
  PLACE.map((name) => `${left}.${name} = ${right}.${name}`).join(' and ');
const sums = (table: string) => ROLLUP_SUMS.map((name) => `sum(${table}.${name}) as ${name}`).join(', ');

/** SQL: kinds and values of a recorded caller `c.caller`. A call counts for each of its tags. */
const VALUES = `lateral (
    select 'endUser' as kind, c.caller ->> 'endUser' as value
    union all select 'program', c.caller ->> 'program'
    union all select distinct 'tag', tag from jsonb_array_elements_text(c.caller -> 'tags') tag
  ) v`;

/** SQL: the sums of final calls `final_calls`, by caller. The billing time zone is $1. */
export const CALLS_BY_CALLER = `select v.kind, v.value, ${OF_CALLS}
  from final_calls c cross join ${VALUES} where c.caller is not null and v.value is not null`;

/** SQL: the same columns from refunds. `from` joins the refund `e` and the call `c`. */
export const refundsByCaller = (from: string): string => `select v.kind, v.value, ${OF_REFUNDS}
  ${from} cross join ${VALUES} where c.caller is not null and v.value is not null`;

/**
 * SQL: adds the rows `by_caller`. A value is new if its day has no sums of it; new values are kept in their order until the day has the maximum
 * number. The advisory lock of the sums makes the number exact. Uses the primary key of usage_callers.
 */
export const ADD_CALLERS = `caller_sums as materialized (
  select ${CALLER_KEY.join(', ')}, ${sums('b')} from by_caller b group by ${CALLER_KEY.join(', ')}
),
new_values as materialized (
  select distinct account_id, day, kind, value from caller_sums s
  where not exists (select from usage_callers t where ${onPlace('t', 's')} and t.value = s.value)
),
known_values as materialized (
  select n.account_id, n.day, n.kind, (
    select count(distinct t.value) from usage_callers t where ${onPlace('t', 'n')} and t.value <> ''
  ) as known
  from (select distinct account_id, day, kind from new_values) n
),
other_values as materialized (
  select account_id, day, kind, value from (
    select n.*, k.known + row_number() over (partition by ${PLACE.map((name) => `n.${name}`).join(', ')} order by n.value) as place
    from new_values n join known_values k on ${onPlace('k', 'n')}
  ) placed where place > ${CALLER_VALUES_MAX}
),
capped_sums as materialized (
  select s.account_id, s.day, s.kind, case when o.value is null then s.value else '' end as value,
    ${ROLLUP_KEY.slice(2)
      .map((name) => `s.${name}`)
      .join(', ')}, ${sums('s')}
  from caller_sums s left join other_values o on ${onPlace('o', 's')} and o.value = s.value
  group by 1, 2, 3, 4, ${ROLLUP_KEY.slice(2)
    .map((name) => `s.${name}`)
    .join(', ')}
),
added_callers as (
  insert into usage_callers as t (${[...CALLER_KEY, ...ROLLUP_SUMS].join(', ')})
  select ${[...CALLER_KEY, ...ROLLUP_SUMS].join(', ')} from capped_sums order by ${CALLER_KEY.join(', ')}
  on conflict (${CALLER_KEY.join(', ')}) do update set
    ${ROLLUP_SUMS.map((name) => `${name} = t.${name} + excluded.${name}`).join(', ')}
)`;
