import type { Statement } from '../db/database.ts';
import { deleteInBatches, expiredRows } from '../db/expired-rows-store.ts';
import type { DirectoryPool, DirectoryQueryable } from '../db/home-pools.ts';
import { orRolledBack } from '../db/rollback-store.ts';
import { booleanColumn, dateColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { AccountRole, OperatorRole } from './actor.ts';
import { isActive } from './admin-tokens-store.ts';
import type { GrantRefusal } from './grants.ts';
import { addIdentity, type IdentityRefusal, type NewIdentity } from './identity-store.ts';
import { addMembership, lockAccount, type MembershipRefusal } from './membership-store.ts';
import { INVITATIONS_A_DAY_MAX, OPEN_INVITATIONS_MAX, type UserRefusal } from './user.ts';
import { deleteLinksOf, insertUserWith, setPassword } from './user-store.ts';

export type LinkKind = 'first_sign_in' | 'invitation' | 'reset';

const insertLink: Statement = {
  name: 'user-links.insert',
  text: `insert into user_links (
  id, token_hash, kind, user_id, email, account_id, role, created_by, created_at, expires_at, created_by_user_id, created_by_token_id
)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
};

/**
 * SQL: whether the creator of link `l`, a user or a token, might still create it at $2. A link stops working when its creator loses the
 * role or the token ends. Null columns: no user, or no token, created the link.
 */
const IS_IN_FORCE = `(l.created_by_user_id is null or exists (
  select from users o left join memberships m on m.user_id = o.id and m.account_id = l.account_id
  where o.id = l.created_by_user_id and o.status = 'active'
    and case when l.kind = 'invitation' then m.role = 'owner' else o.operator_role = 'operator' end
)) and (l.created_by_token_id is null or exists (
  select from admin_tokens t
  where t.id = l.created_by_token_id and t.revoked_at is null and (t.expires_at is null or t.expires_at > $2::timestamptz)
))`;

const LOCKED_USERS = selection({
  id: textColumn('id'),
  name: textColumn('name'),
  email: orNull(textColumn('email')),
  operatorRole: orNull(textColumn<OperatorRole>('operator_role')),
  hasPassword: booleanColumn('password_hash is not null as has_password'),
});

export type LockedUser = RowOf<typeof LOCKED_USERS>;

const lockUser: Statement = {
  name: 'user-links.lock-user',
  text: `select ${LOCKED_USERS.list} from users where id = $1 and status = 'active' for no key update`,
};

/** Counts invitations of the last day. Used links are kept for longer, so they are included. Uses user_links_by_account. */
const countInvitations: Statement = {
  name: 'user-links.count-invitations',
  text: `select count(*) filter (where used_at is null and expires_at > $2::timestamptz and ${IS_IN_FORCE})::int as open,
  count(*) filter (where created_at > $2::timestamptz - interval '1 day')::int as made
from user_links l where account_id = $1`,
};

const LINK_VIEWS = selection({
  id: textColumn('l.id'),
  kind: textColumn<LinkKind>('l.kind'),
  userId: orNull(textColumn('l.user_id')),
  email: orNull(textColumn('coalesce(l.email, u.email) as email')),
  name: orNull(textColumn('u.name')),
  accountId: orNull(textColumn('l.account_id')),
  accountName: orNull(textColumn('a.name as account_name')),
  role: orNull(textColumn<AccountRole>('l.role')),
  expiresAt: dateColumn('l.expires_at'),
});

export type LinkView = RowOf<typeof LINK_VIEWS>;

/** Selects a link. Uses user_links_by_token. */
const lookUp: Statement = {
  name: 'user-links.look',
  text: `select ${LINK_VIEWS.list}
from user_links l left join users u on u.id = l.user_id left join accounts a on a.id = l.account_id
where l.token_hash = $1 and l.used_at is null and l.expires_at > $2::timestamptz and (u.id is null or u.status = 'active')
  and ${IS_IN_FORCE}`,
};

const LINKED = selection({
  userId: orNull(textColumn('l.user_id')),
  /** Token that created the link, or that created the user who created the link. When the token ends, the new user is suspended. */
  tokenId: orNull(
    textColumn(
      'coalesce(l.created_by_token_id, (select o.unconfirmed_token_id from users o where o.id = l.created_by_user_id)) as token_id',
    ),
  ),
});

const findLinked: Statement = {
  name: 'user-links.find-linked',
  text: `select ${LINKED.list} from user_links l where token_hash = $1`,
};

const TAKEN_LINKS = selection({
  kind: textColumn<LinkKind>('kind'),
  email: orNull(textColumn('email')),
  accountId: orNull(textColumn('account_id')),
  role: orNull(textColumn<AccountRole>('role')),
});

/** Takes a link. A second use at the same time waits for the row lock, and then fails. Uses user_links_by_token. */
const takeLink: Statement = {
  name: 'user-links.take',
  text: `update user_links l set used_at = $2
where token_hash = $1 and used_at is null and expires_at > $2::timestamptz and ${IS_IN_FORCE}
returning ${TAKEN_LINKS.list}`,
};

const INVITATIONS = selection({
  id: textColumn('id'),
  email: orNull(textColumn('email')),
  role: textColumn<AccountRole>('role'),
  createdBy: textColumn('created_by'),
  createdAt: dateColumn('created_at'),
  expiresAt: dateColumn('expires_at'),
});

export type Invitation = RowOf<typeof INVITATIONS>;

const listInvitations: Statement = {
  name: 'user-links.list-invitations',
  text: `select ${INVITATIONS.list} from user_links l
where account_id = $1 and used_at is null and expires_at > $2::timestamptz and ${IS_IN_FORCE}
order by id desc limit ${OPEN_INVITATIONS_MAX}`,
};

const deleteInvitation: Statement = {
  name: 'user-links.delete-invitation',
  text: 'delete from user_links where id = $2 and account_id = $1 and used_at is null returning id',
};

const updateName: Statement = { name: 'user-links.update-name', text: 'update users set name = $2 where id = $1' };

/** Records the token that created the link. Its end suspends the user. */
const noteToken: Statement = {
  name: 'user-links.note-token',
  text: 'update users set unconfirmed_token_id = $2 where id = $1 and unconfirmed_token_id is null',
};

const deleteExpired = expiredRows('user-links.delete-expired', 'user_links', 'id');

interface NewLink {
  readonly id: string;
  readonly tokenHash: Buffer;
  readonly createdBy: string;
  /** The user who created the link; `null`: no user. The link stops working when this user may no longer create such a link. */
  readonly createdByUserId: string | null;
  /** The token that created the link; `null`: no token. The link stops working when this token ends. */
  readonly createdByTokenId: string | null;
  readonly at: Date;
  readonly expiresAt: Date;
}

interface NewInvitation extends NewLink {
  readonly email: string | null;
  readonly accountId: string;
  readonly role: AccountRole;
}

/** Why a link cannot be used. `void`: it is used, expired or unknown. After any other refusal, it stays valid. */
export type LinkRefusal = 'void' | UserRefusal | MembershipRefusal | IdentityRefusal;

/** How a link is used: to set a password or add an identity, for its user or a new one, or by a signed-in user who accepts. */
export type LinkUse =
  | { readonly newUserId: string; readonly name: string | null; readonly passwordHash: string }
  | { readonly newUserId: string; readonly name: string; readonly email: string | null; readonly identity: NewIdentity }
  | { readonly userId: string };

export type InvitationsLimit = 'too_many_open' | 'too_many_made';

export type LinkStore = ReturnType<typeof createLinkStore>;

export function createLinkStore(database: DirectoryPool) {
  async function apply(
    transaction: DirectoryQueryable,
    { kind, accountId, role, email }: RowOf<typeof TAKEN_LINKS>,
    user: LockedUser | null,
    use: LinkUse,
    tokenId: string | null,
    at: Date,
  ): Promise<{ readonly userId: string } | LinkRefusal> {
    if (user !== null) {
      if (tokenId !== null) await transaction.query(noteToken, [user.id, tokenId]);
      if ('identity' in use) {
        if (kind !== 'first_sign_in') return 'void';
        return (await addIdentity(transaction, user.id, use.identity, at)) ?? { userId: user.id };
      }
      if (!('passwordHash' in use)) return 'void';
      const { passwordHash, name } = use;
      await setPassword(transaction, user.id, passwordHash, { checkedHash: null, exceptSessionId: null });
      // The name stays if a user without an e-mail address signs in with it.
      if (name !== null && !user.hasPassword && user.email !== null) {
        await transaction.query(updateName, [user.id, name]);
      }
      return { userId: user.id };
    }
    if (accountId === null || role === null) return 'void';
    if ('userId' in use) {
      const refusal = await addMembership(transaction, { userId: use.userId, accountId, role, at });
      return refusal ?? { userId: use.userId };
    }
    const { newUserId: id, name } = use;
    const isByIdentity = 'identity' in use;
    const ownEmail = email ?? (isByIdentity ? use.email : null);
    const refusal = await insertUserWith(transaction, {
      id,
      email: ownEmail,
      name: name ?? ownEmail ?? '',
      passwordHash: isByIdentity ? null : use.passwordHash,
      operatorRole: null,
      memberships: [{ accountId, role }],
      unconfirmedTokenId: tokenId,
      at,
    });
    if (refusal !== null) return refusal;
    return (isByIdentity ? await addIdentity(transaction, id, use.identity, at) : null) ?? { userId: id };
  }

  return {
    /**
     * Creates a link to set a password, and deletes earlier ones. Its kind depends on whether the user has a password. Returns `suspended`
     * if the user is suspended or absent. `refuse` returns the reason for a refusal, or `null`.
     */
    insertForUser: (userId: string, link: NewLink, kind: LinkKind, refuse: (user: LockedUser) => GrantRefusal | null) =>
      database.transaction(async (transaction) => {
        const user = await lockActive(transaction, userId);
        if (user === null) return 'suspended';
        const refusal = refuse(user);
        if (refusal !== null) return refusal;
        await transaction.query(deleteLinksOf, [userId]);
        await transaction.query(insertLink, valuesOf(link, kind, userId, null));
        return null;
      }),
    /** Creates a link to replace the password of a user. Returns `false` if the user may not have one, or has another address by now. */
    insertReset: (userId: string, email: string, link: NewLink) =>
      database.transaction(async (transaction) => {
        const user = await lockActive(transaction, userId);
        if (user === null || !user.hasPassword || user.email !== email) return false;
        await transaction.query(insertLink, valuesOf(link, 'reset', userId, null));
        return true;
      }),
    insertInvitation: (invitation: NewInvitation): Promise<InvitationsLimit | null> =>
      database.transaction(async (transaction) => {
        await transaction.query(lockAccount, [invitation.accountId]);
        const parameters = [invitation.accountId, invitation.at];
        const [counts] = await transaction.query<{ open: number; made: number }>(countInvitations, parameters);
        if (counts!.open >= OPEN_INVITATIONS_MAX) return 'too_many_open';
        if (counts!.made >= INVITATIONS_A_DAY_MAX) return 'too_many_made';
        await transaction.query(insertLink, valuesOf(invitation, 'invitation', null, invitation));
        return null;
      }),
    look: async (tokenHash: Buffer, at: Date) => LINK_VIEWS.first(await database.query(lookUp, [tokenHash, at])),
    async use(tokenHash: Buffer, use: LinkUse, at: Date): Promise<{ readonly userId: string } | LinkRefusal> {
      let result: { readonly userId: string } | null = null;
      const refusal = await orRolledBack<LinkRefusal>(database, async (transaction) => {
        // Users are locked before links everywhere, which prevents deadlocks.
        const found = LINKED.first(await transaction.query(findLinked, [tokenHash]));
        if (found === null) return 'void';
        const { userId, tokenId } = found;
        // A token is locked before the users that its end suspends.
        if (tokenId !== null && !(await isActive(transaction, tokenId, at))) return 'void';
        const user = userId === null ? null : await lockActive(transaction, userId);
        if (userId !== null && user === null) return 'void';
        const link = TAKEN_LINKS.first(await transaction.query(takeLink, [tokenHash, at]));
        if (link === null) return 'void';
        const done = await apply(transaction, link, user, use, tokenId, at);
        if (typeof done === 'string') return done;
        result = done;
        return null;
      });
      return refusal ?? result!;
    },
    listInvitations: async (accountId: string, at: Date) =>
      INVITATIONS.all(await database.query(listInvitations, [accountId, at])),
    deleteInvitation: async (accountId: string, id: string) =>
      (await database.query(deleteInvitation, [accountId, id])).length > 0,
    deleteExpired: (atMs: number, signal: AbortSignal) =>
      deleteInBatches(database, deleteExpired, new Date(atMs), signal),
  };
}

async function lockActive(transaction: DirectoryQueryable, userId: string): Promise<LockedUser | null> {
  return LOCKED_USERS.first(await transaction.query(lockUser, [userId]));
}

function valuesOf(
  { id, tokenHash, createdBy, createdByUserId, createdByTokenId, at, expiresAt }: NewLink,
  kind: LinkKind,
  userId: string | null,
  invitation: Pick<NewInvitation, 'email' | 'accountId' | 'role'> | null,
) {
  const { email = null, accountId = null, role = null } = invitation ?? {};
  const by = [createdByUserId, createdByTokenId];
  return [id, tokenHash, kind, userId, email, accountId, role, createdBy, at, expiresAt, ...by];
}
