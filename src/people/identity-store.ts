import type { Statement } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { orRolledBack } from '../db/rollback-store.ts';
import { dateColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';

export const IDENTITIES_MAX = 20;

const findUser: Statement = {
  name: 'identities.find-user',
  text: 'select user_id from user_identities where issuer = $1 and subject = $2',
};

const noteUse: Statement = {
  name: 'identities.note-use',
  text: 'update user_identities set last_used_at = $3 where issuer = $1 and subject = $2',
};

const IDENTITIES = selection({
  id: textColumn('id'),
  issuer: textColumn('issuer'),
  subject: textColumn('subject'),
  createdAt: dateColumn('created_at'),
  lastUsedAt: orNull(dateColumn('last_used_at')),
});

export type Identity = RowOf<typeof IDENTITIES>;

const listIdentities: Statement = {
  name: 'identities.list',
  text: `select ${IDENTITIES.list} from user_identities where user_id = $1 order by id desc`,
};

/** Locks a user, so that sign-in methods of a user change one at a time. */
const lockUser: Statement = {
  name: 'identities.lock-user',
  text: `select password_hash is not null as has_password from users where id = $1 and status = 'active' for no key update`,
};

/** Counts a user's identities. The user is locked, so the number cannot change. Uses user_identities_by_user. */
const countIdentities: Statement = {
  name: 'identities.count',
  text: 'select count(*)::int as identities from user_identities where user_id = $1',
};

const insertIdentity: Statement = {
  name: 'identities.insert',
  text: `insert into user_identities (id, issuer, subject, user_id, created_at, last_used_at) values ($1, $2, $3, $4, $5, $5)
on conflict (issuer, subject) do nothing
returning id`,
};

const deleteIdentity: Statement = {
  name: 'identities.delete',
  text: 'delete from user_identities where id = $2 and user_id = $1 returning id',
};

export type NewIdentity = Pick<Identity, 'id' | 'issuer' | 'subject'>;

export type IdentityRefusal =
  /** A user has this identity already, possibly the same one. */
  | 'identity_taken'
  | 'identities_full'
  /** The user is suspended or deleted. */
  | 'no_user';

export type IdentityStore = ReturnType<typeof createIdentityStore>;

/** Adds an identity. If the result is a refusal, the caller must roll back. */
export async function addIdentity(
  transaction: DirectoryQueryable,
  userId: string,
  { id, issuer, subject }: NewIdentity,
  at: Date,
): Promise<IdentityRefusal | null> {
  const user = await lock(transaction, userId);
  if (user === null) return 'no_user';
  if (user.identities >= IDENTITIES_MAX) return 'identities_full';
  const [added] = await transaction.query(insertIdentity, [id, issuer, subject, userId, at]);
  return added === undefined ? 'identity_taken' : null;
}

async function lock(
  transaction: DirectoryQueryable,
  userId: string,
): Promise<{ readonly hasPassword: boolean; readonly identities: number } | null> {
  const [user] = await transaction.query<{ has_password: boolean }>(lockUser, [userId]);
  if (user === undefined) return null;
  const [counted] = await transaction.query<{ identities: number }>(countIdentities, [userId]);
  return { hasPassword: user.has_password, identities: counted!.identities };
}

export function createIdentityStore(database: DirectoryPool) {
  return {
    async findUser(issuer: string, subject: string): Promise<string | null> {
      const [row] = await database.query<{ user_id: string }>(findUser, [issuer, subject]);
      return row?.user_id ?? null;
    },
    async noteUse(issuer: string, subject: string, at: Date): Promise<void> {
      await database.query(noteUse, [issuer, subject, at]);
    },
    list: async (userId: string) => IDENTITIES.all(await database.query(listIdentities, [userId])),
    add: (userId: string, identity: NewIdentity, at: Date) =>
      orRolledBack(database, (transaction) => addIdentity(transaction, userId, identity, at)),
    /** Removes an identity, unless it is the user's last way to sign in. */
    remove: (userId: string, id: string) =>
      orRolledBack<'absent' | 'last_way'>(database, async (transaction) => {
        const user = await lock(transaction, userId);
        if (user === null) return 'absent';
        const [gone] = await transaction.query(deleteIdentity, [userId, id]);
        if (gone === undefined) return 'absent';
        return user.hasPassword || user.identities > 1 ? null : 'last_way';
      }),
  };
}
