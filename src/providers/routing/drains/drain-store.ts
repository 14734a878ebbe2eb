import type { Statement } from '../../../db/database.ts';
import type { DirectoryLane, DirectoryQueryable } from '../../../db/home-lanes.ts';
import { type Column, dateColumn, orNull, type RowOf, selection, textColumn } from '../../../db/table.ts';

/** The SQL of drains. A table of some rows, read whole. */

/** Nodes are notified on this channel to read the drains again. */
export const DRAINS_CHANNEL = 'faregate_route_drains';

/** A column that is empty for all of them. */
const emptyForAll = (name: string): Column<string | null> => ({
  ...textColumn(name),
  read: (stored) => (stored === '' ? null : (stored as string)),
});

const DRAINS = selection({
  providerId: textColumn('provider'),
  /** The canonical id of a model; `null`: every model. */
  model: emptyForAll('model'),
  /** The provider's name of the model; `null`: every name. */
  providerModel: emptyForAll('provider_model'),
  reason: orNull(textColumn('reason')),
  drainedBy: textColumn('drained_by'),
  drainedAt: dateColumn('drained_at'),
});

/** A decision of an operator that routes take no new calls, until it is taken back. */
export type Drain = RowOf<typeof DRAINS>;

/** What is drained: all routes to a provider, those of one model, or those to one of the provider's own models. */
export type DrainTarget = Pick<Drain, 'providerId' | 'model' | 'providerModel'>;

/** Plan: primary key. */
const listDrains: Statement = {
  name: 'drains.list',
  text: `select ${DRAINS.list} from route_drains
order by provider, model, provider_model`,
};

/** A repeat gives another reason; who began the drain, and when, stays. */
const upsertDrain: Statement = {
  name: 'drains.upsert',
  text: `insert into route_drains as d (${DRAINS.list})
values ($1, $2, $3, $4, $5, $6)
on conflict (provider, model, provider_model) do update set reason = coalesce(excluded.reason, d.reason)
returning ${DRAINS.list}`,
};

/** By primary key. */
const deleteDrain: Statement = {
  name: 'drains.delete',
  text: `delete from route_drains where provider = $1 and model = $2 and provider_model = $3
returning ${DRAINS.list}`,
};

/** In the transaction of the change it is sent on commit, so no node can read the old rows after it. */
const notifyNodes: Statement = {
  name: 'drains.notify',
  text: `select pg_notify('${DRAINS_CHANNEL}', '')`,
};

export type DrainStore = ReturnType<typeof createDrainStore>;

export function createDrainStore(database: DirectoryLane) {
  return {
    list: async (): Promise<Drain[]> => DRAINS.all(await database.query(listDrains)),
    /** Returns the drain as it is now: a repeat keeps its beginning. Every node is notified. */
    insert: (drain: Drain): Promise<Drain> =>
      database.transaction(async (transaction) => {
        const { reason, drainedBy, drainedAt } = drain;
        const [row] = await transaction.query(upsertDrain, [...keyOf(drain), reason, drainedBy, drainedAt]);
        await notify(transaction);
        return DRAINS.read(row!);
      }),
    /** Returns what was deleted, or `null` if there is no such drain. Every node is notified. */
    delete: (target: DrainTarget): Promise<Drain | null> =>
      database.transaction(async (transaction) => {
        const deleted = DRAINS.first(await transaction.query(deleteDrain, keyOf(target)));
        if (deleted !== null) await notify(transaction);
        return deleted;
      }),
  };
}

async function notify(transaction: DirectoryQueryable): Promise<void> {
  await transaction.query(notifyNodes);
}

function keyOf({ providerId, model, providerModel }: DrainTarget): [string, string, string] {
  return [providerId, model ?? '', providerModel ?? ''];
}
