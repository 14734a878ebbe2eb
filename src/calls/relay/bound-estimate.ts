import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import type { ChargeBasis, Usage, UsageFacts } from '../../protocols/metering/usage-facts.ts';

/** What an estimate must not exceed. */
export interface Reservation {
  readonly amountNano: bigint;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
}

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * An estimate of what a call used, cut down to what was reserved for it: output first, which is estimated more roughly.
 * What the provider itself has reported is no estimate, and always counts.
 */
export function withinReservation(
  estimate: UsageFacts,
  reported: Usage | null,
  { amountNano, prices, basis }: Reservation,
): UsageFacts {
  const without = (field: 'outputTokens' | 'inputTokens', usage: UsageFacts, nanoPerMillion: bigint): UsageFacts => {
    const overNano = chargeFor(usage, prices, basis) - amountNano;
    if (overNano <= 0n || nanoPerMillion === 0n) return usage;
    const overTokens = (overNano * TOKENS_PER_PRICE + nanoPerMillion - 1n) / nanoPerMillion;
    const tokens = BigInt(usage[field]) - overTokens;
    return { ...usage, [field]: Math.max(reported?.[field] ?? 0, tokens > 0n ? Number(tokens) : 0) };
  };
  const usage = without('outputTokens', estimate, prices.outputNanoPerMillion);
  return without('inputTokens', usage, prices.inputNanoPerMillion);
}
