import { type Statement, toArray } from '../../db/database.ts';
import type { DirectoryPool } from '../../db/home-pools.ts';
import { createNameSearch } from '../../db/name-search.ts';
import {
  booleanColumn,
  dateColumn,
  jsonbColumn,
  listColumn,
  orNull,
  type RowOf,
  selection,
  textColumn,
} from '../../db/table.ts';
import { type LookedThrough, type SliceTiming, UNHURRIED } from '../../lib/slices.ts';
import { createApiKeyStore, namesOf } from './api-key-store.ts';
import { announceChange } from './principal-change-store.ts';
import { RECORDED_FACTS, type RecordingChange } from './recording.ts';
import { RECORDING } from './recording-tables.ts';

export type AccountStatus = 'active' | 'suspended';

/** Who receives the statements, receipts and invoices of an account. */
export interface Buyer {
  readonly companyName: string;
  readonly taxNumber: string | null;
  readonly address: string | null;
  readonly email: string | null;
}

const ACCOUNTS = selection({
  id: textColumn('id'),
  name: textColumn('name'),
  email: orNull(textColumn('email')),
  verified: booleanColumn('verified'),
  status: textColumn<AccountStatus>('status'),
  statusReason: orNull(textColumn('status_reason')),
  /** `null`: the account has had the same status since its creation. */
  statusChangedAt: orNull(dateColumn('status_changed_at')),
  membersSeeBalance: booleanColumn('members_see_balance'),
  recording: RECORDING,
  /** Id of the account's group, which may no longer be configured; `null`: none. */
  groupId: orNull(textColumn('group_id')),
  /** Canonical ids of the models that the account may use; `null`: every model. */
  allowedModels: orNull(listColumn('allowed_models')),
  /** `null`: not entered. */
  buyer: orNull(jsonbColumn<Buyer>('buyer')),
  createdAt: dateColumn('created_at'),
});

export type Account = RowOf<typeof ACCOUNTS>;

const updateAccount: Statement = {
  name: 'accounts.update',
  text: `update accounts set
  name = coalesce($2, name), email = coalesce($3, email), verified = coalesce($4::boolean, verified),
  status = coalesce($5, status), updated_at = $6, status_reason = case when $5 is null then status_reason else $7 end,
  status_changed_at = case when $5 is distinct from status and $5 is not null then $6 else status_changed_at end,
  members_see_balance = coalesce($8::boolean, members_see_balance),
  group_id = case when $9::boolean then $10 else group_id end,
  allowed_models = case when $11::boolean then $12::text[] else allowed_models end,
  records_client_address = coalesce($13::boolean, records_client_address),
  records_program = coalesce($14::boolean, records_program),
  records_end_user = coalesce($15::boolean, records_end_user),
  buyer = case when $16::boolean then $17::jsonb else buyer end
where id = $1
returning ${ACCOUNTS.list}`,
};

const selectNames: Statement = {
  name: 'accounts.names',
  text: 'select id, name from accounts where id = any($1::text[])',
};

const selectAccount: Statement = {
  name: 'accounts.select',
  text: `select ${ACCOUNTS.list} from accounts where id = $1`,
};

/** Accounts with an exact name or e-mail address. Few accounts share a name. Uses accounts_by_name and accounts_by_email. */
const listNamed: Statement = {
  name: 'accounts.list-named',
  text: `select id from (
  select id from accounts where name = $1::text
  union select id from accounts where email = $1::text
) named
where $2::text is null or id < $2 order by id desc limit $3::int`,
};

/** Uses accounts_by_group. */
const listOfGroup: Statement = {
  name: 'accounts.list-of-group',
  text: `select id from accounts where group_id = $1::text and ($2::text is null or id < $2) order by id desc limit $3::int`,
};

/** Counts accounts per group, at most `$1` each. Finds each group by one index entry. Uses accounts_by_group. */
const countByGroup: Statement = {
  name: 'accounts.count-by-group',
  text: `with recursive named as (
  select min(group_id) as id from accounts where group_id is not null
  union all
  select (select min(a.group_id) from accounts a where a.group_id > named.id) from named where named.id is not null
)
select named.id, counted.accounts from named cross join lateral (
  select count(*)::int as accounts
  from (select from accounts a where a.group_id = named.id limit $1::int) of_group
) counted
where named.id is not null`,
};

