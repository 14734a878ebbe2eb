/** SQL: revenue of the first `earned` days of a period `p`. The remainder of price / days goes to the first days, one nano-yuan each. */
export const earnedSql = (earned: string): string =>
  `((${earned}) * (p.price_nano / p.days) + least((${earned}), p.price_nano % p.days))`;

/** SQL: number of days of a period `p` that earn revenue: all, or those that had begun when the subscription `s` was canceled. */
export const EARNING_DAYS = `least(p.days, case when s.canceled_at is null then p.days
    else greatest(0, ceil(extract(epoch from s.canceled_at - p.starts_at) / 86400))::int end)`;
