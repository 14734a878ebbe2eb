export type UserStatus = 'active' | 'suspended';

/** Accounts of one person; each request reads them all. */
export const MEMBERSHIPS_MAX = 50;
/** People in one account. */
export const MEMBERS_MAX = 200;
/** Sessions of one person; a sign-in beyond them ends the oldest. */
export const SESSIONS_MAX = 50;
/** Invitations to one account that are neither used nor expired. */
export const OPEN_INVITATIONS_MAX = 50;
/** Invitations to one account that were made in a day, but for those that were taken back: each one that is used may make a user. */
export const INVITATIONS_A_DAY_MAX = 200;

/** Why users cannot be changed so. */
export type UserRefusal =
  /** Another user signs in with that e-mail address or name. */
  | 'name_taken'
  /** A name without an e-mail address has an @ in it. */
  | 'name_like_email'
  /** No active operator would be left. */
  | 'last_operator'
  /** The change gives what a token may not give. */
  | 'by_token'
  /** It gives what a session gives only if the person has just signed in. */
  | 'sign_in_again'
  /** A token that has ended made it. */
  | 'token_ended'
  | 'no_account'
  | 'no_user'
  | 'account_full'
  | 'user_full';
