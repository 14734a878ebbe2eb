export interface RefundableCall {
  readonly chargeNano: bigint | null;
  readonly refundedNano: bigint;
}

export type RefundRefusal = 'not_charged' | 'refunded_already' | 'above_charge';

type RefundVerdict = { readonly amountNano: bigint } | { readonly refusal: RefundRefusal };

/** @param askedNano amount of the request; `null`: what remains of the charge */
export function decideRefund({ chargeNano, refundedNano }: RefundableCall, askedNano: bigint | null): RefundVerdict {
  if (chargeNano === null || chargeNano === 0n) return { refusal: 'not_charged' };
  const leftNano = chargeNano - refundedNano;
  if (leftNano <= 0n) return { refusal: 'refunded_already' };
  if (askedNano !== null && askedNano > leftNano) return { refusal: 'above_charge' };
  return { amountNano: askedNano ?? leftNano };
}
