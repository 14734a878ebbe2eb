import type { CallerBudgetName } from '../accounting/accounts/caller-budget-ids.ts';
import { type Statement, toArray } from '../db/database.ts';
import type { DirectoryQueryable } from '../db/home-pools.ts';
import { orNull, type RowOf, selection, textColumn } from '../db/table.ts';

const OWNERS = selection({
  accountId: textColumn('account_id'),
  id: textColumn('id'),
  name: textColumn('name'),
  /** Beginning of the key, as lists show it; `null` for members. */
  prefix: orNull(textColumn('prefix')),
  /** The member, or the member who owns the key; `null`: the key belongs to the account. */
  userId: orNull(textColumn('user_id')),
});

/** A key that can be used, a member of the account, or a caller, whose id is the kind. */
export interface BudgetOwner extends Omit<RowOf<typeof OWNERS>, 'name'> {
  /** `null`: the end users, or the tags, that share the default budget. */
  readonly name: string | null;
}

interface BudgetOfOwner {
  readonly accountId: string;
  readonly ownerId: string;
  readonly caller: CallerBudgetName | null;
}

/** Selects the owners of budgets, without former members and keys that are revoked or have expired. Uses api_keys_by_id and primary keys. */
const selectOwners: Statement = {
  name: 'notices.select-budget-owners',
  text: `select k.account_id, k.id, k.name, k.prefix, k.user_id
from unnest($1::text[]) as o (id) join api_keys k on k.id = o.id
where k.revoked_at is null and (k.expires_at is null or k.expires_at > $3::timestamptz)
union all
select m.account_id, u.id, u.name, null, u.id
from unnest($1::text[]) as o (id) join users u on u.id = o.id join memberships m on m.user_id = u.id
where m.account_id = any ($2::text[])`,
};

/** Reads the owners of budgets by account and id. */
export async function readBudgetOwners(
  directory: DirectoryQueryable,
  budgets: readonly BudgetOfOwner[],
  nowMs: number,
): Promise<(budget: BudgetOfOwner) => BudgetOwner | null> {
  const stored = budgets.filter(({ caller }) => caller === null);
  const ids = [...new Set(stored.map(({ ownerId }) => ownerId))];
  const accountIds = [...new Set(stored.map(({ accountId }) => accountId))];
  const parameters = [toArray(ids), toArray(accountIds), new Date(nowMs)];
  const rows = ids.length === 0 ? [] : OWNERS.all(await directory.query(selectOwners, parameters));
  const owners = new Map(rows.map((owner) => [`${owner.accountId} ${owner.id}`, owner]));
  return ({ accountId, ownerId, caller }) =>
    caller === null
      ? (owners.get(`${accountId} ${ownerId}`) ?? null)
      : { accountId, id: ownerId, name: caller.value, prefix: null, userId: null };
}
