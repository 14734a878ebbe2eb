import type { ForeignDatabase, LeftOut } from '../foreign-books.ts';
import { IS_READ } from './rows.ts';

/** What of LiteLLM has no counterpart here, counted by the database. */

interface Counted {
  readonly what: string;
  readonly why: string;
  /** SQL: what is counted. */
  readonly from: string;
}

const KEYS = '"LiteLLM_VerificationToken"';
const NOT_EMPTY = (column: string): string => `coalesce(${column}::text, '{}') not in ('{}', '[]', 'null')`;

const COUNTED: readonly Counted[] = [
  {
    what: 'keys that are not kept as a SHA-256, sign-ins to the dashboard, and keys for its administration only',
    why: 'clients do not call with them',
    from: `${KEYS} where not (${IS_READ})`,
  },
  {
    what: 'texts that keys had before they were rotated, which are taken for some time yet',
    why: 'give their clients the new text',
    from: '"LiteLLM_DeprecatedVerificationToken" where revoke_at > now()',
  },
  {
    what: 'users without a key of their own',
    why: 'people of a team are members of an account here, and are invited',
    from: `"LiteLLM_UserTable" u where not exists (select 1 from ${KEYS} k where k.user_id = u.user_id and k.team_id is null)`,
  },
  {
    what: 'users with a password or a single sign-on',
    why: 'they set a new password, or link their sign-in again',
    from: `"LiteLLM_UserTable" where password is not null or sso_user_id is not null`,
  },
  {
    what: 'limits by the minute of teams and users',
    why: 'the limits of keys come along; set those of accounts: faregate account limit',
    from: `(select 1 from "LiteLLM_TeamTable" where coalesce(rpm_limit, tpm_limit, max_parallel_requests) is not null
  union all select 1 from "LiteLLM_UserTable" where coalesce(rpm_limit, tpm_limit, max_parallel_requests) is not null) limited`,
  },
  {
    what: 'keys with budgets or limits of single models',
    why: 'they are not read; set limits of models: faregate key limit',
    from: `${KEYS} where (${IS_READ}) and (${NOT_EMPTY('model_max_budget')} or metadata ?| array['model_rpm_limit', 'model_tpm_limit'])`,
  },
  {
    what: 'teams with several budgets at a time',
    why: 'they are no money; set limits of keys: faregate key limit',
    from: `"LiteLLM_TeamTable" where ${NOT_EMPTY('budget_limits')}`,
  },
  {
    what: 'members of teams with a budget or limits of their own',
    why: 'they are not read; set limits of their keys: faregate key limit',
    from: `"LiteLLM_TeamMembership" m join "LiteLLM_BudgetTable" b on b.budget_id = m.budget_id
  where coalesce(b.max_budget, b.rpm_limit, b.tpm_limit, b.max_parallel_requests) is not null`,
  },
  {
    what: 'keys and teams with names of models of their own',
    why: 'aliases belong to models here',
    from: `(select 1 from ${KEYS} where (${IS_READ}) and ${NOT_EMPTY('aliases')}
  union all select 1 from "LiteLLM_TeamTable" where model_id is not null) named`,
  },
  {
    what: 'keys that may use some routes only',
    why: 'there are no limits of routes here',
    from: `${KEYS} where (${IS_READ}) and cardinality(allowed_routes) > 0 and not 'llm_api_routes' = any(allowed_routes)`,
  },
  {
    what: 'keys with tags or guardrails',
    why: 'there are none here',
    from: `${KEYS} where (${IS_READ}) and metadata ?| array['tags', 'guardrails']`,
  },
  { what: 'memberships of teams', why: 'people are invited again', from: '"LiteLLM_TeamMembership"' },
  { what: 'organizations', why: 'accounts are not in groups here', from: '"LiteLLM_OrganizationTable"' },
  { what: 'projects', why: 'their keys belong to the account of their team', from: '"LiteLLM_ProjectTable"' },
  { what: 'end users', why: 'a client is known by its key', from: '"LiteLLM_EndUserTable"' },
  {
    what: 'models with their prices and routes',
    why: 'they are of the configuration',
    from: '"LiteLLM_ProxyModelTable"',
  },
  { what: 'credentials of providers', why: 'they are of the configuration', from: '"LiteLLM_CredentialsTable"' },
];

export async function readLeftOut(database: ForeignDatabase): Promise<LeftOut[]> {
  const found: LeftOut[] = [];
  for (const { what, why, from } of COUNTED) {
    const [row] = await database.select(`select cast(count(*) as text) as count from ${from}`);
    const count = Number(row!.count);
    if (count > 0) found.push({ what, why, count });
  }
  return found;
}
