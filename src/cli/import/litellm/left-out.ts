import { type Counted, countLeftOut } from '../count-left-out.ts';
import type { ForeignDatabase, LeftOut } from '../foreign-books.ts';
import { IS_READ } from './rows.ts';

const KEYS = '"LiteLLM_VerificationToken"';
const NOT_EMPTY = (column: string): string => `coalesce(${column}::text, '{}') not in ('{}', '[]', 'null')`;

const COUNTED: readonly Counted[] = [
  {
    what: 'keys that are not stored as a SHA-256, sign-ins to the dashboard, and keys for its administration only',
    why: 'clients do not use these keys for calls',
    from: `${KEYS} where not (${IS_READ})`,
  },
  {
    what: 'former values of rotated keys, which LiteLLM still accepts for some time',
    why: 'give their clients the new value',
    from: '"LiteLLM_DeprecatedVerificationToken" where revoke_at > now()',
  },
  {
    what: 'users without a key of their own',
    why: 'invite the members of a team to its account',
    from: `"LiteLLM_UserTable" u where not exists (select 1 from ${KEYS} k where k.user_id = u.user_id and k.team_id is null)`,
  },
  {
    what: 'users with a password or a single sign-on',
    why: 'passwords and sign-ons are not imported; each user sets a new password, or links the sign-on again',
    from: `"LiteLLM_UserTable" where password is not null or sso_user_id is not null`,
  },
  {
    what: 'limits per minute of teams and users',
    why: 'limits of keys are imported; set limits of accounts: faregate account limit',
    from: `(select 1 from "LiteLLM_TeamTable" where coalesce(rpm_limit, tpm_limit, max_parallel_requests) is not null
  union all select 1 from "LiteLLM_UserTable" where coalesce(rpm_limit, tpm_limit, max_parallel_requests) is not null) limited`,
  },
  {
    what: 'keys with budgets or limits for single models',
    why: 'limits for single models are not imported; set them again: faregate key limit',
    from: `${KEYS} where (${IS_READ}) and (${NOT_EMPTY('model_max_budget')} or metadata ?| array['model_rpm_limit', 'model_tpm_limit'])`,
  },
  {
    what: 'teams with several budgets',
    why: 'these budgets are limits, not balances; set limits of keys: faregate key limit',
    from: `"LiteLLM_TeamTable" where ${NOT_EMPTY('budget_limits')}`,
  },
  {
    what: 'members of teams with a budget or limits of their own',
    why: 'limits of members are not imported; set limits of the keys that a member uses: faregate key limit',
    from: `"LiteLLM_TeamMembership" m join "LiteLLM_BudgetTable" b on b.budget_id = m.budget_id
  where coalesce(b.max_budget, b.rpm_limit, b.tpm_limit, b.max_parallel_requests) is not null`,
  },
  {
    what: 'keys and teams with model aliases',
    why: 'in Faregate, aliases belong to models',
    from: `(select 1 from ${KEYS} where (${IS_READ}) and ${NOT_EMPTY('aliases')}
  union all select 1 from "LiteLLM_TeamTable" where model_id is not null) named`,
  },
  {
    what: 'keys that are limited to some routes',
    why: 'Faregate cannot limit keys to routes',
    from: `${KEYS} where (${IS_READ}) and cardinality(allowed_routes) > 0 and not 'llm_api_routes' = any(allowed_routes)`,
  },
  {
    what: 'keys with tags or guardrails',
    why: 'keys of Faregate have none',
    from: `${KEYS} where (${IS_READ}) and metadata ?| array['tags', 'guardrails']`,
  },
  { what: 'memberships of teams', why: 'invite the people again', from: '"LiteLLM_TeamMembership"' },
  {
    what: 'organizations',
    why: 'they are not imported; groups of accounts are defined in the configuration',
    from: '"LiteLLM_OrganizationTable"',
  },
  { what: 'projects', why: 'keys of a project belong to the account of its team', from: '"LiteLLM_ProjectTable"' },
  { what: 'end users', why: 'a client is identified by its key', from: '"LiteLLM_EndUserTable"' },
  {
    what: 'models with their prices and routes',
    why: 'models belong in the configuration file',
    from: '"LiteLLM_ProxyModelTable"',
  },
  {
    what: 'credentials of providers',
    why: 'credentials belong in the configuration file',
    from: '"LiteLLM_CredentialsTable"',
  },
];

export function readLeftOut(database: ForeignDatabase): Promise<LeftOut[]> {
  return countLeftOut(database, COUNTED);
}
