import { z } from 'zod';
import type { RedeemRefusal } from '../../accounting/vouchers/voucher.ts';
import { readVoucherCode } from '../../accounting/vouchers/voucher-code.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { conflict, notFound, unprocessable } from '../management/endpoint.ts';

const NO_CODE =
  'This is no voucher code, or it has a typing mistake. Expected 20 letters and digits such as 7KQ2M-X0T4B-….';

/** A body with a code. A typing mistake is told without a look-up, and without a row in the change log. */
export const voucherCodeBody = z
  .strictObject({
    code: z.string({ error: NO_CODE }).transform((typed, context) => {
      const code = readVoucherCode(typed);
      if (code !== null) return code;
      context.addIssue({ code: 'custom', message: NO_CODE });
      return z.NEVER;
    }),
  })
  .meta({ examples: [{ code: '01234-56789-ABCDE-FGHJT' }] });

const ERRORS: Readonly<Record<RedeemRefusal, (accountId: string) => GatewayError>> = {
  unknown_account: (accountId) => notFound('account', accountId),
  // The same whether there is no such code or another account has redeemed it: nobody learns which codes there are.
  unknown_code: () =>
    new GatewayError('pathUnknown', { message: 'There is no such voucher, or it cannot be redeemed any more.' }),
  expired: () => conflict('This voucher has expired.'),
  canceled: () => conflict('This voucher was canceled. Ask whoever gave it to you.'),
  unknown_plan: () =>
    conflict('The plan of this voucher is not offered any more. The voucher is not redeemed; ask the operator.'),
  other_plan: () =>
    conflict(
      'Another plan is active on this account. The voucher is not redeemed; redeem it when that plan has ended.',
    ),
  overlapping: () =>
    conflict('Another subscription of the account begins before this one would end. The voucher is not redeemed.'),
  out_of_range: () => unprocessable('The balance would exceed what can be stored. The voucher is not redeemed.'),
};

/** What is responded if a code is not redeemed; nothing has changed then. */
export const redeemError = (refusal: RedeemRefusal, accountId: string): GatewayError => ERRORS[refusal](accountId);
