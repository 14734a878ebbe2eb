import type { Limit } from './limit.ts';

/** A call is admitted while some of the balance is not reserved, and reserves its maximum cost. */
export const balance: Limit = {
  refuse(_call, { money }) {
    if (money.balanceNano - money.reservedNano > 0n) return null;
    // If reservations alone exhaust the balance, some of it may be free when calls in flight end.
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
