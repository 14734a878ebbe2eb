import { fieldsOf } from '../../db/columns.ts';
import { type Statement, type StoredRow, toArray } from '../../db/database.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { bigintColumn, countColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../../db/table.ts';
import type { RecordedCaller } from '../accounts/recording.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';
import { newestFirst, ofEachPartition } from '../partitions/routes.ts';
import { CALLER_FACT, readFacts } from './reservation.ts';

const IN_FLIGHT = selection({
  id: textColumn('call_id'),
  accountId: textColumn('account_id'),
  keyId: textColumn('key_id'),
  model: textColumn('model'),
  nodeId: textColumn('node_id'),
  reservedAt: dateColumn('reserved_at'),
  /** Money that the call has reserved; `null` for a call on a plan. */
  reservedNano: orNull(bigintColumn('amount_nano')),
  /** Tokens of the plan's quota that the call has reserved; `null` for a call on a balance. */
  reservedTokens: orNull(countColumn('tokens')),
  subscriptionId: orNull(textColumn('subscription_id')),
  /** Other facts about the call. In a reservation of another gateway version, some of them may be missing. */
  facts: selection({ text: textColumn('facts') }).to(({ text }) => readFacts(text)),
});

const NAMES = selection({
  accountName: textColumn('a.name as account_name'),
  /** Name of the key; `null`: the key was deleted. */
  keyName: orNull(textColumn('k.name as key_name')),
});

export type InFlightCall = RowOf<typeof IN_FLIGHT> & RowOf<typeof NAMES>;

interface InFlightFilter {
  readonly accountId: string | null;
  readonly keyId: string | null;
  readonly ownKeyIds?: readonly string[] | null | undefined;
  readonly model: string | null;
  readonly caller?: RecordedCaller | null | undefined;
  readonly from: Date | null;
  readonly to: Date | null;
}

/** Selects calls in flight, newest first, because ids sort by time. Scans all reservations, or those of one account. */
const listInFlight: Statement = {
  name: 'in-flight.list',
  text: `select ${IN_FLIGHT.list} from reservations
where ($1::text is null or account_id = $1) and ($2::text is null or key_id = $2) and ($3::text is null or model = $3)
  and ($4::timestamptz is null or reserved_at >= $4) and ($5::timestamptz is null or reserved_at < $5)
  and ($6::text is null or call_id < $6) and ($8::text[] is null or key_id = any ($8::text[]))
  and ($9::jsonb is null or (facts::jsonb -> ${CALLER_FACT}) @> $9::jsonb)
order by call_id desc limit $7::int`,
};

const selectNames: Statement = {
  name: 'in-flight.select-names',
  text: `select v.position, ${NAMES.list}
from unnest($1::text[], $2::text[]) with ordinality as v (account_id, key_id, position)
join accounts a on a.id = v.account_id
left join api_keys k on k.account_id = v.account_id and k.id = v.key_id`,
};

export type InFlightStore = ReturnType<typeof createInFlightStore>;

export function createInFlightStore({ directory, partitions }: PlacedPools) {
  return {
    async list(filter: InFlightFilter, beforeId: string | null, limit: number): Promise<InFlightCall[]> {
      const { accountId, keyId, ownKeyIds = null, model, caller = null, from, to } = filter;
      const own = ownKeyIds === null ? null : toArray(ownKeyIds);
      const parameters = [accountId, keyId, model, from, to, beforeId, limit, own, caller && JSON.stringify(caller)];
      const read = async (partition: PartitionPool) => IN_FLIGHT.all(await partition.query(listInFlight, parameters));
      const calls =
        accountId === null
          ? newestFirst(await ofEachPartition(partitions, read), limit)
          : await read(await partitions.of(accountId));
      if (calls.length === 0) return [];
      const owners = fieldsOf(calls, 'accountId', 'keyId');
      const rows = await directory.query<StoredRow & { readonly position: bigint }>(selectNames, owners);
      const namesOf = new Map(rows.map((row) => [Number(row.position) - 1, NAMES.read(row)]));
      return calls.flatMap((call, i) => {
        const names = namesOf.get(i);
        return names === undefined ? [] : [{ ...call, ...names }];
      });
    },
  };
}
