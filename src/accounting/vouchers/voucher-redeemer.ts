import type { Ids } from '../../lib/ids.ts';
import { type PlanTerms, periodMsOf } from '../plans/plan.ts';
import type { RedeemResult, RedemptionStore } from './redemption-store.ts';
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
  readonly redemptions: Pick<RedemptionStore, 'redeem'>;
  /** The plans in force. */
  readonly plans: () => readonly PlanTerms[];
  readonly databaseNowMs: () => Promise<number>;
  readonly ids: Ids;
}

export function createVoucherRedeemer(parts: VoucherRedeemerParts): VoucherRedeemer {
  const { redemptions, plans, databaseNowMs, ids } = parts;
  return {
    redeem: async (accountId, code, by) =>
      redemptions.redeem({
        accountId,
        codeHash: hashVoucherCode(code),
        redemptionId: ids.next('vr'),
        subscriptionId: ids.next('sub'),
        by,
        at: new Date(await databaseNowMs()),
        periodMsOf(planId) {
          const plan = plans().find(({ id }) => id === planId);
          return plan === undefined ? null : periodMsOf(plan);
        },
      }),
  };
}
