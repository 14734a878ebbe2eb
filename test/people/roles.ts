import type { AccountNeed, AdminNeed } from '../../src/people/access.ts';

/** The actors of the walk over all endpoints, with the expected results, independent of the code. */

/** Rights of an actor: needs that it satisfies, or the status that refuses it. */
export interface ExpectedAccess {
  /** In the admin API. */
  readonly admin: readonly AdminNeed[] | 401 | 403;
  /** In the account API, for the first account. */
  readonly account: readonly AccountNeed[] | 401 | 403;
  /** When naming the first account: 404 for members of another one. */
  readonly named?: 404;
}

export const ROLES = {
  'no credential': { admin: 401, account: 401 },
  'a wrong token': { admin: 401, account: 401 },
  'an unknown key': { admin: 401, account: 401 },
  'the operator of the environment': { admin: ['read', 'change'], account: 403 },
  'the command line': { admin: ['read', 'change', 'operator_person', 'export'], account: 403 },
  'an operator’s token': { admin: ['read', 'change'], account: 403 },
  'an auditor’s token': { admin: ['read'], account: 403 },
  'a token for exports': { admin: ['export'], account: 403 },
  'a revoked token': { admin: 401, account: 401 },
  'a key of the account': { admin: 401, account: ['member', 'owner'] },
  'a key of a member': { admin: 401, account: ['member'] },
  'a key for calls': { admin: 401, account: 403 },
  'a revoked key': { admin: 401, account: 401 },
  'a key of somebody who left': { admin: 401, account: 401 },
  'an operator who signed in': { admin: ['read', 'change', 'operator_person', 'export'], account: 403 },
  'an auditor who signed in': { admin: ['read'], account: 403 },
  'an owner': { admin: 403, account: ['member', 'owner', 'person'] },
  'a member': { admin: 403, account: ['member'] },
  'an owner of another account': { admin: 403, account: ['member', 'owner', 'person'], named: 404 },
  'a member of another account': { admin: 403, account: ['member'], named: 404 },
  'a session that was ended': { admin: 401, account: 401 },
  'a suspended user': { admin: 401, account: 401 },
  'a key of another account': { admin: 401, account: ['member', 'owner'], named: 404 },
} as const satisfies Record<string, ExpectedAccess>;

export type RoleName = keyof typeof ROLES;

/** Signed-in users, who alone may use the endpoints for their own data. */
export const SIGNED_IN: ReadonlySet<RoleName> = new Set<RoleName>([
  'an operator who signed in',
  'an auditor who signed in',
  'an owner',
  'a member',
  'an owner of another account',
  'a member of another account',
]);

/** The status that refuses a need; `null` if the actor may. */
export function refusalOf<Need extends string>(allowed: readonly Need[] | 401 | 403, need: Need): 401 | 403 | null {
  if (typeof allowed === 'number') return allowed;
  return allowed.includes(need) ? null : 403;
}
