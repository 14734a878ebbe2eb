export type UserStatus = 'active' | 'suspended';

/** Accounts per user; each request reads all of them. */
export const MEMBERSHIPS_MAX = 50;
export const MEMBERS_MAX = 200;
/** Sessions per user; a further sign-in ends the oldest. */
export const SESSIONS_MAX = 50;
export const OPEN_INVITATIONS_MAX = 50;
/** Invitations per account and day, not counting withdrawn ones: each use may create a user. */
export const INVITATIONS_A_DAY_MAX = 200;

export type UserRefusal =
  /** Another user has this e-mail address or name for signing in. */
  | 'name_taken'
  /** The user has no e-mail address and the name contains an @. */
  | 'name_like_email'
  /** No active operator would remain. */
  | 'last_operator'
  /** A token may not grant this. */
  | 'by_token'
  /** A session may grant this only shortly after signing in. */
  | 'sign_in_again'
  /** The token that makes the change has ended. */
  | 'token_ended'
  | 'no_account'
  | 'no_user'
  | 'account_full'
  | 'user_full';
