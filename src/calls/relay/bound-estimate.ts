import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import { tokenRates } from '../../accounting/pricing/token-rates.ts';
import { type ChargeBasis, inputTokensOf, type Usage, type UsageFacts } from '../../protocols/metering/usage-facts.ts';

/** The reservation that an estimate must not exceed, with the prices that it was made with. */
export interface Reservation {
  readonly amountNano: bigint;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
}

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Reduces an estimate of what a call used to what was reserved for it: output first, because its estimate is rougher.
 * Counts that the provider has reported are no estimate, and are never reduced.
 */
export function withinReservation(
  estimate: UsageFacts,
  reported: Usage | null,
  { amountNano, prices, basis }: Reservation,
): UsageFacts {
  const { list, factor } = tokenRates(prices, inputTokensOf(estimate), estimate.servedOn);
  const without = (field: 'outputTokens' | 'inputTokens', usage: UsageFacts, priceNano: bigint): UsageFacts => {
    const nanoPerMillion = factor === null ? priceNano : (priceNano * factor.numerator) / factor.denominator;
    const overNano = chargeFor(usage, prices, basis) - amountNano;
    if (overNano <= 0n || nanoPerMillion === 0n) return usage;
    const overTokens = (overNano * TOKENS_PER_PRICE + nanoPerMillion - 1n) / nanoPerMillion;
    const tokens = BigInt(usage[field]) - overTokens;
    return { ...usage, [field]: Math.max(reported?.[field] ?? 0, tokens > 0n ? Number(tokens) : 0) };
  };
  const usage = without('outputTokens', estimate, list.outputNanoPerMillion);
  return without('inputTokens', usage, list.inputNanoPerMillion);
}
