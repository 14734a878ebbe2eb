/** A role in the admin API. An auditor only reads. */
export type OperatorRole = 'operator' | 'auditor';

export type TokenScope = 'export';

/** A role in an account. A member sees and manages only their own keys. */
export type AccountRole = 'owner' | 'member';

export interface Membership {
  readonly accountId: string;
  readonly role: AccountRole;
}

/** Who sent a request to the admin API or the account API. */
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
  /** `null` if the account owns the key. */
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

/** Ids begin like `usr_`. */
const ID_LIKE = /[a-z]{3}_/i;
const SIGNED = /\(((?:usr|tok)_[0-9a-z]{26})\)$/;

/** Users choose their names, so the id follows: otherwise they could impersonate others in records. */
export function signatureOf(actor: Actor): string {
  const name = actorName(actor);
  return 'id' in actor && actor.id !== null && actor.kind !== 'api_key' ? `${unsigned(name)} (${actor.id})` : name;
}

/** Changes a name that looks like a signature. */
export function unsigned(name: string): string {
  return ID_LIKE.test(name) ? name.replaceAll('(', '') : name;
}

/** `null` if the signature contains no id, as for the command line. */
export function signerIdOf(signature: string): string | null {
  return SIGNED.exec(signature)?.[1] ?? null;
}
