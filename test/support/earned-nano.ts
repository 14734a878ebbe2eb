/**
 * The price of a period, spread evenly and exactly over its days. The remainder of the division is one nano-yuan more on each of the
 * first days. The SQL of plan revenue has to agree with it (`src/accounting/usage/plan-revenue.ts`).
 */

/** What the first `earned` days of a period earn. All days together earn the price. */
export function earnedNano(priceNano: bigint, days: number, earned: number): bigint {
  const all = BigInt(days);
  const rest = priceNano % all;
  const count = BigInt(Math.min(Math.max(earned, 0), days));
  return count * (priceNano / all) + (count < rest ? count : rest);
}
