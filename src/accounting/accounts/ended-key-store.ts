import { fieldsOf } from '../../db/columns.ts';
import { type Statement, toArray } from '../../db/database.ts';
import { isLockTimeout } from '../../db/errors.ts';
import type { PartitionLane } from '../../db/home-lanes.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { PartitionWalk } from '../partitions/partition-walk.ts';
import type { PlacedLanes } from '../partitions/placed-lanes.ts';

/**
 * The SQL that forgets keys that have ended and that no call names, so that an account does not gather rows of keys that it makes and
 * revokes. Each key is looked at once, some days after its end: no call can begin with it then, so one that calls name stays for good.
 * What else names a key (refusals, the change log, notices) says its id and its name itself. Its limits and its uses go with it.
 */

/** For how long a key that no call names is kept after its end: whoever still uses it is told that it was revoked or has expired. */
export const ENDED_KEYS_KEPT_DAYS = 7;

/** Keys that are looked at in one statement. */
const PAGE_ROWS = 200;
/** Keys that are looked at in one run; the next one goes on. */
const RUN_ROWS = 20_000;
/** Rows of the queue, and unresolved calls, beyond which nothing is forgotten: each page looks through them. */
const QUEUED_MAX = 100;
const UNRESOLVED_MAX = 1_000;

const readProgress: Statement = {
  name: 'ended-keys.read-progress',
  text: 'select ended_at::text as ended_at, key_id as id from ended_keys_progress',
};

/** Never back: another node may have got further. */
const setProgress: Statement = {
  name: 'ended-keys.set-progress',
  text: `update ended_keys_progress set ended_at = $1::timestamptz, key_id = $2
where (ended_at, key_id) < ($1::timestamptz, $2::text)`,
};

/** Whether the sums of usage have nearly all calls, so that the keys which calls name are known. Plan: the queue is short. */
const selectReadiness: Statement = {
  name: 'ended-keys.select-readiness',
  text: `select b.is_done
  and (select count(*) from (select from usage_queue limit ${QUEUED_MAX + 1}) q) <= ${QUEUED_MAX} as is_ready
from usage_backfill b`,
};

/**
 * Whether the index of unresolved calls is whole, which it may not be in a database that is older than the baseline. By itself: Citus takes no
 * statement about its catalog and two tables.
 */
const selectIndexReadiness: Statement = {
  name: 'ended-keys.select-index-readiness',
  text: `select coalesce((select i.indisvalid from pg_index i where i.indexrelid = to_regclass('calls_by_status')), false) as is_ready`,
};

/** Plan: calls_by_status. */
const selectFewUnresolved: Statement = {
  name: 'ended-keys.select-few-unresolved',
  text: `select count(*) <= ${UNRESOLVED_MAX} as is_ready
from (select from calls where status = 'unresolved' limit ${UNRESOLVED_MAX + 1}) c`,
};

/** SQL: whether there is a row. As `exists`, but looked up row by row however few there are: `exists` may read all rows into a hash. */
const isThere = (from: string): string => `coalesce((select true from ${from} limit 1), false)`;

/** Keys in the order of their ends. Plan: api_keys_by_end. */
export const selectEnded: Statement = {
  name: 'ended-keys.select',
  text: `select account_id, id, least(revoked_at, expires_at)::text as ended_at from api_keys
where (revoked_at is not null or expires_at is not null) and least(revoked_at, expires_at) < $3::timestamptz
  and (least(revoked_at, expires_at), id) > ($1::timestamptz, $2::text)
order by least(revoked_at, expires_at), id limit ${PAGE_ROWS}`,
};

/**
 * Those keys that a call names: one in the sums, one on its way there, an unresolved one, or one in flight. One state of all of these,
 * because calls go from one to the other. That the keys were read before does not matter: no call begins with them any more. Plans:
 * usage_rollups_by_key, primary keys, calls_by_status.
 */
export const selectNamed: Statement = {
  name: 'ended-keys.select-named',
  text: `with queued as materialized (
  select n.account_id, c.key_id
  from usage_queue q cross join lateral unnest(q.account_ids, q.call_ids, q.started_ats) as n (account_id, call_id, started_at)
  cross join lateral (
    select key_id from calls where account_id = n.account_id and id = n.call_id and started_at = n.started_at limit 1
  ) c
),
unresolved as materialized (select account_id, key_id from calls where status = 'unresolved')
select p.id from unnest($1::text[], $2::text[]) as p (account_id, id)
where ${isThere('usage_rollups u where u.account_id = p.account_id and u.key_id = p.id')}
  or ${isThere('reservations r where r.account_id = p.account_id and r.key_id = p.id')}
  or ${isThere('queued q where q.account_id = p.account_id and q.key_id = p.id')}
  or ${isThere('unresolved c where c.account_id = p.account_id and c.key_id = p.id')}`,
};

