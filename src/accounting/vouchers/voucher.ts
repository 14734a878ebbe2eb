/** What each voucher of a batch gives. */
export type VoucherGift =
  | { readonly kind: 'value'; readonly amountNano: bigint }
  | { readonly kind: 'plan'; readonly planId: string };

export interface VoucherBatch {
  readonly id: string;
  readonly name: string;
  readonly gift: VoucherGift;
  readonly voucherCount: number;
  readonly redeemedCount: number;
  readonly expiresAt: Date | null;
  readonly createdAt: Date;
  readonly createdBy: string;
  readonly canceledAt: Date | null;
}

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

/** What became of a voucher, once. */
export interface Redemption {
  readonly id: string;
  readonly batchId: string;
  readonly codeEnd: string;
  readonly gift: VoucherGift;
  readonly accountId: string;
  readonly redeemedAt: Date;
  readonly redeemedBy: string;
  /** Of a value. */
  readonly entryNo: bigint | null;
  /** Of a plan, and when that ends now. */
  readonly subscriptionId: string | null;
  readonly subscriptionEndsAt: Date | null;
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

/** If it is refused, nothing has changed. */
export type RedeemResult =
  | { readonly outcome: 'redeemed' | 'repeated'; readonly redemption: Redemption }
  | { readonly outcome: RedeemRefusal };

export type RedeemRefusal =
  | 'unknown_account'
  /** There is no such code, or another account has redeemed it. */
  | 'unknown_code'
  | 'expired'
  | 'canceled'
  | 'unknown_plan'
  | 'other_plan'
  | 'overlapping'
  | 'out_of_range';
