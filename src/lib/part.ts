import type { Rate } from './rate-debts.ts';

/** One of several equal parts of something that processes have together. The first has the index 0. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

/** Of a process that shares with nobody. */
export const WHOLE: Part = { index: 0, count: 1 };

/**
 * The whole number that a part gets of a total. All parts together get the total; only if there are more parts than it has units, each gets
 * one, because a part with nothing could do nothing. Of nothing each gets nothing.
 */
export function partOf(total: number, { index, count }: Part): number {
  if (total <= 0) return total;
  return Math.max(1, Math.floor(total / count) + (index < total % count ? 1 : 0));
}

/** The rate that a part gets: of the burst its part, and one more after as many times longer as there are parts. */
export function partOfRate({ burst, everyMs }: Rate, part: Part): Rate {
  return { burst: partOf(burst, part), everyMs: everyMs * part.count };
}
