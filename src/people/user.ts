import type { AccountRole, Membership, OperatorRole } from './actor.ts';

export type UserStatus = 'active' | 'suspended';

/** A person who may sign in. */
export interface User {
  readonly id: string;
  /** What whoever made the user has said; nothing proves that it is the person's. */
  readonly email: string | null;
  readonly name: string;
  readonly operatorRole: OperatorRole | null;
  readonly status: UserStatus;
  /** Whether a password is set, so that the person can sign in with it. */
  readonly hasPassword: boolean;
  readonly createdAt: Date;
  readonly lastSignInAt: Date | null;
  readonly memberships: readonly UserMembership[];
}

/** A membership as people read it. */
export interface UserMembership extends Membership {
  readonly accountName: string;
}

/** A person in an account. */
export interface Member {
  readonly userId: string;
  readonly email: string | null;
  readonly name: string;
  readonly role: AccountRole;
  readonly status: UserStatus;
  readonly since: Date;
  readonly lastSignInAt: Date | null;
}

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
  | 'no_account'
  | 'no_user'
  | 'account_full'
  | 'user_full';
