import type { Rate } from './rate-debts.ts';

/** One of `count` equal shares of a limit that several processes have together. The first index is 0. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

export const WHOLE: Part = { index: 0, count: 1 };

/**
 * Returns a share of a total, in whole units. The shares add up to the total, unless there are fewer units than shares: then each share is
 * one unit, because a process with none could not work.
 */
export function partOf(total: number, { index, count }: Part): number {
  if (total <= 0) return total;
  return Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));
}

/** A share of the burst, with an interval that is `count` times as long. */
export function partOfRate({ burst, everyMs }: Rate, part: Part): Rate {
  return { burst: partOf(burst, part), everyMs: everyMs * part.count };
}
