/** The time that a share of all values does not exceed; `NaN` if there are none. */
export function quantile(took: readonly number[], share: number): number {
  const sorted = took.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The median, between the two middle values if their number is even; `null` if there are none. */
export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((left, right) => left - right);
  if (known.length === 0) return null;
  return (known[(known.length - 1) >> 1]! + known[known.length >> 1]!) / 2;
}
