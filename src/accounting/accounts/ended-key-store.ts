import { fieldsOf } from '../../db/columns.ts';
import { type Statement, toArray } from '../../db/database.ts';
import { isLockTimeout } from '../../db/errors.ts';
import type { PartitionPool } from '../../db/home-pools.ts';
import { lockAccount } from '../ledger/account-lock-store.ts';
import { PartitionScan } from '../partitions/partition-scan.ts';
import type { PlacedPools } from '../partitions/placed-pools.ts';

/**
 * This file deletes keys some days after they were revoked or have expired, because an account can create and revoke keys all the time.
 * Keys with calls are kept permanently.
 */

/** For this time, clients that still use the key learn that it was revoked or has expired. Then it is deleted. */
export const ENDED_KEYS_KEPT_DAYS = 7;

const PAGE_ROWS = 200;
/** Maximum number of keys checked per run. The next run continues after the last of them. */
const RUN_ROWS = 20_000;
/** Limits of usage queue rows and unresolved calls, which every page reads completely. If there are more, no key is deleted. */
const QUEUED_MAX = 100;
const UNRESOLVED_MAX = 1_000;

const readProgress: Statement = {
  name: 'ended-keys.read-progress',
  text: 'select ended_at::text as ended_at, key_id as id from ended_keys_progress',
};

/** Stores how far the deletion got. The condition prevents another node from moving this back. */
const setProgress: Statement = {
  name: 'ended-keys.set-progress',
  text: `update ended_keys_progress set ended_at = $1::timestamptz, key_id = $2
where (ended_at, key_id) < ($1::timestamptz, $2::text)`,
};

/** Whether the usage sums are nearly complete. They show which keys have calls. Scans the usage queue, which is short. */
const selectReadiness: Statement = {
  name: 'ended-keys.select-readiness',
  text: `select b.is_done
  and (select count(*) from (select from usage_queue limit ${QUEUED_MAX + 1}) q) <= ${QUEUED_MAX} as is_ready
from usage_backfill b`,
};

/** Whether the index calls_by_status exists: older databases may lack it. Separate, because Citus rejects catalogs next to two tables. */
const selectIndexReadiness: Statement = {
  name: 'ended-keys.select-index-readiness',
  text: `select coalesce((select i.indisvalid from pg_index i where i.indexrelid = to_regclass('calls_by_status')), false) as is_ready`,
};

/** Uses the index calls_by_status. */
const selectFewUnresolved: Statement = {
  name: 'ended-keys.select-few-unresolved',
  text: `select count(*) <= ${UNRESOLVED_MAX} as is_ready
from (select from calls where status = 'unresolved' limit ${UNRESOLVED_MAX + 1}) c`,
};

/** SQL: whether a row exists, by one index lookup. With `exists`, PostgreSQL might read and hash all rows. */
const isThere = (from: string): string => `coalesce((select true from ${from} limit 1), false)`;

/** Selects ended keys in the order in which they ended. Uses the index api_keys_by_end. */
export const selectEnded: Statement = {
  name: 'ended-keys.select',
  text: `select account_id, id, least(revoked_at, expires_at)::text as ended_at from api_keys
where (revoked_at is not null or expires_at is not null) and least(revoked_at, expires_at) < $3::timestamptz
  and (least(revoked_at, expires_at), id) > ($1::timestamptz, $2::text)
order by least(revoked_at, expires_at), id limit ${PAGE_ROWS}`,
};

/**
 * Selects keys that calls refer to; one statement, because calls change state. Uses usage_rollups_by_key, primary keys, calls_by_status.
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

const deleteKeys: Statement = {
  name: 'ended-keys.delete',
  text: 'delete from api_keys where account_id = $1 and id = any ($2::text[])',
};

/** Deletes the limits of keys and the notified levels of their budgets. Uses primary keys and key_limits_by_owner. */
const deleteLimits: Statement = {
  name: 'ended-keys.delete-limits',
  text: `with limits as (
  delete from key_limits where account_id = $1 and (key_id = any ($2::text[]) or owner_id = any ($2::text[]))
), rates as (
  delete from rate_limits where account_id = $1 and key_id = any ($2::text[])
), levels as (
  delete from notice_states where account_id = $1 and subject like 'budget %' and split_part(subject, ' ', 3) = any ($2::text[])
)
delete from key_uses where account_id = $1 and key_id = any ($2::text[])`,
};

interface EndedKey {
  account_id: string;
  id: string;
  /** Text keeps the microseconds, which a JavaScript date would drop. */
  ended_at: string;
}

type Place = Pick<EndedKey, 'ended_at' | 'id'>;

export type EndedKeyStore = ReturnType<typeof createEndedKeyStore>;

export function createEndedKeyStore({ directory, partitions }: PlacedPools) {
  async function canTell(partition: PartitionPool): Promise<boolean> {
    for (const statement of [selectReadiness, selectIndexReadiness, selectFewUnresolved]) {
      const [row] = await partition.query<{ is_ready: boolean }>(statement);
      if (row?.is_ready !== true) return false;
    }
    return true;
  }

  /** Deletes the limits of keys under the account's lock. Changes of limits take the same lock, so a deleted key cannot get new limits. */
  const forget = (partition: PartitionPool, accountId: string, ids: readonly string[]): Promise<void> =>
    partition.transactionWithDirectory(async (transaction) => {
      await lockAccount(transaction, accountId);
      await transaction.query(deleteKeys, [accountId, toArray(ids)]);
      await transaction.query(deleteLimits, [accountId, toArray(ids)]);
    });

  async function namedIn(partition: PartitionPool, keys: readonly EndedKey[]): Promise<ReadonlySet<string>> {
    const names = fieldsOf(keys, 'account_id', 'id');
    const rows = await partition.query<{ id: string }>(selectNamed, names);
    return new Set(rows.map(({ id }) => id));
  }

  return {
    /**
     * Deletes ended keys, oldest first. Returns false if a lock timed out; a later run deletes those keys.
     *
     * @throws PartitionError of the first failed partition, after the other partitions are done.
     */
    async forgetEndedBefore(instantMs: number, signal: AbortSignal): Promise<boolean> {
      const walk = new PartitionScan(partitions);
      const telling = new Map<PartitionPool, boolean>();
      /** Whether a key was skipped. The next run then starts at this key. */
      let isLeft = false;
      let isAll = true;

      /** Runs one transaction per account, so that no account stays locked while others are processed. */
      async function forgetUnnamed(partition: PartitionPool, keys: readonly EndedKey[]): Promise<void> {
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
        const byPartition = new Map<PartitionPool, EndedKey[]>();
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
        // If keys were skipped or locked, the progress is not stored, so that the next run reads them again.
        if (isAll && !isLeft) await directory.query(setProgress, [last!.ended_at, last!.id]);
        isMore = page.length === PAGE_ROWS && !walk.isOver && !tellsNone();
      }
      walk.throwFailure();
      return isAll;
    },
  };
}
