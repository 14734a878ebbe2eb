/** A range of days, `YYYY-MM-DD`. `to` is exclusive; `null`: unbounded. */
export interface DaySpan {
  readonly from: string | null;
  readonly to: string | null;
}

/** Unit by which usage is grouped. A span must not be shorter, because it would split a group. */
export type SpanUnit = 'day' | 'month';

const LENGTH_MAX = 512;

/**
 * Yields consecutive spans of about `groupsWanted` groups each. `next` takes the number of groups that the previous span had.
 * @param known the first and the last day that have sums; `null`: none
 */
export function* daySpans(
  unit: SpanUnit,
  { from, to }: DaySpan,
  known: { readonly first: string; readonly last: string } | null,
  groupsWanted: number,
): Generator<DaySpan, void, number> {
  let begin = from;
  let at = known === null || (from !== null && from > known.first) ? (from ?? '') : known.first;
  let length = 1;
  for (;;) {
    const end = known === null ? null : unitsLater(at, length, unit);
    const isLast = end === null || end > known!.last || (to !== null && end >= to);
    const groups = yield { from: begin, to: isLast ? to : end };
    if (isLast) return;
    begin = end;
    at = end;
    if (groups < groupsWanted / 4) length = Math.min(2 * length, LENGTH_MAX);
    else if (groups > groupsWanted) length = Math.max(1, length >> 1);
  }
}

/** Returns the day that is a number of units later; for months, the first of the month. */
function unitsLater(day: string, units: number, unit: SpanUnit): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (unit === 'day') date.setUTCDate(date.getUTCDate() + units);
  else date.setUTCMonth(date.getUTCMonth() + units, 1);
  return date.toISOString().slice(0, 10);
}
