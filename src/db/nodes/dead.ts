/**
 * SQL: whether a row `h` with a `node_id` belongs to a dead node: not this one (`$1`), and without a heartbeat for `$2`
 * milliseconds by the database's clock. On the embedded engine, with its one owner, nodes write no heartbeats, and every
 * other node is dead.
 */
export const IS_OF_DEAD_NODE = `h.node_id <> $1::text and not exists (
    select from nodes n
    where n.id = h.node_id and n.seen_at > statement_timestamp() - $2::bigint * interval '1 millisecond'
  )`;
