/** The whole percents of a limit that are left, rounded down: 1 is shown while there is that much, 0 only below it. */
export function percentLeft(used: number, limit: number): number {
  // Divided last: shares such as 0.8 are no exact fractions, and what they leave would be rounded down one too far.
  return limit === 0 ? 0 : Math.floor((Math.max(0, limit - used) * 100) / limit);
}
