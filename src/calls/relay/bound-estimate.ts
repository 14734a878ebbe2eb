import { chargeFor, type UnitPrices } from '../../accounting/pricing/charge.ts';
import { tokenRates } from '../../accounting/pricing/token-rates.ts';
import { type ChargeBasis, inputTokensOf, type Usage, type UsageFacts } from '../../protocols/metering/usage-facts.ts';

/** The reservation that an estimate must not exceed, with the prices that it was made with. */
interface Reservation {
  readonly amountNano: bigint;
  readonly prices: UnitPrices;
  readonly basis: ChargeBasis;
  /** Whether neither the request nor the model limits the output, so that its part of the reservation was assumed. */
  readonly assumesOutput: boolean;
}

/** What is known of an estimated call. */
export interface KnownOutput {
  /** What the provider has reported, which is no estimate and never reduced; `null`: nothing. */
  readonly reported: Usage | null;
  /** The estimate of what came through, without what the model may have written unseen. */
  readonly delivered: Usage;
}

type Field = 'inputTokens' | (typeof OUTPUTS)[number];

/** The kinds of output, in the order in which they are reduced: the roughest estimate first. */
const OUTPUTS = ['outputTokens', 'audioOutputTokens', 'imageOutputTokens'] as const;
const NO_OUTPUT = { outputTokens: 0, audioOutputTokens: 0, imageOutputTokens: 0 };

const TOKENS_PER_PRICE = 1_000_000n;

/**
 * Reduces an estimate of what a call used to what was reserved for it: output first, because its estimate is rougher. Where the
 * output of the reservation was assumed, that bounds only what was not delivered: the estimate of what was delivered counts,
 * also above the reservation.
 */
export function withinReservation(
  estimate: UsageFacts,
  { reported, delivered }: KnownOutput,
  reservation: Reservation,
): UsageFacts {
  const least = reservation.assumesOutput ? delivered : reported;
  let usage = estimate;
  for (const field of OUTPUTS) usage = reduced(usage, field, least?.[field] ?? 0, reservation);
  // Output that was delivered beyond an assumption takes nothing of what was reserved for the input.
  const input = reservation.assumesOutput ? { ...usage, ...NO_OUTPUT } : usage;
  const { inputTokens } = reduced(input, 'inputTokens', reported?.inputTokens ?? 0, reservation);
  return { ...usage, inputTokens };
}

function reduced(usage: UsageFacts, field: Field, least: number, reservation: Reservation): UsageFacts {
  const { amountNano, prices, basis } = reservation;
  const overNano = chargeFor(usage, prices, basis) - amountNano;
  if (overNano <= 0n || usage[field] <= least) return usage;
  const { list, factor } = tokenRates(prices, inputTokensOf(usage), usage.servedOn);
  const priceNano =
    list[`${field.slice(0, -'Tokens'.length)}NanoPerMillion` as PriceField] ?? list.outputNanoPerMillion;
  const nanoPerMillion = factor === null ? priceNano : (priceNano * factor.numerator) / factor.denominator;
  if (nanoPerMillion === 0n) return usage;
  const overTokens = (overNano * TOKENS_PER_PRICE + nanoPerMillion - 1n) / nanoPerMillion;
  const tokens = BigInt(usage[field]) - overTokens;
  return { ...usage, [field]: Math.max(least, tokens > 0n ? Number(tokens) : 0) };
}

type PriceField =
  | 'inputNanoPerMillion'
  | 'outputNanoPerMillion'
  | 'audioOutputNanoPerMillion'
  | 'imageOutputNanoPerMillion';
