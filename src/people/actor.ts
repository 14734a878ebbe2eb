/** Role in the admin API. An auditor only reads. */
export type OperatorRole = 'operator' | 'auditor';

export type TokenScope = 'export';

/** Role in an account. Members see and manage only their own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** Who makes a request to the admin API or the account API. */
export type Actor = TokenActor | CommandLineActor | UserActor | KeyActor | VisitorActor;

export interface TokenActor {
  readonly kind: 'admin_token';
  /** Id of the token; `null`: it is the one in the environment. */
  readonly id: string | null;
  readonly name: string;
  /** Role of the token; `null`: it can do only what its scopes allow. */
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
}

interface CommandLineActor {
  readonly kind: 'command_line';
}

export interface UserActor {
  readonly kind: 'user';
  readonly id: string;
  readonly name: string;
  readonly sessionId: string;
  readonly operatorRole: OperatorRole | null;
  readonly memberships: readonly Membership[];
  readonly authenticatedAtMs: number | null;
}

/** A program whose API key has the scope `account`. */
interface KeyActor {
  readonly kind: 'api_key';
  readonly id: string;
  readonly prefix: string;
  readonly accountId: string;
  /** User who owns the key; `null`: the account does. */
  readonly userId: string | null;
}

interface VisitorActor {
  readonly kind: 'visitor';
}

export function actorName(actor: Actor): string {
  switch (actor.kind) {
    case 'admin_token':
    case 'user':
      return actor.name;
    case 'command_line':
      return 'command line';
    case 'api_key':
      return actor.prefix;
    case 'visitor':
      return 'somebody who has not signed in';
  }
}

/** Beginning of an id, such as `usr_`. */
const ID_LIKE = /[a-z]{3}_/i;
const SIGNED = /\(((?:usr|tok)_[0-9a-z]{26})\)$/;

/** Returns the name and the id of an actor, for records. Users choose their names, so without the id they could appear as others. */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** Changes a name that looks like a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** Returns the id in a signature; `null` if it has none, as for the command line. */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
