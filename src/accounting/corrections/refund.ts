/** What a refund is decided by. */
export interface RefundableCall {
  /** `null`: nothing was charged. */
  readonly chargeNano: bigint | null;
  /** The sum of the refunds that the call has already. */
  readonly refundedNano: bigint;
}

export type RefundRefusal = 'not_charged' | 'refunded_already' | 'above_charge';

type RefundVerdict = { readonly amountNano: bigint } | { readonly refusal: RefundRefusal };

/**
 * Decides what a refund gives back: the amount that is asked for, or all that is left if none is. The refunds of a call
 * are never more than its charge.
 */
export function decideRefund({ chargeNano, refundedNano }: RefundableCall, askedNano: bigint | null): RefundVerdict {
  if (chargeNano === null || chargeNano === 0n) return { refusal: 'not_charged' };
  const leftNano = chargeNano - refundedNano;
  if (leftNano <= 0n) return { refusal: 'refunded_already' };
  if (askedNano !== null && askedNano > leftNano) return { refusal: 'above_charge' };
  return { amountNano: askedNano ?? leftNano };
}