/** Plan: primary key. */
const deleteKeys: Statement = {
  name: 'ended-keys.delete',
  text: 'delete from api_keys where account_id = $1 and id = any ($2::text[])',
};

/** All that a partition has of keys alone. Plans: primary keys. */
const deleteLimits: Statement = {
  name: 'ended-keys.delete-limits',
  text: `with limits as (
  delete from key_limits where account_id = $1 and key_id = any ($2::text[])
), rates as (
  delete from rate_limits where account_id = $1 and key_id = any ($2::text[])
)
delete from key_uses where account_id = $1 and key_id = any ($2::text[])`,
};

interface EndedKey {
  account_id: string;
  /** No two accounts have a key of one id. */
  id: string;
  /** Text, because an instant of JavaScript is shorter. */
  ended_at: string;
}

type Place = Pick<EndedKey, 'ended_at' | 'id'>;

export type EndedKeyStore = ReturnType<typeof createEndedKeyStore>;

export function createEndedKeyStore({ directory, partitions }: PlacedLanes) {
  async function canTell(partition: PartitionLane): Promise<boolean> {
    for (const statement of [selectReadiness, selectIndexReadiness, selectFewUnresolved]) {
      const [row] = await partition.query<{ is_ready: boolean }>(statement);
      if (row?.is_ready !== true) return false;
    }
    return true;
  }

  /** Nobody sets limits of a key that is not there: that is done under the same lock. */
  const forget = (partition: PartitionLane, accountId: string, ids: readonly string[]): Promise<void> =>
    partition.transactionWithDirectory(async (transaction) => {
      await lockAccount(transaction, accountId);
      await transaction.query(deleteKeys, [accountId, toArray(ids)]);
      await transaction.query(deleteLimits, [accountId, toArray(ids)]);
    });

  /** The ids of those keys of a partition that calls name. */
  async function namedIn(partition: PartitionLane, keys: readonly EndedKey[]): Promise<ReadonlySet<string>> {
    const names = fieldsOf(keys, 'account_id', 'id');
    const rows = await partition.query<{ id: string }>(selectNamed, names);
    return new Set(rows.map(({ id }) => id));
  }

  return {
    /**
     * Forgets keys that ended before an instant and that no call names, the first to end first. Returns false where others have locked
     * keys that it needs: these come again. So do keys of a partition that cannot tell now which of them calls name, or fails.
     *
     * @throws PartitionError of the first partition that has failed, at the end.
     */
    async forgetEndedBefore(instantMs: number, signal: AbortSignal): Promise<boolean> {
      const walk = new PartitionWalk(partitions);
      const telling = new Map<PartitionLane, boolean>();
      /** Whether a key was left: the next run begins with it. */
      let isLeft = false;
      let isAll = true;

      /** Forgets those of a partition that no call names, an account a transaction, so that none is locked for the length of the others. */
      async function forgetUnnamed(partition: PartitionLane, keys: readonly EndedKey[]): Promise<void> {
        const tells = telling.get(partition) ?? (await canTell(partition));
        telling.set(partition, tells);
        if (!tells) {
          isLeft = true;
          return;
        }
        const named = await namedIn(partition, keys);
        const unnamed = keys.filter(({ id }) => !named.has(id));
        for (const [accountId, ended] of Map.groupBy(unnamed, (key) => key.account_id)) {
          if (signal.aborted) return;
          try {
            await forget(
              partition,
              accountId,
              ended.map(({ id }) => id),
            );
          } catch (error) {
            if (!isLockTimeout(error)) throw error;
            isAll = false;
          }
        }
      }

      async function forgetPage(page: readonly EndedKey[]): Promise<void> {
        const byPartition = new Map<PartitionLane, EndedKey[]>();
        for (const key of page) {
          const isPlaced = await walk.visit(key.account_id, async (partition) => {
            byPartition.set(partition, [...(byPartition.get(partition) ?? []), key]);
          });
          if (!isPlaced) isLeft = true;
        }
        for (const keys of byPartition.values()) {
          if (!(await walk.visit(keys[0]!.account_id, (partition) => forgetUnnamed(partition, keys)))) isLeft = true;
        }
      }

      const tellsNone = (): boolean => telling.size === partitions.all.length && ![...telling.values()].includes(true);
      let [last] = await directory.query<Place>(readProgress);
      let isMore = true;
      for (let rows = 0; isMore && rows < RUN_ROWS; rows += PAGE_ROWS) {
        const page = await directory.query<EndedKey>(selectEnded, [last!.ended_at, last!.id, new Date(instantMs)]);
        await forgetPage(page);
        if (signal.aborted) return isAll;
        last = page.at(-1) ?? last;
        // What was locked, or left, is behind the place that is kept.
        if (isAll && !isLeft) await directory.query(setProgress, [last!.ended_at, last!.id]);
        isMore = page.length === PAGE_ROWS && !walk.isOver && !tellsNone();
      }
      walk.throwFailure();
      return isAll;
    },
  };
}
