import type { AccountState, KeyState } from '../account-state.ts';
import type { ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

export type OwnedCall = Pick<ReservationRequest, 'keyId' | 'isKeyLimited' | 'memberId'>;

interface TakenOfOwner {
  readonly owner: KeyState;
  /** Number of the owner's day in which the call counts. */
  readonly dayNo: number;
  readonly amountNano: bigint;
}

/** The owner of budgets and limits: a key, or a member with all keys of this member. Both are rows of `key_limits`. */
export interface LimitedOwner {
  /** Returns `null` if the owner has no limits. */
  of(call: OwnedCall, account: AccountState): KeyState | null;
  note(reservation: Reservation, owner: KeyState, amountNano: bigint): void;
  /** Returns what a call in flight has taken; `null`: nothing, or its limits no longer exist. */
  taken(reservation: ReservedLimits, account: AccountState): TakenOfOwner | null;
}

export const KEY: LimitedOwner = {
  of: ({ keyId, isKeyLimited }, { keys }) => (isKeyLimited ? (keys.get(keyId) ?? null) : null),
  note(reservation, { dayNo }, amountNano) {
    reservation.keyDayNo = dayNo;
    reservation.keyAmountNano = amountNano;
  },
  taken({ keyId, keyDayNo, keyAmountNano }, { keys }) {
    const owner = keys.get(keyId);
    if (owner === undefined || keyDayNo === null || keyAmountNano === null) return null;
    return { owner, dayNo: keyDayNo, amountNano: keyAmountNano };
  },
};

export const MEMBER: LimitedOwner = {
  of: ({ memberId }, { keys }) => (memberId === null ? null : (keys.get(memberId) ?? null)),
  note(reservation, { keyId, dayNo }) {
    reservation.memberId = keyId;
    reservation.memberDayNo = dayNo;
  },
  taken({ memberId, memberDayNo, amountNano }, { keys }) {
    const owner = memberId === null ? undefined : keys.get(memberId);
    if (owner === undefined || memberDayNo === null) return null;
    return { owner, dayNo: memberDayNo, amountNano: amountNano ?? 0n };
  },
};
