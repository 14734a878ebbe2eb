/**
 * SQL: what the first `earned` of the days of a period `p` earn; `earned` is SQL of an integer from 0 to its days. The price is revenue of
 * the days evenly, and exactly: what does not divide is one nano-yuan more on the first days.
 */
export const earnedSql = (earned: string): string =>
  `((${earned}) * (p.price_nano / p.days) + least((${earned}), p.price_nano % p.days))`;

/**
 * SQL: how many days of a period `p` earn anything, of a subscription `s`: of one that was canceled those that had begun by then, counted
 * from the beginning of the period.
 */
export const EARNING_DAYS = `least(p.days, case when s.canceled_at is null then p.days
    else greatest(0, ceil(extract(epoch from s.canceled_at - p.starts_at) / 86400))::int end)`;
