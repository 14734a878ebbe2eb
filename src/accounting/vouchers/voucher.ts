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
  /** Of a plan that begins with it. */
  readonly subscriptionId: string;
  readonly by: string;
  readonly at: Date;
}

/** Why an account does not get what a voucher gives. */
export type GiftRefusal = 'unknown_account' | 'unknown_plan' | 'other_plan' | 'overlapping' | 'out_of_range';

/** Nothing has changed then. */
export type RedeemRefusal =
  | GiftRefusal
  /** There is no such code, or another account has redeemed it. */
  | 'unknown_code'
  | 'expired'
  | 'canceled';

/** What is stored of a code. */
export interface CodeFacts {
  /** `null`: there is no such code. */
  readonly voucher: { readonly expiresAt: Date | null; readonly canceledAt: Date | null } | null;
  /** `null`: nobody has redeemed it. */
  readonly redemption: { readonly accountId: string } | null;
}

/** Whether a code is `free`, was `redeemed` by this account, or is refused: one that another account has redeemed as one that does not exist. */
export function decideCode(
  { voucher, redemption }: CodeFacts,
  { accountId, at }: Pick<RedemptionRequest, 'accountId' | 'at'>,
): 'free' | 'redeemed' | Exclude<RedeemRefusal, GiftRefusal> {
  if (voucher === null) return 'unknown_code';
  if (redemption !== null) return redemption.accountId === accountId ? 'redeemed' : 'unknown_code';
  if (voucher.canceledAt !== null) return 'canceled';
  return voucher.expiresAt !== null && voucher.expiresAt <= at ? 'expired' : 'free';
}
