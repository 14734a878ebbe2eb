import type { Ids } from '../../lib/ids.ts';
import type { RedeemResult, RedemptionStore } from './redemption-store.ts';
import { hashVoucherCode } from './voucher-code.ts';

interface VoucherRedeemerDependencies {
  readonly redemptions: Pick<RedemptionStore, 'redeem'>;
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

export type VoucherRedeemer = ReturnType<typeof createVoucherRedeemer>;

export const createVoucherRedeemer = ({ redemptions, databaseNowMs, ids }: VoucherRedeemerDependencies) => ({
  /** Redeems a code. If this account has already redeemed it, returns the first redemption. */
  redeem: async (accountId: string, code: string, by: string): Promise<RedeemResult> =>
    redemptions.redeem({
      accountId,
      codeHash: hashVoucherCode(code),
      redemptionId: ids.next('vr'),
      subscriptionId: ids.next('sub'),
      by,
      at: new Date(await databaseNowMs()),
    }),
});
