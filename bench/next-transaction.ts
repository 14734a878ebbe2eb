/**
 * The number that the next transaction that writes will take; one that only reads takes none. Two of these before and after
 * some work, subtracted, are the commits that the work cost, if nothing was rolled back. PostgreSQL's own counter
 * (`pg_stat_database.xact_commit`) is up to ten seconds late, which is longer than a round of the bench.
 */
export const NEXT_TRANSACTION = 'select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next';
