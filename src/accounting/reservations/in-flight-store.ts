import { type Lane, type Statement, toArray } from '../../db/database.ts';
import { bigintColumn, countColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import { readFacts } from './reservation.ts';

/** The SQL of calls in flight as people see them, over all nodes: from their reservations. */

/** A call that has not ended. */
const IN_FLIGHT = selection({
  id: textColumn('r.call_id'),
  accountId: textColumn('r.account_id'),
  accountName: textColumn('a.name as account_name'),
  keyId: textColumn('r.key_id'),
  keyName: orNull(textColumn('k.name as key_name')),
  model: textColumn('r.model'),
  nodeId: textColumn('r.node_id'),
  reservedAt: dateColumn('r.reserved_at'),
  /** What it may cost; `null` on a plan. */
  reservedNano: orNull(bigintColumn('r.amount_nano')),
  /** What it may use of the plan's quota; `null` on the balance. */
  reservedTokens: orNull(countColumn('r.tokens')),
  subscriptionId: orNull(textColumn('r.subscription_id')),
  /** What was known when it was admitted; a reservation of another version may lack some of it. */
  facts: selection({ text: textColumn('r.facts') }).to(({ text }) => readFacts(text)),
});

export type InFlightCall = RowOf<typeof IN_FLIGHT>;

interface InFlightFilter {
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** Calls of these keys alone. */
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly from: Date | null;
  readonly to: Date | null;
}

/**
 * Newest first: ids sort by time. As many rows as there are calls in flight, which nodes bound: reservations by sequence, or by
 * primary key with an account. Plans of the names: primary keys, for the rows of a page.
 */
const listInFlight: Statement = {
  name: 'in-flight.list',
  text: `select ${IN_FLIGHT.list}
from (
  select * from reservations
  where ($1::text is null or account_id = $1) and ($2::text is null or key_id = $2) and ($3::text is null or model = $3)
    and ($4::timestamptz is null or reserved_at >= $4) and ($5::timestamptz is null or reserved_at < $5)
    and ($6::text is null or call_id < $6) and ($8::text[] is null or key_id = any ($8::text[]))
  order by call_id desc limit $7::int
) r
join accounts a on a.id = r.account_id
left join api_keys k on k.account_id = r.account_id and k.id = r.key_id
order by r.call_id desc`,
};

export interface InFlightStore {
  list(filter: InFlightFilter, beforeId: string | null, limit: number): Promise<InFlightCall[]>;
}

export function createInFlightStore(database: Lane): InFlightStore {
  return {
    async list({ accountId, keyId, ownKeyIds = null, model, from, to }, beforeId, limit) {
      const own = ownKeyIds === null ? null : toArray(ownKeyIds);
      const parameters = [accountId, keyId, model, from, to, beforeId, limit, own];
      return IN_FLIGHT.all(await database.query(listInFlight, parameters));
    },
  };
}
