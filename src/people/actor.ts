/** Rights in the admin API: `operator` changes and reads, `auditor` only reads. */
export type OperatorRole = 'operator' | 'auditor';

/** What a token may do besides what its role allows. `export`: scheduled backups of the database. */
export type TokenScope = 'export';

/** Rights in an account: `owner` does everything, `member` sees and manages only their own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** Whoever sends a request to the admin API or the account API. */
export type Actor = TokenActor | CommandLineActor | UserActor | KeyActor | VisitorActor;

export interface TokenActor {
  readonly kind: 'admin_token';
  /** `null` for the token of the environment. */
  readonly id: string | null;
  readonly name: string;
  /** `null`: the token can do only what its scopes allow. */
  readonly role: OperatorRole | null;
  readonly scopes: readonly TokenScope[];
}

/** The command line on this machine, or one that opened the database itself. */
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
  /** The first characters of the key, as lists show it. */
  readonly prefix: string;
  readonly accountId: string;
  /** The user who owns the key; `null` if it belongs to the account. */
  readonly userId: string | null;
}

interface VisitorActor {
  readonly kind: 'visitor';
}

/** The name shown to people. */
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

/** The recorded signature: the name, with the id if people choose names, so that nobody impersonates others by taking their name. */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** Makes sure that a chosen name cannot be mistaken for a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** The id of the user or token that signed; `null` if the signature has none (the command line, for example). */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
