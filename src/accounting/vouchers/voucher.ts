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
}

export type GiftRefusal = 'unknown_account' | 'unknown_plan' | 'other_plan' | 'overlapping' | 'out_of_range';

export type RedeemRefusal =
  | GiftRefusal
  /** The code does not exist, or another account has redeemed it. */
  | 'unknown_code'
  | 'expired'
  | 'canceled';

export interface CodeFacts {
  readonly voucher: { readonly expiresAt: Date | null; readonly canceledAt: Date | null } | null;
  readonly redemption: { readonly accountId: string } | null;
}

/** Decides on a redemption. A code that another account has redeemed is refused like an unknown one, which hides its existence. */
export function decideCode(
  { voucher, redemption }: CodeFacts,
  { accountId, at }: Pick<RedemptionRequest, 'accountId' | 'at'>,
): 'free' | 'redeemed' | Exclude<RedeemRefusal, GiftRefusal> {
  if (voucher === null) return 'unknown_code';
  if (redemption !== null) return redemption.accountId === accountId ? 'redeemed' : 'unknown_code';
  if (voucher.canceledAt !== null) return 'canceled';
  return voucher.expiresAt !== null && voucher.expiresAt <= at ? 'expired' : 'free';
}
