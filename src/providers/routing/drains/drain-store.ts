import type { Statement } from '../../../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../../../db/home-pools.ts';
import { type Column, dateColumn, orNull, type RowOf, selection, textColumn } from '../../../db/table.ts';

export const DRAINS_CHANNEL = 'faregate_route_drains';

/** A column in which an empty string stands for `null`, which means all. */
const emptyForAll = (name: string): Column<string | null> => ({
  ...textColumn(name),
  read: (stored) => (stored === '' ? null : (stored as string)),
});

const DRAINS = selection({
  providerId: textColumn('provider'),
  /** Canonical id of a model; `null`: all models. */
  model: emptyForAll('model'),
  providerModel: emptyForAll('provider_model'),
  reason: orNull(textColumn('reason')),
  drainedBy: textColumn('drained_by'),
  drainedAt: dateColumn('drained_at'),
});

/** An operator's decision that certain routes get no new calls. */
export type Drain = RowOf<typeof DRAINS>;

/** What is drained: all routes to a provider, those of one model, or those to one of the provider's model names. */
export type DrainTarget = Pick<Drain, 'providerId' | 'model' | 'providerModel'>;

/** Uses the primary key. */
const listDrains: Statement = {
  name: 'drains.list',
  text: `select ${DRAINS.list} from route_drains
order by provider, model, provider_model`,
};

const upsertDrain: Statement = {
  name: 'drains.upsert',
  text: `insert into route_drains as d (${DRAINS.list})
values ($1, $2, $3, $4, $5, $6)
on conflict (provider, model, provider_model) do update set reason = coalesce(excluded.reason, d.reason)
returning ${DRAINS.list}`,
};

/** Uses the primary key. */
const deleteDrain: Statement = {
  name: 'drains.delete',
  text: `delete from route_drains where provider = $1 and model = $2 and provider_model = $3
returning ${DRAINS.list}`,
};

/** The database sends the notification when the transaction commits, so nodes that receive it read the new rows. */
const notifyNodes: Statement = {
  name: 'drains.notify',
  text: `select pg_notify('${DRAINS_CHANNEL}', '')`,
};

export type DrainStore = ReturnType<typeof createDrainStore>;

export function createDrainStore(database: DirectoryPool) {
  return {
    list: async (): Promise<Drain[]> => DRAINS.all(await database.query(listDrains)),
    /** Inserts a drain, or updates the reason of an existing one. Notifies every node. */
    insert: (drain: Drain): Promise<Drain> =>
      database.transaction(async (transaction) => {
        const { reason, drainedBy, drainedAt } = drain;
        const [row] = await transaction.query(upsertDrain, [...keyOf(drain), reason, drainedBy, drainedAt]);
        await notify(transaction);
        return DRAINS.read(row!);
      }),
    /** Returns the deleted drain; `null` if there was none. */
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
