/** In the admin API. An `auditor` only reads. */
export type OperatorRole = 'operator' | 'auditor';

/** A right in addition to the role. `export`: export the database, for scheduled backups. */
export type TokenScope = 'export';

/** In an account. A `member` sees and manages only their own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** The sender of a request to the admin API or the account API. */
export type Actor = TokenActor | CommandLineActor | UserActor | KeyActor | VisitorActor;

export interface TokenActor {
  readonly kind: 'admin_token';
  /** `null` for the token in the environment. */
  readonly id: string | null;
  readonly name: string;
  /** `null`: the token can only do what its scopes allow. */
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
}

/** The local command line, through a gateway or with the database opened directly. */
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
  /** `null` if unknown. */
  readonly authenticatedAtMs: number | null;
}

/** A program with an API key that has the scope `account`. */
interface KeyActor {
  readonly kind: 'api_key';
  readonly id: string;
  /** The first characters of the key, as lists show them. */
  readonly prefix: string;
  readonly accountId: string;
  /** `null`: the account owns the key. */
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

/** Such as `usr_`. */
const ID_LIKE = /[a-z]{3}_/i;
const SIGNED = /\(((?:usr|tok)_[0-9a-z]{26})\)$/;

/** Names an actor in records. A name that users can choose is followed by the id: otherwise they could impersonate others. */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** Changes a chosen name that looks like a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** `null` if the signature contains no id, as for the command line. */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
