import { setTimeout as sleep } from 'node:timers/promises';
import { ForeseenError } from '../lib/foreseen-error.ts';
import type { Queryable, Statement } from './database.ts';
import { isDuplicateSchema, isLockTimeout, isUniqueViolation, StatementError, sqlState } from './errors.ts';

/** This file makes a migration wait until nodes of an earlier version stop and other sessions release their locks. */

/** Key of an advisory lock, arbitrary but the same on all nodes. One node migrates; the others wait, and then have nothing to do. */
export const MIGRATION_LOCK = 7_212_202_610;

/** SQLSTATE of the error that nodes are running. Class 55 is PostgreSQL's "object not in prerequisite state". */
export const NODES_RUNNING = '55F01';

export interface MigrationWaits {
  /** Called when a wait begins, when its reason changes, and after half a minute. */
  readonly onWaiting?: (message: string) => void;
  /** How long to wait for nodes of an earlier version to stop. */
  readonly patienceMs?: number;
  /** How long to wait for locks of other sessions. */
  readonly lockPatienceMs?: number;
  readonly pollMs?: number;
  readonly stopped?: AbortSignal | undefined;
}

/** After this many seconds without a heartbeat, a node counts as stopped. Heartbeats come every three seconds (`db/nodes/nodes.ts`). */
export const NODE_SILENCE_S = 15;
const PATIENCE_MS = 30_000;
const LOCK_PATIENCE_MS = 600_000;
const POLL_MS = 500;
const POLL_MAX_MS = 5_000;
const REMIND_MS = 30_000;

/**
 * Tries a migration until no node or lock blocks it. Each attempt waits only briefly for a lock, because later requests for the table, even
 * reads, wait behind it.
 *
 * @param database the database in which the locks are held
 * @throws NodesRunningError, LocksHeldError if the nodes or locks block the migration for too long
 */
export async function untilApplied<Result>(
  database: Queryable,
  options: MigrationWaits,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const { onWaiting, patienceMs = PATIENCE_MS, lockPatienceMs = LOCK_PATIENCE_MS, pollMs = POLL_MS, stopped } = options;
  let said = { message: '', atMs: 0 };
  const say = (message: string, waitedMs: number): void => {
    if (message === said.message && waitedMs - said.atMs < REMIND_MS) return;
    said = { message, atMs: waitedMs };
    onWaiting?.(message);
  };
  let pauseMs = pollMs;
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return await orAgain(attempt);
    } catch (error) {
      if (sqlState(error) === NODES_RUNNING) {
        const nodes = error instanceof StatementError ? error.reason : '';
        say(`The database is about to be migrated. Waiting for ${nodes} to stop.`, waitedMs);
        if (waitedMs >= patienceMs) throw new NodesRunningError(nodes);
      } else if (isLockTimeout(error)) {
        const blockers = await lockHolders(database);
        say(`The database is about to be migrated. Waiting for locks held by others: ${blockers}.`, waitedMs);
        if (waitedMs >= lockPatienceMs) throw new LocksHeldError(blockers);
        pauseMs = Math.min(pauseMs * 2, Math.max(pollMs, POLL_MAX_MS));
      } else throw error;
      await sleep(pauseMs, undefined, stopped === undefined ? {} : { signal: stopped }).catch(() => undefined);
      stopped?.throwIfAborted();
    }
  }
}

/** Tries again if another process has just applied the migration. The second attempt then has nothing to do. */
async function orAgain<Result>(attempt: () => Promise<Result>): Promise<Result> {
  try {
    return await attempt();
  } catch (error) {
    if (!isUniqueViolation(error) && !isDuplicateSchema(error)) throw error;
    return attempt();
  }
}

class LocksHeldError extends ForeseenError {
  constructor(tenants: string) {
    super(
      `The database cannot be migrated while others hold locks on its tables: ${tenants}. End their ` +
        'transactions, then start this version again.',
    );
  }
}

/** Lists sessions that hold locks on tables of the gateway or are migrating, oldest transaction first. */
const listLockHolders: Statement = {
  name: 'migrate.list-lock-holders',
  text: `select l.pid, max(a.application_name) as program, max(a.state) as state, max(a.xact_start) as since,
  array_to_string(array_agg(distinct coalesce(c.relname, 'migrations')), ', ') as tables
from pg_locks l
left join pg_class c on c.oid = l.relation
left join pg_stat_activity a on a.pid = l.pid
where l.granted and l.pid <> pg_backend_pid() and l.database = (select oid from pg_database where datname = current_database())
  and (c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
    or l.locktype = 'advisory' and l.classid::bigint << 32 | l.objid::bigint = ${MIGRATION_LOCK})
group by l.pid order by since nulls last, l.pid limit 5`,
};

interface LockHolderRow {
  pid: number;
  program: string | null;
  state: string | null;
  since: Date | null;
  tables: string;
}

async function lockHolders(database: Queryable): Promise<string> {
  const rows = await database.query<LockHolderRow>(listLockHolders);
  if (rows.length === 0) return 'all were released meanwhile';
  return rows
    .map(({ pid, program, state, since, tables }) => {
      const known = [program, state, since === null ? null : `since ${since.toISOString()}`].filter(Boolean);
      return `process ${pid} (${known.join(', ')}) on ${tables}`;
    })
    .join('; ');
}

/** Thrown if nodes run that would fail with the new tables. */
class NodesRunningError extends ForeseenError {
  constructor(nodes: string) {
    super(
      `The database cannot be migrated while nodes of an earlier version are running: ${nodes}. Stop them first, then ` +
        'start this version again. It does not support rolling updates: stop all old nodes before you start new ones.',
    );
  }
}
