/** What each voucher of a batch gives. */
export type VoucherGift =
  | { readonly kind: 'value'; readonly amountNano: bigint }
  | { readonly kind: 'plan'; readonly planId: string };

export interface NewVoucherBatch {
  readonly id: string;
  readonly name: string;
  readonly gift: VoucherGift;
  readonly vouchers: readonly { readonly codeHash: Buffer; readonly codeEnd: string }[];
  readonly expiresAt: Date | null;
  readonly at: Date;
  readonly createdBy: string;
  readonly idempotencyKey: string | null;
}

export interface RedemptionRequest {
  readonly accountId: string;
  readonly codeHash: Buffer;
  readonly redemptionId: string;
  readonly subscriptionId: string;
  readonly by: string;
  readonly at: Date;
  /** How long a plan lasts; `null` if it is not offered any more. */
  readonly periodMsOf: (planId: string) => number | null;
}
