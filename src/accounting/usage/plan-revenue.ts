/**
 * The price of a period as revenue of its days: evenly, and exactly. Each day earns the same; what does not divide is one nano-yuan more on
 * the first days.
 */

/** What the first `earned` of the days of a period earn; the sum of all days is the price. */
export function earnedNano(priceNano: bigint, days: number, earned: number): bigint {
  const all = BigInt(days);
  const rest = priceNano % all;
  const count = BigInt(Math.min(Math.max(earned, 0), days));
  return count * (priceNano / all) + (count < rest ? count : rest);
}

/** SQL: the same, of a period `p`; `earned` is SQL of an integer from 0 to its days. */
export const earnedSql = (earned: string): string =>
  `((${earned}) * (p.price_nano / p.days) + least((${earned}), p.price_nano % p.days))`;

/**
 * SQL: how many days of a period `p` earn anything, of a subscription `s`: of one that was canceled those that had begun by then, counted
 * from the beginning of the period.
 */
export const EARNING_DAYS = `least(p.days, case when s.canceled_at is null then p.days
    else greatest(0, ceil(extract(epoch from s.canceled_at - p.starts_at) / 86400))::int end)`;
