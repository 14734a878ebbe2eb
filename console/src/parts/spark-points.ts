/** Points from left to right. The scale includes zero, so that small changes of large values look small. */
export function sparkPoints(
  values: readonly number[],
  width: number,
  height: number,
  inset: number,
): readonly (readonly [x: number, y: number])[] {
  const low = Math.min(0, ...values);
  const span = Math.max(0, ...values) - low || 1;
  const step = (width - 2 * inset) / Math.max(1, values.length - 1);
  return values.map((value, i) => [
    round(inset + i * step),
    round(height - inset - ((value - low) / span) * (height - 2 * inset)),
  ]);
}

const round = (value: number): number => Math.round(value * 100) / 100;
