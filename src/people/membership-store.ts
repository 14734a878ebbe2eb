import { announceChange } from '../accounting/accounts/principal-change-store.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { orRolledBack } from '../db/rollback-store.ts';
import { dateColumn, intColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { AccountRole } from './actor.ts';
import { MEMBERS_MAX, MEMBERSHIPS_MAX, type UserStatus } from './user.ts';

/**
 * Changes of memberships are announced as changes of the account, because nodes cache what a user's key may see. Decisions that depend on
 * numbers of members lock the account.
 */

/** Locks an account. Calls do not wait for this: they lock balances. Neither do foreign-key checks. */
export const lockAccount: Statement = {
  name: 'memberships.lock-account',
  text: 'select id from accounts where id = $1 for no key update',
};

const lockUser: Statement = {
  name: 'memberships.lock-user',
  text: 'select id from users where id = $1 for no key update',
};

const COUNTS = selection({
  members: intColumn('(select count(*)::int from memberships where account_id = $1) as members'),
  accounts: intColumn('(select count(*)::int from memberships where user_id = $2) as accounts'),
  /** Number of active owners without this user. */
  otherOwners: intColumn(`(select count(*)::int from memberships m join users u on u.id = m.user_id
   where m.account_id = $1 and m.role = 'owner' and m.user_id <> $2 and u.status = 'active') as other_owners`),
  role: orNull(
    textColumn<AccountRole>('(select role from memberships where account_id = $1 and user_id = $2) as role'),
  ),
});

const countBoth: Statement = { name: 'memberships.count', text: `select ${COUNTS.list}` };

const insertMembership: Statement = {
  name: 'memberships.insert',
  text: 'insert into memberships (user_id, account_id, role, created_at) values ($1, $2, $3, $4)',
};

const updateRole: Statement = {
  name: 'memberships.update-role',
  text: 'update memberships set role = $3 where user_id = $1 and account_id = $2',
};

const deleteMembership: Statement = {
  name: 'memberships.delete',
  text: 'delete from memberships where user_id = $1 and account_id = $2',
};

const noteReturn: Statement = {
  name: 'memberships.note-return',
  text: 'update users set left_at = null where id = $1 and left_at is not null',
};

/** Records that a user has left the last account (`left-user-store.ts`). Has no effect if another membership is left. */
const noteLeaving: Statement = {
  name: 'memberships.note-leaving',
  text: 'update users set left_at = $2 where id = $1 and not exists (select from memberships m where m.user_id = $1)',
};

/** Revokes or transfers the keys of a user. $4: whether active keys are revoked. $5: their new owner. Uses api_keys_by_user. */
const detachKeys: Statement = {
  name: 'memberships.part-from-keys',
  text: `update api_keys set former_user_name = (select name from users where id = $2),
  revoked_at = case when $4::boolean and revoked_at is null and (expires_at is null or expires_at > $3::timestamptz)
    then $3::timestamptz else revoked_at end,
  user_id = case when revoked_at is null and (expires_at is null or expires_at > $3::timestamptz)
    then coalesce($5::text, user_id) else user_id end
where account_id = $1 and user_id = $2`,
};

const hasMember: Statement = {
  name: 'memberships.has-member',
  text: 'select from memberships where account_id = $1 and user_id = $2',
};

const MEMBERS = selection({
  userId: textColumn('u.id as user_id'),
  email: orNull(textColumn('u.email')),
  name: textColumn('u.name'),
  status: textColumn<UserStatus>('u.status'),
  role: textColumn<AccountRole>('m.role'),
  since: dateColumn('m.created_at'),
  lastSignInAt: orNull(dateColumn('u.last_sign_in_at')),
});

export type Member = RowOf<typeof MEMBERS>;

const listMembers: Statement = {
  name: 'memberships.list',
  text: `select ${MEMBERS.list} from memberships m join users u on u.id = m.user_id
where m.account_id = $1 and m.user_id > $2 order by m.user_id limit $3::int`,
};

const selectMember: Statement = {
  name: 'memberships.select',
  text: `select ${MEMBERS.list} from memberships m join users u on u.id = m.user_id where m.account_id = $1 and m.user_id = $2`,
};

interface NewMembership {
  readonly userId: string;
  readonly accountId: string;
  readonly role: AccountRole;
  readonly at: Date;
}

export type MembershipRefusal = 'no_account' | 'no_user' | 'account_full' | 'user_full' | 'already';

/** Why a member was not changed. `no_heir`: the user who should get the keys is no other member of the account. */
export type MemberChangeRefusal = 'absent' | 'last_owner' | 'no_heir';

export type KeysOfRemoved = 'kept' | 'revoked' | { readonly handedTo: string };

/** Locks the account first, then the user, in the same order as all transactions. */
async function lockAndCount(transaction: DirectoryQueryable, accountId: string, userId: string) {
  const [account] = await transaction.query(lockAccount, [accountId]);
  if (account === undefined) return null;
  return COUNTS.first(await transaction.query(countBoth, [accountId, userId]));
}

/** Adds a member. If the result is a refusal, the caller must roll back. */
export async function addMembership(
  transaction: DirectoryQueryable,
  { userId, accountId, role, at }: NewMembership,
): Promise<MembershipRefusal | null> {
  const counts = await lockAndCount(transaction, accountId, userId);
  if (counts === null) return 'no_account';
  const [user] = await transaction.query(lockUser, [userId]);
  if (user === undefined) return 'no_user';
  if (counts.role !== null) return 'already';
  if (counts.members >= MEMBERS_MAX) return 'account_full';
  if (counts.accounts >= MEMBERSHIPS_MAX) return 'user_full';
  await transaction.query(insertMembership, [userId, accountId, role, at]);
  await transaction.query(noteReturn, [userId]);
  await announceChange(transaction, accountId);
  return null;
}

async function isOtherMember(
  transaction: DirectoryQueryable,
  accountId: string,
  userId: string,
  otherId: string,
): Promise<boolean> {
  return otherId !== userId && (await transaction.query(hasMember, [accountId, otherId])).length > 0;
}

export type MembershipStore = ReturnType<typeof createMembershipStore>;

export function createMembershipStore(database: DirectoryPool) {
  /** Changes a member with the account locked, so that two owners cannot remove each other's role at the same time. */
  const change = (
    accountId: string,
    userId: string,
    keepsOwner: boolean,
    role: AccountRole | null,
    write: (transaction: DirectoryQueryable) => Promise<unknown>,
    heirId: string | null = null,
  ): Promise<MemberChangeRefusal | null> =>
    database.transaction(async (transaction) => {
      const counts = await lockAndCount(transaction, accountId, userId);
      if (counts === null || counts.role === null) return 'absent';
      const isLastOwner = counts.role === 'owner' && counts.otherOwners === 0;
      if (keepsOwner && isLastOwner && role !== 'owner') return 'last_owner';
      if (heirId !== null && !(await isOtherMember(transaction, accountId, userId, heirId))) return 'no_heir';
      await write(transaction);
      await announceChange(transaction, accountId);
      return null;
    });

  return {
    add: (membership: NewMembership) =>
      orRolledBack<MembershipRefusal>(database, (transaction) => addMembership(transaction, membership)),
    /** `keepsOwner`: the account must keep at least one owner. */
    changeRole: (accountId: string, userId: string, role: AccountRole, keepsOwner: boolean) =>
      change(accountId, userId, keepsOwner, role, (transaction) =>
        transaction.query(updateRole, [userId, accountId, role]),
      ),
    remove(accountId: string, userId: string, keepsOwner: boolean, at: Date, keys: KeysOfRemoved) {
      const heirId = typeof keys === 'string' ? null : keys.handedTo;
      const write = async (transaction: DirectoryQueryable): Promise<void> => {
        // The user is locked, because two accounts may remove the user at once: the second one must see that its membership is the last.
        await transaction.query(lockUser, [userId]);
        await transaction.query(detachKeys, [accountId, userId, at, keys === 'revoked', heirId]);
        await transaction.query(deleteMembership, [userId, accountId]);
        await transaction.query(noteLeaving, [userId, at]);
      };
      return change(accountId, userId, keepsOwner, null, write, heirId);
    },
    find: async (accountId: string, userId: string) =>
      MEMBERS.first(await database.query(selectMember, [accountId, userId])),
    list: async (accountId: string, afterUserId: string | null, limit: number) =>
      MEMBERS.all(await database.query(listMembers, [accountId, afterUserId ?? '', limit])),
  };
}
