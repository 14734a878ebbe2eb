/** The time that a share of all took at most; `NaN` if there are none. */
export function quantile(took: readonly number[], share: number): number {
  const sorted = took.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The middle of what is known, between the two middle ones if their number is even; `null` if nothing is known. */
export function median(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((left, right) => left - right);
  if (known.length === 0) return null;
  return (known[(known.length - 1) >> 1]! + known[known.length >> 1]!) / 2;
}
