import type { VoucherGuesses } from '../../accounting/vouchers/guess-limit.ts';
import type { VoucherRedeemer } from '../../accounting/vouchers/voucher-redeemer.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { signatureOf } from '../../people/actor.ts';
import { Repeat } from '../management/endpoint.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { redeemError, voucherCodeBody } from './voucher-code.ts';
import { ownRedemptionResponse, ownRedemptionToWire } from './wire.ts';

interface OwnVoucherDependencies {
  readonly redeemer: VoucherRedeemer;
  readonly voucherGuesses: VoucherGuesses;
}

/** Endpoints for vouchers. Members may redeem too, because this only adds value. */
export function ownVoucherEndpoints({ redeemer, voucherGuesses }: OwnVoucherDependencies): AccountEndpoint[] {
  return [
    accountEndpoint({
      method: 'POST',
      path: '/vouchers',
      status: 201,
      summary: 'Redeem a voucher for the account; a repeat changes nothing, even without an Idempotency-Key',
      subject: { kind: 'voucher' },
      needs: 'member',
      body: voucherCodeBody,
      response: ownRedemptionResponse,
      async run({ body }, { actor, scope: { accountId } }) {
        const waitMs = await voucherGuesses.take(accountId);
        if (waitMs > 0) throw tooManyGuesses(waitMs);
        let isGuess = false;
        try {
          const result = await redeemer.redeem(accountId, body.code, signatureOf(actor));
          if ('redemption' in result) {
            return Repeat.if(result.outcome === 'repeated', ownRedemptionToWire(result.redemption));
          }
          isGuess = result.outcome === 'unknown_code';
          throw redeemError(result.outcome, accountId);
        } finally {
          if (!isGuess) voucherGuesses.giveBack(accountId);
        }
      },
    }),
  ];
}

function tooManyGuesses(waitMs: number): GatewayError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new GatewayError('rateLimitExceeded', {
    message: `Too many invalid codes were tried for this account. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}
