import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryQueryable } from '../../db/home-pools.ts';
import { countColumn, intColumn, type RowOf, selection, textColumn } from '../../db/table.ts';
import type { UseCounts } from './limited-use.ts';

const USES = selection({
  nodeId: textColumn('node_id'),
  /** `LimitedUse.id` */
  subject: textColumn('subject'),
  requests: countColumn('requests'),
  tokens: countColumn('tokens'),
  inFlight: intColumn('in_flight'),
});
export type UseElsewhere = RowOf<typeof USES>;

/** How long the calls in flight of a process count after it last wrote them. It writes every second. */
const LIVE_SECONDS = 15;

/**
 * Writes what this process has used, and returns what others have. Deletes the rows of processes that ended long ago. Uses the primary key;
 * the table has one row for each process and limited subject.
 */
const exchangeUses: Statement = {
  name: 'limit-uses.exchange',
  text: `with own as (
  insert into limit_uses as u (node_id, subject, requests, tokens, in_flight, seen_at)
  select $1::text, n.*, clock_timestamp()
  from unnest($2::text[], $3::bigint[], $4::bigint[], $5::int[]) as n (subject, requests, tokens, in_flight)
  on conflict (node_id, subject) do update
  set requests = excluded.requests, tokens = excluded.tokens, in_flight = excluded.in_flight, seen_at = excluded.seen_at
),
gone as (delete from limit_uses where seen_at < clock_timestamp() - interval '1 hour')
select ${USES.list} from limit_uses
where node_id <> $1 and subject = any($2) and seen_at > clock_timestamp() - interval '${LIVE_SECONDS} seconds'`,
};

const deleteUses: Statement = { name: 'limit-uses.delete', text: 'delete from limit_uses where node_id = $1::text' };

export interface OwnUse extends UseCounts {
  readonly id: string;
}

export type UseStore = ReturnType<typeof createUseStore>;

export function createUseStore(directory: DirectoryQueryable) {
  return {
    async exchange(nodeId: string, own: readonly OwnUse[]): Promise<UseElsewhere[]> {
      const rows = await directory.query(exchangeUses, [
        nodeId,
        toArray(own.map(({ id }) => id)),
        toArray(own.map(({ requests }) => String(requests))),
        toArray(own.map(({ tokens }) => String(tokens))),
        toArray(own.map(({ inFlight }) => String(inFlight))),
      ]);
      return USES.all(rows);
    },
    /** Called when this process stops. */
    async leave(nodeId: string): Promise<void> {
      await directory.query(deleteUses, [nodeId]);
    },
  };
}
