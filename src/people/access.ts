import type { AccountRole, Actor, OperatorRole } from './actor.ts';

/**
 * What an address of the admin API needs: `read` for operators and auditors, `change` for operators, `operator_person` for operators
 * who have signed in and the command line of this machine, `export` for them and for tokens with that scope.
 */
export type AdminNeed = 'read' | 'change' | 'operator_person' | 'export';

/**
 * What an address of the account API needs: `member` for everybody in the account, `owner` for those who manage it, and
 * `person` for owners who have signed in, because a program with a key invites nobody.
 */
export type AccountNeed = 'member' | 'owner' | 'person';

export type AdminRefusal =
  /** The credential is none of an operator. */
  | 'no_operator'
  /** Only an operator may, and this is an auditor. */
  | 'role'
  /** Only an operator who has signed in may, and the command line of this machine. */
  | 'no_person'
  /** A token may export if it has that scope. */
  | 'no_export'
  /** A token without a role may do what its scopes say. */
  | 'no_role';

/** Why an actor may not use an address of the admin API; `null` if it may. */
export function refusalOfAdmin(actor: Actor, need: AdminNeed): AdminRefusal | null {
  if (actor.kind === 'command_line') return null;
  if (actor.kind === 'admin_token' && need === 'export') return actor.scopes.includes('export') ? null : 'no_export';
  const role = operatorRoleOf(actor);
  if (role === null) return actor.kind === 'admin_token' ? 'no_role' : 'no_operator';
  if (need !== 'read' && role !== 'operator') return 'role';
  return need === 'operator_person' && actor.kind !== 'user' ? 'no_person' : null;
}

/** Whether an actor may make somebody of that role: nobody makes one that may do more than itself. */
export function mayGrantRole(actor: Actor, role: OperatorRole): boolean {
  const own = actor.kind === 'command_line' ? 'operator' : operatorRoleOf(actor);
  return own === 'operator' || own === role;
}

function operatorRoleOf(actor: Actor): OperatorRole | null {
  if (actor.kind === 'admin_token') return actor.role;
  return actor.kind === 'user' ? actor.operatorRole : null;
}

/** What of an account an actor sees and changes. */
export interface AccountScope {
  readonly accountId: string;
  readonly role: AccountRole;
  /** The person whose keys, calls and usage are all that is seen; `null`: those of the whole account. */
  readonly ownUserId: string | null;
}

export type AccountRefusal =
  /** The credential is of nobody who has accounts. */
  | { readonly reason: 'no_account' }
  /** It belongs to several accounts, and the request does not say which. */
  | { readonly reason: 'which_account'; readonly accountIds: readonly string[] }
  /** The account is none of its own; whether there is such an account is not said. */
  | { readonly reason: 'other_account' }
  /** Only an owner may. */
  | { readonly reason: 'role' }
  /** Only a person may. */
  | { readonly reason: 'no_person' };

/**
 * The scope of a request to the account API. This is the only place that decides it.
 *
 * @param asked the account that the request names; `null` if it names none, which is enough for whoever has one.
 */
export function scopeOf(actor: Actor, asked: string | null, need: AccountNeed): AccountScope | AccountRefusal {
  if (actor.kind === 'api_key') {
    if (asked !== null && asked !== actor.accountId) return { reason: 'other_account' };
    if (need === 'person') return { reason: 'no_person' };
    const { accountId, userId } = actor;
    if (userId === null) return { accountId, role: 'owner', ownUserId: null };
    // Of an owner too: a program gets no more than the person's own keys, which nobody could take back with the role.
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
