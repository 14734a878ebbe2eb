/**
 * The price of a period as revenue of its days: evenly, and exactly. Each day earns the same; what does not divide is one nano-yuan more on
 * the first days. What the SQL of sums has to say (`src/accounting/usage/plan-revenue.ts`).
 */

/** What the first `earned` of the days of a period earn; the sum of all days is the price. */
export function earnedNano(priceNano: bigint, days: number, earned: number): bigint {
  const all = BigInt(days);
  const rest = priceNano % all;
  const count = BigInt(Math.min(Math.max(earned, 0), days));
  return count * (priceNano / all) + (count < rest ? count : rest);
}
