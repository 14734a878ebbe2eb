import type { Statement } from '../../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../../db/home-pools.ts';
import { bytesColumn, dateColumn, type RowOf, tableColumns, textColumn } from '../../db/table.ts';
import { CATALOG_CHANNEL } from '../revisions/revisions-store.ts';

/** This file stores sealed secrets in a small table, which nodes always read completely. */

const SUMMARY = {
  name: textColumn('name'),
  keyId: textColumn('key_id'),
  createdAt: dateColumn('created_at'),
  changedAt: dateColumn('changed_at'),
  changedBy: textColumn('changed_by'),
};
const SECRETS = tableColumns({ ...SUMMARY, sealed: bytesColumn('sealed') });

/** A secret in the database. It is sealed with the key that has this id. */
export type SealedSecret = RowOf<typeof SECRETS>;

/** Maximum number of secrets, because each node keeps all of them in memory. */
export const SECRETS_MAX = 1_000;

/** Uses the primary key. */
const listSecrets: Statement = {
  name: 'sealed-secrets.list',
  text: `select ${SECRETS.list} from sealed_secrets order by name`,
};

/** Uses the primary key. */
const findSecret: Statement = {
  name: 'sealed-secrets.find',
  text: `select ${SECRETS.list} from sealed_secrets where name = $1`,
};

/** Uses the primary key. */
const lockSecret: Statement = {
  name: 'sealed-secrets.lock',
  text: `${findSecret.text} for update`,
};

/** Inserts or replaces a secret. Inserts nothing if there are too many. */
const upsertSecret: Statement = {
  name: 'sealed-secrets.upsert',
  text: `insert into sealed_secrets (name, sealed, key_id, created_at, changed_at, changed_by)
select $1, $2::bytea, $3, clock_timestamp(), clock_timestamp(), $4
where exists (select from sealed_secrets where name = $1) or (select count(*) from sealed_secrets) < ${SECRETS_MAX}
on conflict (name) do update
set sealed = excluded.sealed, key_id = excluded.key_id, changed_at = excluded.changed_at, changed_by = excluded.changed_by
returning ${SECRETS.list}`,
};

/** Uses the primary key. */
const resealSecret: Statement = {
  name: 'sealed-secrets.reseal',
  text: 'update sealed_secrets set sealed = $2::bytea, key_id = $3 where name = $1',
};

/** Uses the primary key. */
const deleteSecret: Statement = {
  name: 'sealed-secrets.delete',
  text: `delete from sealed_secrets where name = $1 returning ${SECRETS.list}`,
};

/** Whether the table exists. It does not in a database that is not migrated yet. */
const tableExists: Statement = {
  name: 'sealed-secrets.exists',
  text: `select to_regclass('sealed_secrets') is not null as exists`,
};

const notifyNodes: Statement = {
  name: 'sealed-secrets.notify',
  text: `select pg_notify('${CATALOG_CHANNEL}', '')`,
};

type Sealed = Pick<SealedSecret, 'sealed' | 'keyId'>;
export type SealedSecretsStore = ReturnType<typeof createSealedSecretsStore>;

export function createSealedSecretsStore(database: DirectoryPool) {
  async function listAll(): Promise<SealedSecret[]> {
    return SECRETS.all(await database.query(listSecrets));
  }

  return {
    list: listAll,
    /** Like `list`, for a database that may not be migrated yet; it then has no secrets. */
    async listIfMigrated(): Promise<SealedSecret[]> {
      const [found] = await database.query<{ exists: boolean }>(tableExists);
      return found!.exists ? listAll() : [];
    },
    find: async (name: string): Promise<SealedSecret | null> => SECRETS.first(await database.query(findSecret, [name])),
    /** Sets a secret and notifies every node; `null`: there are too many secrets. */
    set: (name: string, { sealed, keyId }: Sealed, changedBy: string): Promise<SealedSecret | null> =>
      database.transaction(async (transaction) => {
        const set = SECRETS.first(await transaction.query(upsertSecret, [name, toHex(sealed), keyId, changedBy]));
        if (set !== null) await notify(transaction);
        return set;
      }),
    /**
     * Seals a secret with another key and notifies every node. The row stays locked in the meantime.
     *
     * @param reseal returns `null` to leave the secret as it is
     */
    reseal: (name: string, reseal: (secret: SealedSecret) => Sealed | null): Promise<boolean> =>
      database.transaction(async (transaction) => {
        const secret = SECRETS.first(await transaction.query(lockSecret, [name]));
        const resealed = secret && reseal(secret);
        if (resealed === null) return false;
        await transaction.query(resealSecret, [name, toHex(resealed.sealed), resealed.keyId]);
        await notify(transaction);
        return true;
      }),
    /** Deletes a secret and notifies every node; `null`: there is none with this name. */
    delete: (name: string): Promise<SealedSecret | null> =>
      database.transaction(async (transaction) => {
        const deleted = SECRETS.first(await transaction.query(deleteSecret, [name]));
        if (deleted !== null) await notify(transaction);
        return deleted;
      }),
  };
}

async function notify(transaction: DirectoryQueryable): Promise<void> {
  await transaction.query(notifyNodes);
}

function toHex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}
