/** Days from one on, up to another one that is not among them, as `YYYY-MM-DD`; `null`: all earlier or later ones. */
export interface DaySpan {
  readonly from: string | null;
  readonly to: string | null;
}

/** A span is not shorter, because its groups would be cut. */
export type SpanUnit = 'day' | 'month';

const LENGTH_MAX = 512;

/**
 * Cuts days into spans of about so many groups each, so that sums of all of them are made a span at a time, and each once. Each
 * `next` is told how many groups the span before had.
 *
 * @param whole what is cut; the spans are all of it, without a gap
 * @param known the first and the last day that has sums; `null`: none has
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

/** The first day of the unit that is so many units later. */
function unitsLater(day: string, units: number, unit: SpanUnit): string {
  const date = new Date(`${day}T00:00:00Z`);
  if (unit === 'day') date.setUTCDate(date.getUTCDate() + units);
  else date.setUTCMonth(date.getUTCMonth() + units, 1);
  return date.toISOString().slice(0, 10);
}
