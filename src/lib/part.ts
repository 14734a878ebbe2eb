import type { Rate } from './rate-debts.ts';

/** One of several equal shares of a limit that several processes have together. The first share has the index 0. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

/** The share of a process that runs alone. */
export const WHOLE: Part = { index: 0, count: 1 };

/**
 * Returns a share of a total, as a whole number. The sum of all shares is the total, unless there are more shares than units: then each
 * share is one unit, because a process with none could not work. All shares of 0 are 0.
 */
export function partOf(total: number, { index, count }: Part): number {
  if (total <= 0) return total;
  return Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));
}

/** Returns a share of a rate: a share of the burst, with an interval that is `count` times as long. */
export function partOfRate({ burst, everyMs }: Rate, part: Part): Rate {
  return { burst: partOf(burst, part), everyMs: everyMs * part.count };
}
