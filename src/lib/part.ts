import type { Rate } from './rate-debts.ts';

/** A share of a limit that several processes have together: one of `count` equal ones. The first index is 0. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

export const WHOLE: Part = { index: 0, count: 1 };

/**
 * Returns a share of a total, in whole units. All shares together are the total, unless there are fewer units than shares. Then each share
 * is one unit, because a process without any could not work.
 */
export function partOf(total: number, { index, count }: Part): number {
  if (total <= 0) return total;
  return Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));
}

/** Returns a rate with a share of the burst, and an interval that is `count` times as long. */
export function partOfRate({ burst, everyMs }: Rate, part: Part): Rate {
  return { burst: partOf(burst, part), everyMs: everyMs * part.count };
}
