/** Rights in the admin API. `operator`: reads and changes. `auditor`: only reads. */
export type OperatorRole = 'operator' | 'auditor';

/** What a token may do in addition to the rights of its role. `export`: export the database, for scheduled backups. */
export type TokenScope = 'export';

/** Rights in an account. `owner`: everything. `member`: sees and manages only their own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** The sender of a request to the admin API or the account API. */
export type Actor = TokenActor | CommandLineActor | UserActor | KeyActor | VisitorActor;

export interface TokenActor {
  readonly kind: 'admin_token';
  /** The id of the token; `null` for the token in the environment. */
  readonly id: string | null;
  readonly name: string;
  /** The role of the token; `null`: it can only do what its scopes allow. */
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
}

/** The command line on this machine, or a command line that opened the database itself. */
interface CommandLineActor {
  readonly kind: 'command_line';
}

/** A signed-in user. */
export interface UserActor {
  readonly kind: 'user';
  readonly id: string;
  readonly name: string;
  readonly sessionId: string;
  readonly operatorRole: OperatorRole | null;
  readonly memberships: readonly Membership[];
  /** When the user last proved their identity; `null` if unknown. */
  readonly authenticatedAtMs: number | null;
}

/** A program with an API key that has the scope `account`. */
interface KeyActor {
  readonly kind: 'api_key';
  readonly id: string;
  /** The first characters of the key, as lists of keys show it. */
  readonly prefix: string;
  readonly accountId: string;
  /** The user who owns the key; `null` if it belongs to the account. */
  readonly userId: string | null;
}

interface VisitorActor {
  readonly kind: 'visitor';
}

/** Returns the name of an actor for people. */
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

/** The form of an id prefix, such as `usr_`. */
const ID_LIKE = /[a-z]{3}_/i;
const SIGNED = /\(((?:usr|tok)_[0-9a-z]{26})\)$/;

/**
 * Returns the signature with which records name an actor. If users choose the name, it contains the id too, so that nobody can impersonate others by
 * taking their name.
 */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** Changes a chosen name if it could be mistaken for a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** Returns the id of the user or token in a signature; `null` if it contains none, as for the command line. */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
