import type { Limit } from './limit.ts';

/** The prepaid balance: a call is admitted while some of it is not reserved, and reserves its maximum cost. */
export const balance: Limit = {
  refuse(_call, { money }) {
    if (money.balanceNano - money.reservedNano > 0n) return null;
    // If only reservations use it up, ends of calls in flight may free some.
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
