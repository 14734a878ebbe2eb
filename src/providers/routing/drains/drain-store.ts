import type { Lane, Queryable, Statement } from '../../../db/database.ts';
import type { Drain, DrainTarget } from './drain.ts';

/** The SQL of drains. A table of some rows, read whole. */

/** Nodes are notified on this channel to read the drains again. */
export const DRAINS_CHANNEL = 'faregate_route_drains';

/** Plan: primary key. */
const listDrains: Statement = {
  name: 'drains.list',
  text: `select provider, model, provider_model, reason, drained_by, drained_at from route_drains
order by provider, model, provider_model`,
};

/** A repeat gives another reason; who began the drain, and when, stays. */
const upsertDrain: Statement = {
  name: 'drains.upsert',
  text: `insert into route_drains as d (provider, model, provider_model, reason, drained_by, drained_at)
values ($1, $2, $3, $4, $5, $6)
on conflict (provider, model, provider_model) do update set reason = coalesce(excluded.reason, d.reason)
returning provider, model, provider_model, reason, drained_by, drained_at`,
};

/** By primary key. */
const deleteDrain: Statement = {
  name: 'drains.delete',
  text: `delete from route_drains where provider = $1 and model = $2 and provider_model = $3
returning provider, model, provider_model, reason, drained_by, drained_at`,
};

/** In the transaction of the change it is sent on commit, so no node can read the old rows after it. */
const notifyNodes: Statement = {
  name: 'drains.notify',
  text: `select pg_notify('${DRAINS_CHANNEL}', '')`,
};

interface DrainRow {
  provider: string;
  model: string;
  provider_model: string;
  reason: string | null;
  drained_by: string;
  drained_at: Date;
}

export interface DrainStore {
  list(): Promise<Drain[]>;
  /** Returns the drain as it is now: a repeat keeps its beginning. Every node is notified. */
  insert(drain: Drain): Promise<Drain>;
  /** Returns what was deleted, or `null` if there is no such drain. Every node is notified. */
  delete(target: DrainTarget): Promise<Drain | null>;
}

export function createDrainStore(database: Lane): DrainStore {
  return {
    list: async () => (await database.query<DrainRow>(listDrains)).map(toDrain),
    insert: (drain) =>
      database.transaction(async (transaction) => {
        const { reason, drainedBy, drainedAt } = drain;
        const [row] = await transaction.query<DrainRow>(upsertDrain, [...keyOf(drain), reason, drainedBy, drainedAt]);
        await notify(transaction);
        return toDrain(row!);
      }),
    delete: (target) =>
      database.transaction(async (transaction) => {
        const [row] = await transaction.query<DrainRow>(deleteDrain, keyOf(target));
        if (row === undefined) return null;
        await notify(transaction);
        return toDrain(row);
      }),
  };
}

async function notify(transaction: Queryable): Promise<void> {
  await transaction.query(notifyNodes);
}

function keyOf({ providerId, model, providerModel }: DrainTarget): [string, string, string] {
  return [providerId, model ?? '', providerModel ?? ''];
}

function toDrain(row: DrainRow): Drain {
  return {
    providerId: row.provider,
    model: row.model === '' ? null : row.model,
    providerModel: row.provider_model === '' ? null : row.provider_model,
    reason: row.reason,
    drainedBy: row.drained_by,
    drainedAt: row.drained_at,
  };
}
