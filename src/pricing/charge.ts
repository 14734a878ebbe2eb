import type { TokenUsage } from '../metering/usage-facts.ts';

/** Unit prices in nano-yuan per million tokens. Every one is set: what a model's configuration leaves out costs as input. */
export interface TokenPrices {
  readonly inputNanoPerMillion: bigint;
  readonly cachedInputNanoPerMillion: bigint;
  readonly cacheWriteNanoPerMillion: bigint;
  readonly cacheWrite1hNanoPerMillion: bigint;
  readonly outputNanoPerMillion: bigint;
}

const TOKENS_PER_PRICE = 1_000_000n;

/** The charge in nano-yuan: the sum of count x price, rounded half up once (design 6). */
export function chargeTokens(usage: TokenUsage, prices: TokenPrices): bigint {
  const sum =
    BigInt(usage.inputTokens) * prices.inputNanoPerMillion +
    BigInt(usage.cachedInputTokens) * prices.cachedInputNanoPerMillion +
    BigInt(usage.cacheWriteTokens) * prices.cacheWriteNanoPerMillion +
    BigInt(usage.cacheWrite1hTokens) * prices.cacheWrite1hNanoPerMillion +
    BigInt(usage.outputTokens) * prices.outputNanoPerMillion;
  return (sum + TOKENS_PER_PRICE / 2n) / TOKENS_PER_PRICE;
}
