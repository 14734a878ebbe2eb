/** A margin as a share of its revenue, rounded to basis points. `null`: the margin is unknown, or there is no revenue. */
export function marginBasisPoints(marginNano: bigint | null, revenueNano: bigint): number | null {
  if (marginNano === null || revenueNano <= 0n) return null;
  const size = marginNano < 0n ? -marginNano : marginNano;
  const rounded = (2n * 10_000n * size + revenueNano) / (2n * revenueNano);
  return Number(marginNano < 0n ? -rounded : rounded);
}
