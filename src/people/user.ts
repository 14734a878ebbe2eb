export type UserStatus = 'active' | 'suspended';

/** Maximum number of memberships of a user. Each request reads all of them. */
export const MEMBERSHIPS_MAX = 50;
export const MEMBERS_MAX = 200;
/** Maximum number of sessions of a user. A further sign-in ends the oldest one. */
export const SESSIONS_MAX = 50;
export const OPEN_INVITATIONS_MAX = 50;
/** Maximum number of invitations per account and day, without revoked ones. It is limited because an invitation can create a user. */
export const INVITATIONS_A_DAY_MAX = 200;

export type UserRefusal =
  | 'name_taken'
  /** The user has no e-mail address, and the name contains an @. */
  | 'name_like_email'
  | 'last_operator'
  | 'by_token'
  /** A session may give this right only shortly after a sign-in. */
  | 'sign_in_again'
  /** The token that makes the change has ended. */
  | 'token_ended'
  | 'no_account'
  | 'no_user'
  | 'account_full'
  | 'user_full';
