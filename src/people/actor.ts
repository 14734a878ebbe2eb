/** What a person or a token may do in the admin API: everything, or read everything. */
export type OperatorRole = 'operator' | 'auditor';

/** What a token may do besides what its role says: `export`, a backup of the database by a timer. */
export type TokenScope = 'export';

/** What a person may do in an account: everything, or what belongs to its own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** Whoever asks the admin API or the account API for something. */
export type Actor = TokenActor | CommandLineActor | UserActor | KeyActor | VisitorActor;

/** A program or a person with an admin token. */
export interface TokenActor {
  readonly kind: 'admin_token';
  /** `null` for the token of the environment. */
  readonly id: string | null;
  readonly name: string;
  /** `null`: it may do what its scopes say, and nothing else. */
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
}

/** The command line of the machine on which the gateway runs, or that opened the database itself. */
interface CommandLineActor {
  readonly kind: 'command_line';
}

/** A person who has signed in. */
export interface UserActor {
  readonly kind: 'user';
  readonly id: string;
  readonly name: string;
  readonly sessionId: string;
  /** `null`: the person is no operator. */
  readonly operatorRole: OperatorRole | null;
  readonly memberships: readonly Membership[];
  /** When the person proved who it is; `null`: it is not known. */
  readonly authenticatedAtMs: number | null;
}

/** A program with an API key that has the scope `account`. */
interface KeyActor {
  readonly kind: 'api_key';
  readonly id: string;
  /** What lists show of the key. */
  readonly prefix: string;
  readonly accountId: string;
  /** The person whose key it is; `null`: the account's. */
  readonly userId: string | null;
}

/** Somebody who has not signed in, at the addresses by which one does. */
interface VisitorActor {
  readonly kind: 'visitor';
}

/** What an actor is called where people read it. */
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

/** What ids begin with. */
const ID_LIKE = /[a-z]{3}_/i;
const SIGNED = /\(((?:usr|tok)_[0-9a-z]{26})\)$/;

/**
 * By what somebody signs what is kept: the name, and where people choose it the id behind it, so that nobody passes for another one
 * by taking that name.
 */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** A name that somebody says or chooses, which cannot be taken for a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** The id of the person or the token that signed; `null` if no id is known, such as of the command line. */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
