/** Percent of a limit left, rounded down. Shows 0 only below 1 %. */
export function percentLeft(used: number, limit: number): number {
  // The division comes last: inexact fractions such as 0.8 would round down one too far.
  return limit === 0 ? 0 : Math.floor((Math.max(0, limit - used) * 100) / limit);
}
