import { announceChange } from '../accounting/accounts/principal-change-store.ts';
import type { Statement } from '../db/database.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { orRolledBack } from '../db/rollback-store.ts';
import { orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { AccountRole, OperatorRole } from './actor.ts';
import { isActive } from './admin-tokens-store.ts';
import { addMembership } from './membership-store.ts';
import { deleteSessionsOf } from './session-store.ts';
import { foldSignInName, isLikeEmail, signInNameOf } from './sign-in-name.ts';
import type { UserRefusal, UserStatus } from './user.ts';
import { createUserList } from './user-list-store.ts';

const insertUser: Statement = {
  name: 'users.insert',
  text: `insert into users (id, email, name, sign_in_name, password_hash, operator_role, status, created_at, unconfirmed_token_id)
values ($1, $2, $3, $4, $5, $6, 'active', $7, $8)
on conflict (sign_in_name) do nothing
returning id`,
};

const CREDENTIALS = selection({
  userId: textColumn('id'),
  name: textColumn('name'),
  email: orNull(textColumn('email')),
  passwordHash: orNull(textColumn('password_hash')),
  status: textColumn<UserStatus>('status'),
});

export type UserCredential = RowOf<typeof CREDENTIALS>;

const selectCredential: Statement = {
  name: 'users.select-credential',
  text: `select ${CREDENTIALS.list} from users where sign_in_name = $1`,
};

const selectPassword: Statement = {
  name: 'users.select-password',
  text: `select ${CREDENTIALS.list} from users where id = $1`,
};

/** Locks all operators, so that two of them cannot remove each other's role at the same time. Uses users_by_operator_role. */
const lockOperators: Statement = {
  name: 'users.lock-operators',
  text: `select id from users where operator_role = 'operator' and status = 'active' order by id for update`,
};

const CHANGED = selection({
  name: textColumn('name'),
  email: orNull(textColumn('email')),
  operatorRole: orNull(textColumn<OperatorRole>('operator_role')),
  status: textColumn<UserStatus>('status'),
  /** Token whose end suspends the user; `null`: none. */
  unconfirmedTokenId: orNull(textColumn('unconfirmed_token_id')),
});

export type ChangedUser = RowOf<typeof CHANGED>;

const lockUser: Statement = {
  name: 'users.lock',
  text: `select ${CHANGED.list} from users where id = $1 for update`,
};

const updateUser: Statement = {
  name: 'users.update',
  text: `update users set name = $2, email = $3, sign_in_name = $4, operator_role = $5, status = $6 where id = $1`,
};

const confirmUser: Statement = {
  name: 'users.confirm',
  text: 'update users set unconfirmed_token_id = null where id = $1 returning id',
};

/** Makes links of a user independent of the token that created them. Uses user_links_by_user. */
const confirmLinks: Statement = {
  name: 'users.confirm-links',
  text: 'update user_links set created_by_token_id = null where user_id = $1 and created_by_token_id is not null',
};

/** Changes the password only if the stored hash is still the one that was checked; `$3` null: none was checked. */
const updatePassword: Statement = {
  name: 'users.update-password',
  text: `update users set password_hash = $2 where id = $1 and ($3::text is null or password_hash = $3) returning id`,
};

/** Deletes links of a user. Uses user_links_by_user. */
export const deleteLinksOf: Statement = {
  name: 'users.delete-links',
  text: 'delete from user_links where user_id = $1 and used_at is null',
};

const selectOperator: Statement = {
  name: 'users.select-operator',
  text: `select id from users where operator_role = 'operator' and status = 'active' limit 1`,
};

const listAccountsOf: Statement = {
  name: 'users.list-accounts',
  text: 'select account_id from memberships where user_id = $1 order by account_id',
};

/** Deletes a user. The database then also deletes memberships, sessions and links. */
const deleteUser: Statement = { name: 'users.delete', text: 'delete from users where id = $1' };

interface NewUser {
  readonly id: string;
  readonly email: string | null;
  readonly name: string;
  readonly passwordHash: string | null;
  readonly operatorRole: OperatorRole | null;
  readonly memberships: readonly { readonly accountId: string; readonly role: AccountRole }[];
  /** Token whose end suspends the user, unless an operator confirms the user; `null`: none. */
  readonly unconfirmedTokenId?: string | null;
  readonly at: Date;
}

interface UserChangeTerms {
  /** Whether the change is refused if no other active operator is left. */
  readonly keepsOperator: boolean;
  /** Whether a new role, or the end of a suspension, also confirms the user. False for changes by a token. */
  readonly confirms: boolean;
  readonly refuse: (user: ChangedUser, changed: ChangedUser) => UserRefusal | null;
}

interface UserChange {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly operatorRole?: OperatorRole | null | undefined;
  readonly status?: UserStatus | undefined;
}

export type UserStore = ReturnType<typeof createUserStore>;

/** Sets a password. Also ends all other sessions, and deletes the user's unused links. */
export async function setPassword(
  transaction: DirectoryQueryable,
  userId: string,
  hash: string,
  { checkedHash, exceptSessionId }: { readonly checkedHash: string | null; readonly exceptSessionId: string | null },
): Promise<boolean> {
  const [changed] = await transaction.query(updatePassword, [userId, hash, checkedHash]);
  if (changed === undefined) return false;
  await transaction.query(deleteSessionsOf, [userId, exceptSessionId]);
  await transaction.query(deleteLinksOf, [userId]);
  return true;
}

/** Inserts a user. If the result is a refusal, the caller must roll back. */
export async function insertUserWith(transaction: DirectoryQueryable, user: NewUser): Promise<UserRefusal | null> {
  const { id, email, name, passwordHash, operatorRole, memberships, at, unconfirmedTokenId = null } = user;
  if (unconfirmedTokenId !== null && !(await isActive(transaction, unconfirmedTokenId, at))) return 'token_ended';
  if (email === null && isLikeEmail(name)) return 'name_like_email';
  const values = [id, email, name, signInNameOf(email, name), passwordHash, operatorRole, at, unconfirmedTokenId];
  const [inserted] = await transaction.query(insertUser, values);
  if (inserted === undefined) return 'name_taken';
  // Accounts are locked in the order of ids, which prevents deadlocks.
  for (const { accountId, role } of memberships.toSorted((a, b) => (a.accountId < b.accountId ? -1 : 1))) {
    const refusal = await addMembership(transaction, { userId: id, accountId, role, at });
    if (refusal !== null && refusal !== 'already') return refusal;
  }
  return null;
}

async function confirm(transaction: DirectoryQueryable, id: string): Promise<boolean> {
  const confirmed = await transaction.query(confirmUser, [id]);
  await transaction.query(confirmLinks, [id]);
  return confirmed.length > 0;
}

async function isLastOperator(transaction: DirectoryQueryable, id: string): Promise<boolean> {
  const operators = await transaction.query<{ id: string }>(lockOperators);
  return operators.every((operator) => operator.id === id) && operators.length > 0;
}

export function createUserStore(database: DirectoryPool) {
  const findOne = async (statement: Statement, key: string): Promise<UserCredential | null> =>
    CREDENTIALS.first(await database.query(statement, [key]));

  return {
    ...createUserList(database),
    insert: (user: NewUser) => orRolledBack(database, (transaction) => insertUserWith(transaction, user)),
    findCredential: (signInName: string) => findOne(selectCredential, foldSignInName(signInName)),
    credentialOf: (userId: string) => findOne(selectPassword, userId),
    hasOperator: async () => (await database.query(selectOperator)).length > 0,
    /** Changes a user. A suspension deletes the sessions and links of the user. */
    change: (id: string, change: UserChange, { keepsOperator, confirms, refuse }: UserChangeTerms) =>
      orRolledBack<UserRefusal | 'absent'>(database, async (transaction) => {
        const keeps = keepsOperator && (change.operatorRole !== undefined || change.status !== undefined);
        const wouldBeLast = keeps && (await isLastOperator(transaction, id));
        const user = CHANGED.first(await transaction.query(lockUser, [id]));
        if (user === null) return 'absent';
        const name = change.name ?? user.name;
        const email = change.email === undefined ? user.email : change.email;
        const role = change.operatorRole === undefined ? user.operatorRole : change.operatorRole;
        const status = change.status ?? user.status;
        if (wouldBeLast && (role !== 'operator' || status !== 'active')) return 'last_operator';
        if (email === null && isLikeEmail(name)) return 'name_like_email';
        const changed = { ...user, name, email, operatorRole: role, status };
        const refusal = refuse(user, changed);
        if (refusal !== null) return refusal;
        const signInName = signInNameOf(email, name);
        await transaction.query(updateUser, [id, name, email, signInName, role, status]);
        if (status === 'suspended') {
          await transaction.query(deleteSessionsOf, [id, null]);
          await transaction.query(deleteLinksOf, [id]);
        }
        const isGiven = change.status === 'active' || (role !== null && role !== user.operatorRole);
        if (confirms && isGiven && user.unconfirmedTokenId !== null) await confirm(transaction, id);
        return null;
      }),
    confirm: (id: string) => database.transaction((transaction) => confirm(transaction, id)),
    delete: (id: string, keepsOperator: boolean) =>
      orRolledBack<'last_operator' | 'absent'>(database, async (transaction) => {
        if (keepsOperator && (await isLastOperator(transaction, id))) return 'last_operator';
        const [user] = await transaction.query(lockUser, [id]);
        if (user === undefined) return 'absent';
        const accounts = await transaction.query<{ account_id: string }>(listAccountsOf, [id]);
        await transaction.query(deleteUser, [id]);
        for (const account of accounts) await announceChange(transaction, account.account_id);
        return null;
      }),
    /** Changes a password and ends other sessions. Returns false if the user was deleted or the password was changed in the meantime. */
    changePassword: (id: string, hash: string, checkedHash: string, exceptSessionId: string) =>
      database.transaction((transaction) => setPassword(transaction, id, hash, { checkedHash, exceptSessionId })),
  };
}