const selectListed: Statement = {
  name: 'accounts.select-listed',
  text: `select ${ACCOUNTS.list} from accounts where id = any ($1::text[]) order by id desc`,
};

interface AccountFilter {
  /** Finds an account by its id, or accounts by a part of their name or e-mail address, ignoring case. */
  readonly search?: string | undefined;
  readonly name?: string | undefined;
  readonly groupId?: string | undefined;
}

export interface AccountFields {
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly verified?: boolean | undefined;
  readonly status?: AccountStatus | undefined;
  /** Why the status is changed; absent: without a reason. */
  readonly statusReason?: string | undefined;
  readonly membersSeeBalance?: boolean | undefined;
  readonly groupId?: string | null | undefined;
  readonly allowedModels?: readonly string[] | null | undefined;
  readonly recording?: RecordingChange | undefined;
  readonly buyer?: Buyer | null | undefined;
}

export type AccountStore = ReturnType<typeof createAccountStore>;

export function createAccountStore(database: DirectoryPool) {
  const search = createNameSearch(database, 'accounts');
  return {
    ...createApiKeyStore(database),
    /** Changes an account. Returns `null` if it does not exist. Every node drops the account's cached keys. */
    updateAccount: (id: string, change: AccountFields, at: Date): Promise<Account | null> =>
      database.transaction(async (transaction) => {
        const values = [change.name ?? null, change.email ?? null, change.verified ?? null, change.status ?? null];
        const rows = await transaction.query(updateAccount, [
          id,
          ...values,
          at,
          change.statusReason ?? null,
          change.membersSeeBalance ?? null,
          change.groupId !== undefined,
          change.groupId ?? null,
          change.allowedModels !== undefined,
          change.allowedModels ? toArray(change.allowedModels) : null,
          ...RECORDED_FACTS.map((fact) => change.recording?.[fact] ?? null),
          change.buyer !== undefined,
          change.buyer ? JSON.stringify(change.buyer) : null,
        ]);
        if (rows.length > 0) await announceChange(transaction, id);
        return ACCOUNTS.first(rows);
      }),
    /** Returns the number of accounts of each group that has any, counted up to a maximum. */
    async countByGroup(accountsMax: number): Promise<ReadonlyMap<string, number>> {
      const rows = await database.query<{ id: string; accounts: number }>(countByGroup, [accountsMax]);
      return new Map(rows.map(({ id, accounts }) => [id, accounts]));
    },
    /** Returns names by account id. Unknown ids are absent. */
    findNames: (ids: readonly string[]): Promise<ReadonlyMap<string, string>> => namesOf(database, selectNames, ids),
    findAccount: async (id: string): Promise<Account | null> =>
      ACCOUNTS.first(await database.query(selectAccount, [id])),
    /** Lists accounts, newest first. At the time limit, returns those found so far and where to continue. */
    async listAccounts(
      { search: part, name, groupId }: AccountFilter,
      beforeId: string | null,
      limit: number,
      timing: SliceTiming = UNHURRIED,
    ): Promise<LookedThrough<Account>> {
      const list = async (statement: Statement, value: string): Promise<LookedThrough<string>> => {
        const listed = await database.query<{ id: string }>(statement, [value, beforeId, limit]);
        return { items: listed.map(({ id }) => id), next: listed.length === limit ? listed.at(-1)!.id : null };
      };
      const found = (): Promise<LookedThrough<string>> => {
        if (name !== undefined) return list(listNamed, name);
        return groupId === undefined ? search(part, beforeId, limit, timing) : list(listOfGroup, groupId);
      };
      const { items, next } = await found();
      const rows = items.length === 0 ? [] : await database.query(selectListed, [toArray(items)]);
      return { items: ACCOUNTS.all(rows), next };
    },
  };
}
