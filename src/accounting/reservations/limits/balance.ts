import type { Limit } from './limit.ts';

/** The prepaid balance: a call is admitted while anything is left that is not reserved, and reserves what it may cost. */
export const balance: Limit = {
  refuse(_call, { money }) {
    if (money.balanceNano - money.reservedNano > 0n) return null;
    // Where only reservations take all of it, the ends of calls in flight may give room.
    return { kind: 'insufficientBalance', retryAt: money.balanceNano > 0n ? 'soon' : null, isPaymentRequired: true };
  },
  take({ amountNano }, { money }, reservation) {
    if (amountNano === null) return;
    reservation.amountNano = amountNano;
    money.reservedNano += amountNano;
  },
  free({ amountNano }, _use, { money }) {
    money.reservedNano -= amountNano ?? 0n;
  },
};
