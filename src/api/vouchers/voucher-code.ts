import { z } from 'zod';
import type { RedeemRefusal } from '../../accounting/vouchers/voucher.ts';
import { readVoucherCode } from '../../accounting/vouchers/voucher-code.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { conflict, notFound, unprocessable } from '../management/endpoint.ts';

const NO_CODE = 'This is not a voucher code, or it is mistyped. Expected 20 letters and digits such as 7KQ2M-X0T4B-….';

/** A voucher code. Its check character detects typing errors without a database query or an entry in the audit log. */
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
  // A code that another account has redeemed gets this error too, so that nobody learns that it exists.
  unknown_code: () =>
    new GatewayError('pathUnknown', { message: 'There is no such voucher, or it can no longer be redeemed.' }),
  expired: () => conflict('This voucher has expired.'),
  canceled: () => conflict('This voucher was canceled. Ask the person who gave it to you.'),
  unknown_plan: () =>
    conflict('The plan of this voucher is no longer offered. The voucher was not redeemed. Ask the operator.'),
  other_plan: () =>
    conflict(
      'Another plan is active on this account. The voucher was not redeemed. Redeem it when that plan has ended.',
    ),
  overlapping: () =>
    conflict('Another subscription of the account begins before this one would end. The voucher was not redeemed.'),
  out_of_range: () => unprocessable('The balance would exceed the maximum. The voucher was not redeemed.'),
};

export const redeemError = (refusal: RedeemRefusal, accountId: string): GatewayError => ERRORS[refusal](accountId);
