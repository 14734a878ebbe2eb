import { type Statement, toArray } from '../database.ts';
import type { DirectoryQueryable } from '../home-pools.ts';
import { countColumn, orNull, type RowOf, selection } from '../table.ts';

/** Heartbeats of nodes. Their times are the database's, so wrong clocks of nodes do not matter. */

const HEARTBEATS = selection({
  /** Milliseconds since the node's last heartbeat; `null` if the node has no row. */
  sinceLastMs: orNull(
    countColumn(
      '(extract(epoch from n.seen_at - (select seen_at from nodes where id = $1::text)) * 1000)::bigint as since_last_ms',
    ),
  ),
  databaseMs: countColumn('(extract(epoch from n.seen_at) * 1000)::bigint as seen_at_ms'),
  /** Number of partitions. The first heartbeat waits for a partition that is being added, so it counts this one too. */
  partitions: countColumn('(select count(*) from partitions) as partitions'),
});

/** Writes a heartbeat and returns the previous one. Safe, because only the node itself writes its row. */
const beat: Statement = {
  name: 'nodes.beat',
  text: `insert into nodes as n (id, started_at, seen_at) values ($1::text, clock_timestamp(), clock_timestamp())
on conflict (id) do update set seen_at = excluded.seen_at
returning ${HEARTBEATS.list}`,
};

const leave: Statement = { name: 'nodes.leave', text: 'delete from nodes where id = $1::text' };

/** Deletes all nodes. Scans the whole table, which has one row for each node killed lately. */
const forgetAll: Statement = { name: 'nodes.forget-all', text: 'delete from nodes' };

/** Deletes old nodes. Scans the whole table, which has one row for each node started or killed in the last hour. */
const forget: Statement = {
  name: 'nodes.forget',
  text: `with gone as (
  select id from nodes where seen_at < clock_timestamp() - interval '1 hour' for update skip locked
)
delete from nodes n using gone where n.id = gone.id`,
};

/** Selects the nodes among `$1` that have no row, or no heartbeat for `$2` milliseconds. */
const selectDead: Statement = {
  name: 'nodes.select-dead',
  text: `select v.id from unnest($1::text[]) as v (id)
where not exists (
  select from nodes n where n.id = v.id and n.seen_at > statement_timestamp() - $2::bigint * interval '1 millisecond'
)`,
};

export async function deadOf(
  database: DirectoryQueryable,
  nodeIds: readonly string[],
  deadAfterMs: number,
): Promise<readonly string[]> {
  if (nodeIds.length === 0) return [];
  const rows = await database.query<{ id: string }>(selectDead, [toArray(nodeIds), deadAfterMs]);
  return rows.map(({ id }) => id);
}

export interface NodeStore {
  beat(nodeId: string): Promise<RowOf<typeof HEARTBEATS>>;
  /** Makes the node count as dead at once, until its next heartbeat. */
  leave(nodeId: string): Promise<void>;
  /** Deletes all nodes. Only for a database that no other node can use. */
  forgetAll(): Promise<void>;
  /** Deletes nodes without a heartbeat for an hour. A live node returns with its next heartbeat. */
  forget(): Promise<void>;
}

export function createNodeStore(database: DirectoryQueryable): NodeStore {
  return {
    async beat(nodeId) {
      const [row] = await database.query(beat, [nodeId]);
      return HEARTBEATS.read(row!);
    },
    async leave(nodeId) {
      await database.query(leave, [nodeId]);
    },
    async forgetAll() {
      await database.query(forgetAll);
    },
    async forget() {
      await database.query(forget);
    },
  };
}
