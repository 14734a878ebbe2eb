import { type Statement, toArray } from '../../db/database.ts';
import { deleteInBatches, rowsBefore } from '../../db/expired-rows-store.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { bigintColumn, type RowOf, selection, textColumn } from '../../db/table.ts';
import { DAY_OF_CALL } from './rollup-columns.ts';

/**
 * This file sums what calls cost the operator by route and day, for budgets of providers, routes and credentials. The statements of
 * `rollup-store.ts` contain the sum, so each call is summed exactly once. Calls over routes without cost prices add nothing.
 */

const KEY = 'day, model, provider, provider_model, credential';

/** SQL: adds the costs of final calls `final_calls`. The billing time zone is $1. */
export const ADD_COSTS = `costs as (
  insert into route_costs as t (${KEY}, cost_nano)
  select ${DAY_OF_CALL} as day, c.model, c.provider, c.provider_model, coalesce(c.notes ->> 'credential', '') as credential,
    sum(c.cost_nano)::bigint
  from final_calls c where c.cost_nano > 0
  group by ${KEY} order by ${KEY}
  on conflict (${KEY}) do update set cost_nano = t.cost_nano + excluded.cost_nano
)`;

const COSTS = selection({
  model: textColumn('model'),
  provider: textColumn('provider'),
  providerModel: textColumn('provider_model'),
  /** `CallNotes.credential`; empty: its cost is not limited. */
  credential: textColumn('credential'),
  dayNano: bigintColumn('coalesce(sum(cost_nano) filter (where day = $1::date), 0)::bigint as day_nano'),
  monthNano: bigintColumn('sum(cost_nano)::bigint as month_nano'),
});
export type RouteCosts = RowOf<typeof COSTS>;

/** Sums the costs of a day and of its month, by route and credential, for some providers. Uses the primary key. */
const sumCosts: Statement = {
  name: 'route-costs.sum',
  text: `select ${COSTS.list}
from route_costs
where day >= date_trunc('month', $1::date)::date and day <= $1::date and provider = any($2::text[])
group by model, provider, provider_model, credential`,
};

/** Longer than any month, so that a change of the billing time zone misses nothing. */
export const ROUTE_COSTS_KEPT_DAYS = 62;

const deleteCosts = rowsBefore('route-costs.delete-before', 'route_costs', 'day', 'date');

export type RouteCostStore = ReturnType<typeof createRouteCostStore>;

export function createRouteCostStore(partition: PartitionPool) {
  return {
    /** @param day `YYYY-MM-DD` in the billing time zone */
    sum: async (day: string, providers: readonly string[]): Promise<RouteCosts[]> =>
      COSTS.all(await partition.query(sumCosts, [day, toArray(providers)])),
    /** Deletes old sums in batches. After an abort, stops at the end of the current batch. */
    deleteBefore: (instantMs: number, signal: AbortSignal): Promise<void> =>
      deleteInBatches(partition, deleteCosts, new Date(instantMs).toISOString().slice(0, 10), signal),
  };
}
