import type { Queryable, Statement } from '../../db/database.ts';

/** The SQL of nodes that live. Their clocks do not matter: every instant is the database's. */

/**
 * The instant of the last beat is read before this one takes its place: a node beats once at a time, so nobody else
 * changes its row. Plan: primary key.
 */
const beat: Statement = {
  name: 'nodes.beat',
  text: `insert into nodes as n (id, started_at, seen_at) values ($1::text, clock_timestamp(), clock_timestamp())
on conflict (id) do update set seen_at = excluded.seen_at
returning (extract(epoch from n.seen_at - (select seen_at from nodes where id = $1::text)) * 1000)::bigint as since_last_ms`,
};

/** Plan: primary key. */
const leave: Statement = { name: 'nodes.leave', text: 'delete from nodes where id = $1::text' };

/** As many rows as nodes were started and killed: by sequence. */
const forget: Statement = {
  name: 'nodes.forget',
  text: `delete from nodes where seen_at < clock_timestamp() - interval '1 hour'`,
};

export interface NodeStore {
  /** Says that a node lives. Answers how long ago it said so before; `null` where there is no word of it. */
  beat(nodeId: string): Promise<{ readonly sinceLastMs: number | null }>;
  /** A node that leaves is dead from now on, unless it says otherwise. */
  leave(nodeId: string): Promise<void>;
  /** Drops nodes that were not heard for an hour. One that lives after all is back with its next beat. */
  forget(): Promise<void>;
}

export function createNodeStore(database: Queryable): NodeStore {
  return {
    async beat(nodeId) {
      const [row] = await database.query<{ since_last_ms: bigint | null }>(beat, [nodeId]);
      return { sinceLastMs: row!.since_last_ms === null ? null : Number(row!.since_last_ms) };
    },
    async leave(nodeId) {
      await database.query(leave, [nodeId]);
    },
    async forget() {
      await database.query(forget);
    },
  };
}
