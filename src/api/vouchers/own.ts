import type { GuessLimit } from '../../accounting/vouchers/guess-limit.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { signatureOf } from '../../people/actor.ts';
import { type AccountEndpoint, accountEndpoint } from '../management/own-endpoint.ts';
import { type RedeemerParts, voucherCodeBody, voucherRedeemer } from './voucher-redeemer.ts';
import { ownRedemptionResponse, ownRedemptionToWire } from './wire.ts';

export type OwnVoucherParts = RedeemerParts & { readonly voucherGuesses: Pick<GuessLimit, 'take' | 'giveBack'> };

/** Vouchers that are redeemed for the account: members too, because it only adds something. */
export function ownVoucherEndpoints(parts: OwnVoucherParts): AccountEndpoint[] {
  const { voucherGuesses } = parts;
  const redeemer = voucherRedeemer(parts);
  return [
    accountEndpoint({
      method: 'POST',
      path: '/vouchers',
      status: 201,
      summary: 'Redeem a voucher for the account; a repeat changes nothing, without an Idempotency-Key too',
      subject: { kind: 'voucher' },
      needs: 'member',
      body: voucherCodeBody,
      response: ownRedemptionResponse,
      async run({ body }, { actor, scope: { accountId } }) {
        const waitMs = voucherGuesses.take(accountId);
        if (waitMs > 0) throw tooManyGuesses(waitMs);
        try {
          const redemption = await redeemer.redeem(accountId, body.code, signatureOf(actor));
          voucherGuesses.giveBack(accountId);
          return ownRedemptionToWire(redemption);
        } catch (error) {
          const isGuess = error instanceof GatewayError && error.kind === 'pathUnknown';
          if (!isGuess) voucherGuesses.giveBack(accountId);
          throw error;
        }
      },
    }),
  ];
}

function tooManyGuesses(waitMs: number): GatewayError {
  const seconds = Math.ceil(waitMs / 1_000);
  return new GatewayError('rateLimitExceeded', {
    message: `Too many codes that are no voucher were tried for this account. Try again in ${seconds} s.`,
    headers: { 'retry-after': String(seconds) },
  });
}
