import { type Statement, toArray } from '../database.ts';
import type { DirectoryQueryable } from '../home-lanes.ts';
import { countColumn, orNull, type RowOf, selection } from '../table.ts';

/** The SQL of heartbeats. The clocks of nodes do not matter: every instant is the database's. */

const HEARTBEATS = selection({
  /** How long ago the last one was; `null` if the node has no row. */
  sinceLastMs: orNull(
    countColumn(
      '(extract(epoch from n.seen_at - (select seen_at from nodes where id = $1::text)) * 1000)::bigint as since_last_ms',
    ),
  ),
  /** The database's clock. */
  databaseMs: countColumn('(extract(epoch from n.seen_at) * 1000)::bigint as seen_at_ms'),
  /** How many there are. A first heartbeat that has waited for one to be added counts it. */
  partitions: countColumn('(select count(*) from partitions) as partitions'),
});

/**
 * The instant of the last heartbeat is read before this one replaces it: a node writes one at a time, and only its own row.
 * Plan: primary key.
 */
const beat: Statement = {
  name: 'nodes.beat',
  text: `insert into nodes as n (id, started_at, seen_at) values ($1::text, clock_timestamp(), clock_timestamp())
on conflict (id) do update set seen_at = excluded.seen_at
returning ${HEARTBEATS.list}`,
};

/** Plan: primary key. */
const leave: Statement = { name: 'nodes.leave', text: 'delete from nodes where id = $1::text' };

/** Plan: the whole table, a row for each node that was killed lately. */
const forgetAll: Statement = { name: 'nodes.forget-all', text: 'delete from nodes' };

/** As many rows as nodes were started and killed in the last hour: by sequence. */
const forget: Statement = {
  name: 'nodes.forget',
  text: `with gone as (
  select id from nodes where seen_at < clock_timestamp() - interval '1 hour' for update skip locked
)
delete from nodes n using gone where n.id = gone.id`,
};

/** Those of some nodes that had no heartbeat for `$2` milliseconds, or have no row. Plan: primary key. */
const selectDead: Statement = {
  name: 'nodes.select-dead',
  text: `select v.id from unnest($1::text[]) as v (id)
where not exists (
  select from nodes n where n.id = v.id and n.seen_at > statement_timestamp() - $2::bigint * interval '1 millisecond'
)`,
};

/** Which of some nodes are dead: without a heartbeat for `deadAfterMs` by the database's clock. */
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
  /** Writes a heartbeat. */
  beat(nodeId: string): Promise<RowOf<typeof HEARTBEATS>>;
  /** A node that leaves is dead from now on, until its next heartbeat. */
  leave(nodeId: string): Promise<void>;
  /** Deletes all nodes, where none can live. */
  forgetAll(): Promise<void>;
  /** Deletes nodes without a heartbeat for an hour. One that lives after all is back with its next heartbeat. */
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
