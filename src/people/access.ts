import type { AccountRole, Actor, OperatorRole } from './actor.ts';

/**
 * What an admin endpoint requires. `read`: operators and auditors. `change`: operators. `operator_person`: signed-in operators and the
 * local command line. `export`: as `operator_person`, and tokens with the scope `export`.
 */
export type AdminNeed = 'read' | 'change' | 'operator_person' | 'export';

/**
 * What an account endpoint requires. `member`: anybody in the account. `owner`: its owners, also with a key. `person`: signed-in owners,
 * because a program with a key must not invite people.
 */
export type AccountNeed = 'member' | 'owner' | 'person';

export type AdminRefusal = 'no_operator' | 'role' | 'no_person' | 'no_export' | 'no_role';

/** Returns why an actor may not use an admin endpoint; `null` if it may. */
export function refusalOfAdmin(actor: Actor, need: AdminNeed): AdminRefusal | null {
  if (actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token' && need === 'export') return actor.scopes.includes('export') ? null : 'no_export';
  const role = operatorRoleOf(actor);
  if (role === null) return actor.kind === 'admin_token' ? 'no_role' : 'no_operator';
  if (need !== 'read' && role !== 'operator') return 'role';
  return need === 'operator_person' && actor.kind !== 'user' ? 'no_person' : null;
}

/** Whether an actor may give a role to somebody. It never gives more than its own role. */
export function mayGrantRole(actor: Actor, role: OperatorRole): boolean {
  const own = actor.kind === 'command_line' ? 'operator' : operatorRoleOf(actor);
  return own === 'operator' || own === role;
}

function operatorRoleOf(actor: Actor): OperatorRole | null {
  if (actor.kind === 'admin_token') return actor.role;
  return actor.kind === 'user' ? actor.operatorRole : null;
}

export interface AccountScope {
  readonly accountId: string;
  readonly role: AccountRole;
  /** User to whose keys, calls and usage everything visible is limited; `null`: the whole account is visible. */
  readonly ownUserId: string | null;
}

export type AccountRefusal =
  | { readonly reason: 'no_account' }
  | { readonly reason: 'which_account'; readonly accountIds: readonly string[] }
  /** The account is not the actor's. The error must not reveal whether it exists. */
  | { readonly reason: 'other_account' }
  | { readonly reason: 'role' }
  | { readonly reason: 'no_person' };

/**
 * Decides on the scope of a request to the account API; nothing else does. `asked`: the account that the request names, which is optional
 * for an actor with one account.
 */
export function scopeOf(actor: Actor, asked: string | null, need: AccountNeed): AccountScope | AccountRefusal {
  if (actor.kind === 'api_key') {
    if (asked !== null && asked !== actor.accountId) return { reason: 'other_account' };
    if (need === 'person') return { reason: 'no_person' };
    const { accountId, userId } = actor;
    if (userId === null) return { accountId, role: 'owner', ownUserId: null };
    // Even the key of an owner gets the role `member`: otherwise it would keep an owner's rights when its owner loses this role.
    return need === 'owner' ? { reason: 'role' } : { accountId, role: 'member', ownUserId: userId };
  }
  if (actor.kind !== 'user' || actor.memberships.length === 0) return { reason: 'no_account' };
  if (asked === null && actor.memberships.length > 1) {
    return { reason: 'which_account', accountIds: actor.memberships.map(({ accountId }) => accountId) };
  }
  const membership =
    asked === null ? actor.memberships[0] : actor.memberships.find(({ accountId }) => accountId === asked);
  if (membership === undefined) return { reason: 'other_account' };
  const { accountId, role } = membership;
  if (need !== 'member' && role !== 'owner') return { reason: 'role' };
  return { accountId, role, ownUserId: role === 'member' ? actor.id : null };
}
