import { type Lane, type Statement, toArray } from '../../db/database.ts';
import { type CallFacts, readFacts } from './call-facts.ts';

/** The SQL of calls in flight as people see them, over all nodes: from their reservations. */

/** A call that has not ended. */
export interface InFlightCall {
  readonly id: string;
  readonly accountId: string;
  readonly accountName: string;
  readonly keyId: string;
  readonly keyName: string | null;
  readonly model: string;
  readonly nodeId: string;
  readonly reservedAt: Date;
  /** What it may cost; `null` on a plan. */
  readonly reservedNano: bigint | null;
  /** What it may use of the plan's quota; `null` on the balance. */
  readonly reservedTokens: number | null;
  readonly subscriptionId: string | null;
  /** What was known when it was admitted; a reservation that a node of another version has made may lack some of it. */
  readonly facts: Partial<CallFacts>;
}

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
  text: `select r.*, a.name as account_name, k.name as key_name
from (
  select account_id, call_id, key_id, model, node_id, reserved_at, amount_nano, tokens, subscription_id, facts
  from reservations
  where ($1::text is null or account_id = $1) and ($2::text is null or key_id = $2) and ($3::text is null or model = $3)
    and ($4::timestamptz is null or reserved_at >= $4) and ($5::timestamptz is null or reserved_at < $5)
    and ($6::text is null or call_id < $6) and ($8::text[] is null or key_id = any ($8::text[]))
  order by call_id desc limit $7::int
) r
join accounts a on a.id = r.account_id
left join api_keys k on k.account_id = r.account_id and k.id = r.key_id
order by r.call_id desc`,
};

interface InFlightRow {
  call_id: string;
  account_id: string;
  account_name: string;
  key_id: string;
  key_name: string | null;
  model: string;
  node_id: string;
  reserved_at: Date;
  amount_nano: bigint | null;
  tokens: bigint | null;
  subscription_id: string | null;
  facts: string;
}

export interface InFlightStore {
  list(filter: InFlightFilter, beforeId: string | null, limit: number): Promise<InFlightCall[]>;
}

export function createInFlightStore(database: Lane): InFlightStore {
  return {
    async list({ accountId, keyId, ownKeyIds = null, model, from, to }, beforeId, limit) {
      const own = ownKeyIds === null ? null : toArray(ownKeyIds);
      const parameters = [accountId, keyId, model, from, to, beforeId, limit, own];
      return (await database.query<InFlightRow>(listInFlight, parameters)).map(toInFlightCall);
    },
  };
}

function toInFlightCall(row: InFlightRow): InFlightCall {
  return {
    id: row.call_id,
    accountId: row.account_id,
    accountName: row.account_name,
    keyId: row.key_id,
    keyName: row.key_name,
    model: row.model,
    nodeId: row.node_id,
    reservedAt: row.reserved_at,
    reservedNano: row.amount_nano,
    reservedTokens: row.tokens === null ? null : Number(row.tokens),
    subscriptionId: row.subscription_id,
    facts: readFacts(row.facts),
  };
}
