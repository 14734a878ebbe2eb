/**
 * SQL: whether a row `h` with a `node_id` belongs to a node that is dead: not the one that asks (`$1`), and not heard for
 * `$2` milliseconds by the database's clock. Where nodes do not say that they live, on the embedded engine with its one
 * owner, every other node is dead.
 */
export const IS_OF_DEAD_NODE = `h.node_id <> $1::text and not exists (
    select from nodes n
    where n.id = h.node_id and n.seen_at > statement_timestamp() - $2::bigint * interval '1 millisecond'
  )`;
