import type { AccountState, KeyState } from '../account-state.ts';
import type { ReservationRequest, ReservedLimits } from '../reservation.ts';
import type { Reservation } from '../tables.ts';

export type OwnedCall = Pick<ReservationRequest, 'keyId' | 'isKeyLimited' | 'memberId' | 'budgetIds'>;

interface TakenOfBudgets {
  readonly owner: KeyState;
  readonly amountNano: bigint;
}

interface TakenOfOwner extends TakenOfBudgets {
  /** Number of the owner's day in which the call counts. */
  readonly dayNo: number;
}

/** The owner of budgets: a key or a member, for all models or for the called one. Each is a row of `key_limits`. */
export interface BudgetOwner {
  /** Returns `null` if the owner has no limits. */
  of(call: OwnedCall, account: AccountState): KeyState | null;
  note(reservation: Reservation, owner: KeyState, amountNano: bigint): void;
  /** Returns what a call in flight has taken; `null`: nothing, or its limits no longer exist. */
  taken(reservation: ReservedLimits, account: AccountState): TakenOfBudgets | null;
}

/** The owner of budgets and limits: a key, or a member with all keys of this member. */
export interface LimitedOwner extends BudgetOwner {
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

/** The budgets of the key, or of the member, for the called model. */
export const KEY_MODEL = modelOwner('key', 'keyBudgetId');
export const MEMBER_MODEL = modelOwner('member', 'memberBudgetId');

function modelOwner(whose: 'key' | 'member', noted: 'keyBudgetId' | 'memberBudgetId'): BudgetOwner {
  return {
    of({ budgetIds }, { keys }) {
      const id = budgetIds === null ? null : budgetIds[whose];
      return id === null ? null : (keys.get(id) ?? null);
    },
    note(reservation, { keyId }) {
      reservation[noted] = keyId;
    },
    taken(reservation, { keys }) {
      const id = reservation[noted];
      const owner = id === null ? undefined : keys.get(id);
      return owner === undefined ? null : { owner, amountNano: reservation.amountNano ?? 0n };
    },
  };
}
