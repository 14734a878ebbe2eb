/**
 * Looks through more rows than one response may take: slice by slice, until enough is found, nothing is left, or the time is over. A
 * slice is as large as it may be to take some milliseconds on this machine.
 */

export interface SliceTiming {
  readonly nowMs: () => number;
  readonly budgetMs: number;
}

/** A list that people wait for responds in 200 ms; the last slice and the reading of what was found come on top of this. */
export const LIST_TIMING: SliceTiming = { nowMs: () => performance.now(), budgetMs: 80 };

/** Without an end. */
export const UNHURRIED: SliceTiming = { nowMs: () => 0, budgetMs: 1 };

const FIRST_ROWS = 500;
const ROWS_MAX = 10_000;
const ROWS_MIN = 100;
const SLICE_MS = 20;

/** What a slice has: what was found in it, in order, and the position from which the next one goes on. */
interface FoundSlice<Item> {
  readonly items: readonly Item[];
  /** `null`: there is nothing behind it. */
  readonly next: string | null;
}

/** Items that were found, and where to look on; `null` where everything was looked at. */
export interface LookedThrough<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/**
 * Looks from `start` on until it has `limit` items. `read` returns at most `wanted` items of a slice of `rows` rows; if it has
 * as many, `next` is behind the last of them. `isExact`: every row is an item, so that a slice needs no more rows than that.
 */
export async function lookThrough<Item>(
  { start, limit, isExact }: { readonly start: string | null; readonly limit: number; readonly isExact: boolean },
  { nowMs, budgetMs }: SliceTiming,
  read: (behind: string | null, rows: number, wanted: number) => Promise<FoundSlice<Item>>,
): Promise<LookedThrough<Item>> {
  const items: Item[] = [];
  const endMs = nowMs() + budgetMs;
  let behind = start;
  let rows = FIRST_ROWS;
  for (;;) {
    const wanted = limit - items.length;
    const beganMs = nowMs();
    const slice = await read(behind, isExact ? wanted : Math.max(rows, wanted), wanted);
    const endedMs = nowMs();
    items.push(...slice.items);
    if (slice.next === null || items.length >= limit || endedMs >= endMs) return { items, next: slice.next };
    behind = slice.next;
    rows = nextRows(rows, endedMs - beganMs);
  }
}

/** How many rows the next slice has, after one of so many took so long. */
export function nextRows(rows: number, tookMs: number): number {
  if (tookMs > SLICE_MS) return Math.max(ROWS_MIN, Math.floor(rows / 2));
  return tookMs < SLICE_MS / 2 ? Math.min(ROWS_MAX, rows * 2) : rows;
}
