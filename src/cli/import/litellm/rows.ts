import type { ForeignDatabase } from '../foreign-books.ts';

/** A budget of a key. Amounts are in dollars, as text from the database. */
export interface KeyBudget {
  readonly maxBudget: string;
  readonly spend: string;
  /** Time after which the budget is renewed; `null`: never. */
  readonly budgetDuration: string | null;
}

/**
 * SQL: the condition for keys of clients. A sign-in to the dashboard is a key of a team that does not exist, and some keys are only for the
 * administration of LiteLLM.
 */
export const IS_READ = `token ~ '^[0-9a-f]{64}$' and team_id is distinct from 'litellm-dashboard'
  and not coalesce(cardinality(allowed_routes) > 0 and allowed_routes <@ '{management_routes,info_routes}', false)`;

/** SQL: budgets of a key that are not in its row, with the amounts spent. */
const FURTHER_BUDGETS = `(select json_agg(json_build_object('maxBudget', w.max_budget, 'spend', coalesce(s.spend, 0)::text, 'budgetDuration', w.budget_duration))
    from jsonb_to_recordset(case jsonb_typeof(t.budget_limits) when 'array' then t.budget_limits else '[]' end) w (max_budget text, budget_duration text)
    left join "LiteLLM_BudgetWindowSpend" s on s.entity_type = 'key' and s.entity_id = t.token and s.window_duration = w.budget_duration
    where w.max_budget is not null)::text`;

type Row = Awaited<ReturnType<ForeignDatabase['select']>>[number];

/** A team or a user. */
export type OwnerRow = ReturnType<typeof toOwner>;
export type KeyRow = ReturnType<typeof toKey>;

/** Reads teams and users. Users to whom only keys refer are included. */
export async function readOwners(database: ForeignDatabase): Promise<OwnerRow[]> {
  const rows = await database.select(`select * from (
select 'team:' || team_id as ref, coalesce(nullif(team_alias, ''), team_id) as name, null as email,
  array_to_json(models)::text as models, blocked::text as blocked, max_budget::text as max_budget, spend::text as spend,
  nullif(budget_duration, '') as budget_duration from "LiteLLM_TeamTable"
union all select 'user:' || user_id, coalesce(nullif(user_alias, ''), nullif(user_email, ''), user_id), nullif(user_email, ''),
  array_to_json(models)::text, 'false', max_budget::text, spend::text, nullif(budget_duration, '') from "LiteLLM_UserTable"
union all select distinct 'user:' || user_id, user_id, null, '[]', 'false', null, '0', null from "LiteLLM_VerificationToken"
  where user_id <> '' and user_id not in (select user_id from "LiteLLM_UserTable")
) owners order by ref collate "C"`);
  return rows.map(toOwner);
}

const toOwner = (row: Row) => ({
  /** Reference such as `team:ID` or `user:ID`. */
  ref: row.ref!,
  name: row.name!,
  email: row.email ?? null,
  models: listOf(row.models),
  isBlocked: row.blocked === 'true',
  /** Amount in dollars, as text from the database; the next one is, too. */
  maxBudget: row.max_budget ?? null,
  spend: row.spend!,
  budgetDuration: row.budget_duration ?? null,
});

/** Reads keys. A limit of a shared budget applies if the key has none; LiteLLM ignores `max_parallel_requests` of shared budgets. */
export async function readKeys(database: ForeignDatabase): Promise<KeyRow[]> {
  const rows =
    await database.select(`select token, k.models, k.name, k.shown, k.owner, k.blocked, k.is_of_missing_team, k.expires, k.spend, k.max_budget,
  k.budget_duration, k.budgets, k.parallel_max, k.requests_max, k.tokens_max from (
  select token, array_to_json(t.models)::text as models, coalesce(nullif(key_alias, ''), key_name, left(token, 8)) as name, key_name as shown,
    case when m.team_id is not null then 'team:' || m.team_id when t.user_id <> '' then 'user:' || t.user_id else 'nobody' end as owner,
    coalesce(t.blocked, false)::text as blocked, (t.team_id is not null and m.team_id is null)::text as is_of_missing_team, to_char(t.expires, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as expires, t.spend::text as spend,
    coalesce(t.max_budget, b.max_budget)::text as max_budget,
    nullif(case when t.max_budget is null then b.budget_duration else t.budget_duration end, '') as budget_duration,
    ${FURTHER_BUDGETS} as budgets,
    t.max_parallel_requests::text as parallel_max,
    coalesce(t.rpm_limit, b.rpm_limit)::text as requests_max, coalesce(t.tpm_limit, b.tpm_limit)::text as tokens_max,
    t.created_at
  from "LiteLLM_VerificationToken" t
  left join "LiteLLM_TeamTable" m on m.team_id = t.team_id
  left join "LiteLLM_BudgetTable" b on b.budget_id = t.budget_id
  where ${IS_READ.replaceAll(/\b(token|team_id|allowed_routes)\b/g, 't.$1')}
) k order by k.created_at, k.token`);
  return rows.map(toKey);
}

const toKey = (row: Row) => ({
  /** SHA-256 of what clients send, in hexadecimal digits. */
  token: row.token!,
  ownerRef: row.owner!,
  name: row.name!,
  /** Last characters of the key, as LiteLLM shows them. */
  shown: (row.shown ?? 'sk-...').replaceAll('...', '…'),
  models: listOf(row.models),
  isBlocked: row.blocked === 'true',
  isOfMissingTeam: row.is_of_missing_team === 'true',
  expiresAt: row.expires == null ? null : new Date(row.expires),
  budgets: budgetsOf(row),
  parallelMax: numberOf(row.parallel_max),
  requestsMax: numberOf(row.requests_max),
  tokensMax: numberOf(row.tokens_max),
});

function budgetsOf(row: Row): KeyBudget[] {
  const several = row.budgets == null ? [] : (JSON.parse(row.budgets) as KeyBudget[]);
  if (row.max_budget == null) return several;
  return [{ maxBudget: row.max_budget, spend: row.spend!, budgetDuration: row.budget_duration ?? null }, ...several];
}

const numberOf = (text: string | null | undefined): number | null => (text == null ? null : Number(text));

const listOf = (json: string | null | undefined): string[] => (json == null ? [] : (JSON.parse(json) as string[]));
