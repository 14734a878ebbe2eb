/** Time limit of a scan, which reads pages until enough items are found or no rows are left. A page takes a few milliseconds. */

export interface SliceTiming {
  readonly nowMs: () => number;
  readonly budgetMs: number;
}

/** Time limit for lists that people wait for. A list should take at most 200 ms, including its last page and reading the items. */
export const LIST_TIMING: SliceTiming = { nowMs: () => performance.now(), budgetMs: 80 };

/** For scans without a time limit. */
export const UNHURRIED: SliceTiming = { nowMs: () => 0, budgetMs: 1 };

const FIRST_ROWS = 500;
const ROWS_MAX = 10_000;
const ROWS_MIN = 100;
const PAGE_MS = 20;

/** Items that a scan has found. `next`: the cursor after them; `null` if no rows follow. */
export interface LookedThrough<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/**
 * Scans from the cursor `start` until `limit` items are found. `read` returns at most `wanted` items from a page of `rows` rows; if it
 * returns that many, its `next` is the cursor after the last one. `isExact`: every row is an item, so a page has `wanted` rows.
 */
export async function lookThrough<Item>(
  { start, limit, isExact }: { readonly start: string | null; readonly limit: number; readonly isExact: boolean },
  { nowMs, budgetMs }: SliceTiming,
  read: (after: string | null, rows: number, wanted: number) => Promise<LookedThrough<Item>>,
): Promise<LookedThrough<Item>> {
  const items: Item[] = [];
  const endMs = nowMs() + budgetMs;
  let after = start;
  let rows = FIRST_ROWS;
  for (;;) {
    const wanted = limit - items.length;
    const beganMs = nowMs();
    const page = await read(after, isExact ? wanted : Math.max(rows, wanted), wanted);
    const endedMs = nowMs();
    items.push(...page.items);
    if (page.next === null || items.length >= limit || endedMs >= endMs) return { items, next: page.next };
    after = page.next;
    rows = nextRows(rows, endedMs - beganMs);
  }
}

/** Returns the size of the next page, from the size and the time of the last one. */
export function nextRows(rows: number, tookMs: number): number {
  if (tookMs > PAGE_MS) return Math.max(ROWS_MIN, Math.floor(rows / 2));
  return tookMs < PAGE_MS / 2 ? Math.min(ROWS_MAX, rows * 2) : rows;
}
