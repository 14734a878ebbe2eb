import type { Ids } from '../../lib/ids.ts';
import type { RedeemResult, Redemptions } from './redemptions.ts';
import { hashVoucherCode } from './voucher-code.ts';

export interface VoucherRedeemer {
  /**
   * Redeems a code for an account. Repeats by the same account return the first redemption.
   *
   * @param code as `readVoucherCode` returns it.
   * @param by who does it, for lists.
   */
  redeem(accountId: string, code: string, by: string): Promise<RedeemResult>;
}

interface VoucherRedeemerParts {
  readonly redemptions: Pick<Redemptions, 'redeem'>;
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

export function createVoucherRedeemer({ redemptions, databaseNowMs, ids }: VoucherRedeemerParts): VoucherRedeemer {
  return {
    redeem: async (accountId, code, by) =>
      redemptions.redeem({
        accountId,
        codeHash: hashVoucherCode(code),
        redemptionId: ids.next('vr'),
        subscriptionId: ids.next('sub'),
        by,
        at: new Date(await databaseNowMs()),
      }),
  };
}
