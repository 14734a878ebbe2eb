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

/** A redemption that is under way: it has its code, and its account does not have what that gives, or nothing says that it does. */
export interface OpenRedemption {
  readonly id: string;
  readonly codeHash: Buffer;
  readonly codeEnd: string;
  readonly batchId: string;
  readonly gift: VoucherGift;
  readonly accountId: string;
  readonly redeemedAt: Date;
  /** Of a plan: the subscription that begins if there is none to renew. */
  readonly subscriptionId: string | null;
}

/** Why a partition does not give what a voucher gives. */
export type GiftRefusal = 'unknown_account' | 'unknown_plan' | 'other_plan' | 'overlapping' | 'out_of_range';

/** Nothing has changed then. */
export type RedeemRefusal =
  | GiftRefusal
  /** There is no such code, or another account has redeemed it. */
  | 'unknown_code'
  | 'expired'
  | 'canceled';

/** What the directory knows of a code, for an account that wants to redeem it. */
export interface CodeFacts {
  /** Whether the account is there, whole. */
  readonly isAccount: boolean;
  /** `null`: there is no such code. */
  readonly voucher: { readonly expiresAt: Date | null; readonly canceledAt: Date | null } | null;
  /** Its redemption, whole or under way; `null`: there is none. */
  readonly redemption: { readonly accountId: string; readonly isWhole: boolean } | null;
}

/**
 * What becomes of a code: it is `free` for this account, or this account has redeemed it (`whole`), or is about to (`under_way`); or it is
 * refused. A code that another account is about to redeem is refused as one that it has redeemed.
 */
export function decideCode(
  { isAccount, voucher, redemption }: CodeFacts,
  { accountId, at }: Pick<RedemptionRequest, 'accountId' | 'at'>,
): 'free' | 'under_way' | 'whole' | RedeemRefusal {
  if (!isAccount) return 'unknown_account';
  if (voucher === null) return 'unknown_code';
  if (redemption !== null) {
    if (redemption.accountId !== accountId) return 'unknown_code';
    return redemption.isWhole ? 'whole' : 'under_way';
  }
  if (voucher.canceledAt !== null) return 'canceled';
  return voucher.expiresAt !== null && voucher.expiresAt <= at ? 'expired' : 'free';
}
