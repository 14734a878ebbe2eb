import type { AccountState, KeyState } from '../account-state.ts';
import type { ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

/** A call by what says whose limits count it. */
export type OwnedCall = Pick<ReservationRequest, 'keyId' | 'isKeyLimited' | 'memberId'>;

/** What a call in flight has taken of the limits of an owner. */
interface TakenOfOwner {
  readonly owner: KeyState;
  /** The day on which the owner counts the call, as its days are numbered. */
  readonly dayNo: number;
  readonly amountNano: bigint;
}

/**
 * Who has limits that count a call beside those of the account: its key, and the person whose key it is, over all keys of that
 * person. Both are rows of `key_limits`.
 */
export interface LimitedOwner {
  /** Whose limits count a call that asks; `null`: there are none. */
  of(call: OwnedCall, account: AccountState): KeyState | null;
  /** Sets in the reservation of an admitted call what its end needs. */
  note(reservation: Reservation, owner: KeyState, amountNano: bigint): void;
  /** What a call in flight has taken; `null`: nothing, or its limits are gone. */
  taken(reservation: ReservedLimits, account: AccountState): TakenOfOwner | null;
}

/** The key of a call. */
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

/** The person whose key it is. */
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
