import type { Statement } from '../db/database.ts';
import type { DirectoryQueryable } from '../db/home-pools.ts';
import { createNameSearch } from '../db/name-search.ts';
import { booleanColumn, dateColumn, jsonbColumn, orNull, type RowOf, selection, textColumn } from '../db/table.ts';
import type { LookedThrough, SliceTiming } from '../lib/slices.ts';
import type { Membership, OperatorRole } from './actor.ts';
import { foldSignInName } from './sign-in-name.ts';
import type { UserStatus } from './user.ts';

interface UserMembership extends Membership {
  readonly accountName: string;
}

const USERS = selection({
  id: textColumn('u.id'),
  /** E-mail address, which was not verified. */
  email: orNull(textColumn('u.email')),
  name: textColumn('u.name'),
  operatorRole: orNull(textColumn<OperatorRole>('u.operator_role')),
  status: textColumn<UserStatus>('u.status'),
  hasPassword: booleanColumn('u.password_hash is not null as has_password'),
  unconfirmedTokenId: orNull(textColumn('u.unconfirmed_token_id')),
  createdAt: dateColumn('u.created_at'),
  lastSignInAt: orNull(dateColumn('u.last_sign_in_at')),
  memberships: jsonbColumn<readonly UserMembership[]>(`(
    select coalesce(jsonb_agg(jsonb_build_object('accountId', m.account_id, 'accountName', a.name, 'role', m.role)
      order by m.account_id), '[]'::jsonb)
    from memberships m join accounts a on a.id = m.account_id where m.user_id = u.id
  ) as memberships`),
});

export type User = RowOf<typeof USERS>;

const selectUser: Statement = {
  name: 'users.select',
  text: `select ${USERS.list} from users u where u.id = $1`,
};

const selectListed: Statement = {
  name: 'users.select-listed',
  text: `select ${USERS.list} from users u
where u.id in (select jsonb_array_elements_text($1::jsonb)) order by u.id desc`,
};

const listNamed: Statement = {
  name: 'users.list-named',
  text: 'select id from users where sign_in_name = $1 and ($2::text is null or id < $2)',
};

/** Selects operators. Uses users_by_operator_role, which has few rows. */
const listOperators: Statement = {
  name: 'users.list-operators',
  text: `select id from users where operator_role is not null and ($1::text is null or id < $1)
order by id desc limit $2::int`,
};

interface UserFilter {
  /** A part of the name or e-mail address, in any case, or the complete id. */
  readonly search?: string | undefined;
  readonly signInName?: string | undefined;
  readonly isOperator?: boolean | undefined;
}

export function createUserList(database: DirectoryQueryable) {
  const findByName = createNameSearch(database, 'users');

  async function listIds(filter: UserFilter, beforeId: string | null, limit: number, timing: SliceTiming) {
    const { search, signInName, isOperator } = filter;
    if (signInName !== undefined || isOperator === true) {
      const rows =
        signInName !== undefined
          ? await database.query<{ id: string }>(listNamed, [foldSignInName(signInName), beforeId])
          : await database.query<{ id: string }>(listOperators, [beforeId, limit]);
      const items = rows.map(({ id }) => id);
      return { items, next: items.length === limit ? items.at(-1)! : null };
    }
    return findByName(search, beforeId, limit, timing);
  }

  return {
    find: async (id: string) => USERS.first(await database.query(selectUser, [id])),
    /** Lists users. At the time limit, returns those found so far and where to continue. */
    async list(
      filter: UserFilter,
      beforeId: string | null,
      limit: number,
      timing: SliceTiming,
    ): Promise<LookedThrough<User>> {
      const { items, next } = await listIds(filter, beforeId, limit, timing);
      const rows = items.length === 0 ? [] : await database.query(selectListed, [JSON.stringify(items)]);
      return { items: USERS.all(rows), next };
    },
  };
}
